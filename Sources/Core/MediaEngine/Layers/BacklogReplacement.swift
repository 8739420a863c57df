public import MediaCore

/// A key frame or recovery frame that a viewer is to get, and that replaces the packets which wait for it. It must not
/// wait until they have left.
public struct BacklogReplacement: Sendable {
    /// The encoder makes no two key frames within this time.
    static let interval = MediaDuration.seconds(1)

    private var isAwaited = false
    private var last: MediaInstant?

    public init() {}

    /// It was requested from the encoder.
    public mutating func noteRequested() { isAwaited = true }

    /// A frame that the viewer can continue from was sent.
    public mutating func noteSent(now: MediaInstant) {
        isAwaited = false
        last = now
    }

    /// The encoder makes it with its next frame.
    public func isDue(now: MediaInstant) -> Bool { isAwaited && last.map { now - $0 >= Self.interval } ?? true }
}
