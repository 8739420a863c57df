/// The bytes of an encoded frame in one or several segments, in order. A received frame has one segment for each
/// packet. A consumer that needs contiguous bytes copies them once; a file or a socket can take the segments as they
/// are.
///
/// Borrowed: valid only as long as the segments.
public struct EncodedFrameBytes {
    private enum Storage {
        case one(UnsafeRawBufferPointer)
        case several(UnsafeBufferPointer<UnsafeRawBufferPointer>)
    }

    private let storage: Storage
    /// Bytes in all segments.
    public let count: Int

    /// A frame in one segment.
    public init(_ bytes: UnsafeRawBufferPointer) {
        storage = .one(bytes)
        count = bytes.count
    }

    public init(segments: UnsafeBufferPointer<UnsafeRawBufferPointer>) {
        storage = .several(segments)
        count = segments.reduce(0) { $0 &+ $1.count }
    }

    /// Calls `body` with each segment, in order.
    public func forEachSegment(_ body: (UnsafeRawBufferPointer) -> Void) {
        switch storage {
        case .one(let bytes): body(bytes)
        case .several(let segments): for segment in segments { body(segment) }
        }
    }

    /// Copies the frame into `buffer`, or as much of its start as fits there.
    /// - Returns: how many bytes were copied.
    @discardableResult
    public func copy(to buffer: UnsafeMutableRawBufferPointer) -> Int {
        var position = 0
        forEachSegment { segment in
            let length = min(segment.count, buffer.count &- position)
            let target = UnsafeMutableRawBufferPointer(rebasing: buffer[position..<(position &+ length)])
            target.copyMemory(from: UnsafeRawBufferPointer(rebasing: segment[..<length]))
            position &+= length
        }
        return position
    }
}
