/// The bytes of a file that is read. The content is hostile.
public protocol ByteSource {
    var length: Int { get }

    /// Reads the bytes from `offset` on.
    /// - Returns: how many bytes were read: fewer than the buffer has at the end of the file, or after an error.
    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int
}

extension ByteSource {
    /// Returns up to `count` bytes from `offset` on.
    func bytes(at offset: Int, count: Int) -> [UInt8] {
        guard offset >= 0, count > 0, offset < length else { return [] }
        return [UInt8](unsafeUninitializedCapacity: min(count, length - offset)) { buffer, initialized in
            let read = read(at: offset, into: UnsafeMutableRawBufferPointer(buffer))
            initialized = min(max(read, 0), buffer.count)
        }
    }
}

/// Bytes in memory.
public struct ByteArraySource: ByteSource {
    private let bytes: [UInt8]

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public var length: Int { bytes.count }

    public func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard offset >= 0, offset < bytes.count else { return 0 }
        let count = min(buffer.count, bytes.count - offset)
        bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<offset + count])) }
        return count
    }
}
