/// One element of a header extension; the data lie in the packet.
public struct HeaderExtensionElement {
    /// 1...14 in the one-byte form, 1...255 in the two-byte form.
    public let id: UInt8
    /// 1...16 bytes in the one-byte form, 0...255 in the two-byte form.
    public let data: UnsafeRawBufferPointer
}

/// The elements of a packet's header extension (RFC 8285 section 4.2 and 4.3).
///
/// An extension of another profile has no elements. A malformed element ends the iteration: earlier elements stay
/// valid, and the packet stays usable. Allocates: never.
public struct HeaderExtensionElements: Sequence {
    /// 0xBEDE for the one-byte form, 0x1000...0x100F for the two-byte form, 0 if the packet has no extension.
    public let profile: UInt16
    let bytes: UnsafeRawBufferPointer

    public func makeIterator() -> Iterator {
        let form: Iterator.Form =
            profile == 0xBEDE ? .oneByte : profile & 0xFFF0 == 0x1000 ? .twoByte : .none
        return Iterator(form: form, reader: ByteReader(bytes))
    }

    /// Returns the data of the first element with that id.
    public func data(of id: UInt8) -> UnsafeRawBufferPointer? {
        for element in self where element.id == id { return element.data }
        return nil
    }

    public struct Iterator: IteratorProtocol {
        enum Form { case none, oneByte, twoByte }
        var form: Form
        var reader: ByteReader

        //  one-byte form          two-byte form
        //   0 1 2 3 4 5 6 7        0                   1
        //  +-+-+-+-+-+-+-+-+       0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5
        //  |  ID   | len-1 |      +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
        //  +-+-+-+-+-+-+-+-+      |      ID       |    length     |
        //                         +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
        //  A byte of 0 where an element could start is padding in both.
        public mutating func next() -> HeaderExtensionElement? {
            do throws(RTPMalformed) {
                while form != .none, reader.remaining > 0 {
                    let first = try reader.uint8()
                    if first == 0 { continue }
                    let id: UInt8
                    let length: Int
                    if form == .oneByte {
                        id = first >> 4
                        length = Int(first & 0x0F) &+ 1
                        // 0 with a length and 15 both end the extension (RFC 8285 section 4.2).
                        guard id != 0, id != 15 else { break }
                    } else {
                        id = first
                        length = Int(try reader.uint8())
                    }
                    return HeaderExtensionElement(id: id, data: try reader.bytes(length))
                }
            } catch {}
            form = .none
            return nil
        }
    }
}
