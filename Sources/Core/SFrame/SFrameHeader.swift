/// The header of SFrame (RFC 9605 section 4.3): a key identifier and a counter, 1 to 17 bytes.
///
/// The first byte is `X | K (3 bits) | Y | C (3 bits)`. A value below 8 stands in its three bits; of a larger one,
/// whose flag (X or Y) is set, they are the number of its bytes minus one.
public struct SFrameHeader: Equatable, Sendable {
    public var keyID: UInt64
    public var counter: UInt64

    public static let largest = 17

    public init(keyID: UInt64, counter: UInt64) { (self.keyID, self.counter) = (keyID, counter) }

    /// Reads the header at the beginning of `bytes`.
    /// - Returns: nil if it is incomplete. `length` is that of the header.
    public static func parse(_ bytes: UnsafeRawBufferPointer) -> (header: SFrameHeader, length: Int)? {
        guard let first = bytes.first else { return nil }
        var position = 1
        func read(_ bits: UInt8) -> UInt64? {
            let value = bits & 7
            guard bits & 8 != 0 else { return UInt64(value) }
            let count = Int(value) + 1
            guard position + count <= bytes.count else { return nil }
            defer { position += count }
            return bytes[position..<(position + count)].reduce(0) { $0 << 8 | UInt64($1) }
        }
        guard let keyID = read(first >> 4), let counter = read(first & 15) else { return nil }
        return (SFrameHeader(keyID: keyID, counter: counter), position)
    }

    /// The shortest form.
    public var bytes: [UInt8] {
        let (keyBits, keyBytes) = Self.encode(keyID)
        let (counterBits, counterBytes) = Self.encode(counter)
        return [keyBits << 4 | counterBits] + keyBytes + counterBytes
    }

    private static func encode(_ value: UInt64) -> (UInt8, [UInt8]) {
        guard value >= 8 else { return (UInt8(value), []) }
        let bytes = value.bigEndianBytes.drop { $0 == 0 }
        return (8 | UInt8(bytes.count - 1), Array(bytes))
    }
}

extension FixedWidthInteger {
    /// The most significant byte first.
    var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
