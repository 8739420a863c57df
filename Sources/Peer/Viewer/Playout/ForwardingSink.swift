package import EventLoop
package import MediaCore
package import MediaEngine

/// A sink that passes the packets on, too, as they arrive. Of a forwarded audio track, `receive` gets the newest packet
/// only, at once.
package protocol ForwardingSink: EncodedMediaSink {
    /// Gets the packets; nil before `start`.
    var forwarded: LoopBound<ForwardedMedia>? { get }

    /// Called after `start`, on the network loop.
    /// - Parameters:
    ///   - limitBitrate: limits what the publisher sends, from any thread; nil: not any more.
    ///   - receivedBytes: what it has sent in this session, on the network loop.
    func begin(
        limitBitrate: @escaping @Sendable (Bitrate?) -> Void, receivedBytes: @escaping @Sendable () -> Int)
}
