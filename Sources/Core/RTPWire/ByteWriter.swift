/// Writes big-endian fields into the caller's buffer and fails when it is full.
///
/// Borrows the buffer, which must outlive the writer. Allocates: never.
public struct ByteWriter {
    public let buffer: UnsafeMutableRawBufferPointer
    /// Bytes written so far, 0...buffer.count.
    public private(set) var position = 0

    public init(_ buffer: UnsafeMutableRawBufferPointer) { self.buffer = buffer }

    public var remaining: Int { buffer.count &- position }

    /// The bytes written so far.
    public var written: UnsafeRawBufferPointer { UnsafeRawBufferPointer(buffer).part(0, position) }

    /// - Throws: if fewer than `count` bytes are free.
    public func require(_ count: Int) throws(BufferFull) {
        guard count <= remaining else { throw BufferFull() }
    }

    /// Discards the bytes from `position` on.
    public mutating func rewind(to position: Int) {
        precondition(position >= 0 && position <= self.position, "rewind to \(position) of \(self.position)")
        self.position = position
    }

    public mutating func write(uint8 value: UInt8) throws(BufferFull) { try store(value) }
    public mutating func write(uint16 value: UInt16) throws(BufferFull) { try store(value.bigEndian) }
    public mutating func write(uint32 value: UInt32) throws(BufferFull) { try store(value.bigEndian) }
    public mutating func write(uint64 value: UInt64) throws(BufferFull) { try store(value.bigEndian) }

    /// Writes the low 24 bits.
    public mutating func write(uint24 value: UInt32) throws(BufferFull) {
        try require(3)
        try store(UInt8(truncatingIfNeeded: value >> 16))
        try store(UInt16(truncatingIfNeeded: value).bigEndian)
    }

    public mutating func write(_ bytes: UnsafeRawBufferPointer) throws(BufferFull) {
        try require(bytes.count)
        guard let source = bytes.baseAddress, let target = buffer.baseAddress else { return }
        (target + position).copyMemory(from: source, byteCount: bytes.count)
        position &+= bytes.count
    }

    /// Writes the UTF-8 bytes of a text, without a length or a terminator.
    public mutating func write(_ text: String) throws(BufferFull) {
        try require(text.utf8.count)
        for byte in text.utf8 { try store(byte) }
    }

    public mutating func write(zeros count: Int) throws(BufferFull) {
        try require(count)
        for _ in 0..<max(count, 0) { try store(UInt8(0)) }
    }

    /// Overwrites bytes that are already written.
    func patch(uint16 value: UInt16, at offset: Int) {
        precondition(offset >= 0 && offset &+ 2 <= position, "patch at \(offset) of \(position)")
        buffer.storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt16.self)
    }

    func patch(uint8 value: UInt8, at offset: Int) {
        precondition(offset >= 0 && offset < position, "patch at \(offset) of \(position)")
        buffer.storeBytes(of: value, toByteOffset: offset, as: UInt8.self)
    }

    private mutating func store<T: BitwiseCopyable>(_ value: T) throws(BufferFull) {
        guard remaining >= MemoryLayout<T>.size else { throw BufferFull() }
        buffer.storeBytes(of: value, toByteOffset: position, as: T.self)
        position &+= MemoryLayout<T>.size
    }
}
