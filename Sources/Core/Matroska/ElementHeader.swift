/// The ID and the size of an element, as they are read (RFC 8794 sections 4 to 6).
public struct ElementHeader: Equatable, Sendable {
    public var id: ElementID
    /// The size of the content in bytes; nil if it is unknown.
    public var size: Int?
    /// The length of ID and size field in bytes, 2...12.
    public var length: Int

    /// The longest header.
    static let longest = 12

    /// Returns nil if the bytes are no header, or too few.
    public init?(_ bytes: some RandomAccessCollection<UInt8>) {
        guard let first = bytes.first, first >= 0x10 else { return nil }
        let idLength = first.leadingZeroBitCount + 1
        guard bytes.count > idLength else { return nil }
        id = ElementID(bytes.prefix(idLength).reduce(0) { $0 << 8 | UInt32($1) })
        let rest = bytes.dropFirst(idLength)
        guard let marker = rest.first, marker > 0 else { return nil }
        let sizeLength = marker.leadingZeroBitCount + 1
        guard rest.count >= sizeLength else { return nil }
        let field = rest.prefix(sizeLength).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let value = field & (1 << UInt64(7 * sizeLength) - 1)
        let isUnknown = value == 1 << UInt64(7 * sizeLength) - 1
        size = isUnknown ? nil : Int(value)
        length = idLength + sizeLength
    }
}

/// An element in a file.
public struct Element: Equatable, Sendable {
    public var id: ElementID
    /// Where its header begins.
    public var start: Int
    /// Where its content is.
    public var content: Range<Int>

    public var end: Int { content.upperBound }
}

/// Reads the elements of a piece of memory, one behind the other.
struct ElementSequence: Sequence, IteratorProtocol {
    private let bytes: ArraySlice<UInt8>
    private var position: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    /// The next element and its content; nil at the end, or if the rest is no element.
    mutating func next() -> (id: ElementID, start: Int, content: ArraySlice<UInt8>)? {
        let start = position
        guard start < bytes.endIndex, let header = ElementHeader(bytes[start...]), let size = header.size else {
            return nil
        }
        let content = start + header.length
        guard size <= bytes.endIndex - content else { return nil }
        position = content + size
        return (header.id, start, bytes[content..<position])
    }

    /// The sequence ended with the last byte, not with damage.
    var isAtEnd: Bool { position == bytes.endIndex }
}

extension ArraySlice<UInt8> {
    /// An unsigned integer of up to 8 bytes, big-endian; nil if it is longer.
    var unsigned: UInt64? { count <= 8 ? reduce(0) { $0 << 8 | UInt64($1) } : nil }

    /// A float of 4 or 8 bytes.
    var float: Double? {
        switch count {
        case 4: unsigned.map { Double(Float(bitPattern: UInt32($0))) }
        case 8: unsigned.map { Double(bitPattern: $0) }
        default: nil
        }
    }
}
