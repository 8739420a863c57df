/// Reads big-endian fields from unchecked bytes. Every read can fail and none can trap.
///
/// Borrows the bytes: valid for as long as the caller's buffer. Allocates: never.
public struct ByteReader {
    public let bytes: UnsafeRawBufferPointer
    /// Bytes read so far, 0...bytes.count.
    public private(set) var position = 0

    public init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    public var remaining: Int { bytes.count &- position }

    /// - Throws: `.truncated`; the position is then unchanged. The other reads do the same.
    public mutating func uint8() throws(RTPMalformed) -> UInt8 { try load(UInt8.self) }
    public mutating func uint16() throws(RTPMalformed) -> UInt16 { try load(UInt16.self) }
    public mutating func uint32() throws(RTPMalformed) -> UInt32 { try load(UInt32.self) }
    public mutating func uint64() throws(RTPMalformed) -> UInt64 { try load(UInt64.self) }

    public mutating func uint24() throws(RTPMalformed) -> UInt32 {
        guard remaining >= 3 else { throw RTPMalformed(.truncated) }
        let high = UInt32(try load(UInt8.self))
        return high << 16 | UInt32(try load(UInt16.self))
    }

    /// Returns the next `count` bytes, not copied.
    public mutating func bytes(_ count: Int) throws(RTPMalformed) -> UnsafeRawBufferPointer {
        guard count >= 0, count <= remaining else { throw RTPMalformed(.truncated) }
        let slice = bytes.part(position, count)
        position &+= count
        return slice
    }

    public mutating func skip(_ count: Int) throws(RTPMalformed) {
        guard count >= 0, count <= remaining else { throw RTPMalformed(.truncated) }
        position &+= count
    }

    /// Returns the remaining bytes; the reader is then at its end.
    public mutating func rest() -> UnsafeRawBufferPointer {
        let slice = bytes.part(position, remaining)
        position = bytes.count
        return slice
    }

    private mutating func load<T: FixedWidthInteger & BitwiseCopyable>(_: T.Type) throws(RTPMalformed) -> T {
        guard remaining >= MemoryLayout<T>.size else { throw RTPMalformed(.truncated) }
        let value = bytes.loadUnaligned(fromByteOffset: position, as: T.self)
        position &+= MemoryLayout<T>.size
        return T(bigEndian: value)
    }
}

extension UnsafeRawBufferPointer {
    /// Returns `count` bytes from `offset` on, or fewer if the buffer ends before.
    func part(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
        let start = Swift.max(0, Swift.min(offset, self.count))
        let end = start &+ Swift.max(0, Swift.min(count, self.count &- start))
        return UnsafeRawBufferPointer(rebasing: self[start..<end])
    }
}
