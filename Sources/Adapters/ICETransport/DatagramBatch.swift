internal import CNice
internal import Glibc
internal import LinuxRuntime
internal import MediaCore

/// Memory for the datagrams of one `recvmmsg`, which all sockets of a loop share. Datagrams that the kernel has joined
/// (UDP_GRO) are taken apart. Confined to the loop.
final class DatagramBatch {
    /// Messages that are received at once.
    static let capacity = Int(CNICE_BATCH)

    private let batch: OpaquePointer?

    init() { batch = cnice_batch_new() }

    deinit { free(UnsafeMutableRawPointer(batch)) }

    /// A datagram that seems to have waited longer has another cause, such as a wall clock that was set.
    private static let longestWait = Int64(100_000_000)

    /// - Parameter handle: called with each datagram, its sender and when it arrived in the socket (SO_TIMESTAMPNS).
    ///   The first two are lent for the call. It must not receive with this batch.
    /// - Returns: how many messages there were: with less than `capacity`, the socket is empty.
    func receive(
        from descriptor: Int32,
        _ handle: (UnsafeMutableRawBufferPointer, UnsafePointer<sockaddr_storage>, MediaInstant) -> Void
    ) -> Int {
        guard let batch else { return 0 }
        let count = Int(cnice_batch_receive(batch, descriptor))
        let now = MonotonicClock.now
        for number in 0..<count {
            var (length, segment, age) = (0, 0, Int64(0))
            guard let bytes = cnice_batch_bytes(batch, Int32(number), &length, &segment, &age) else { continue }
            let source = cnice_batch_source(batch, Int32(number))
            let isCredible = age > 0 && age < Self.longestWait
            let arrival = isCredible ? now - MediaDuration(nanoseconds: age) : now
            var start = 0
            repeat {
                let end = min(start &+ segment, length)
                handle(UnsafeMutableRawBufferPointer(start: bytes + start, count: end &- start), source, arrival)
                start = end
            } while start < length
        }
        return count
    }
}
