package import EventLoop
package import MediaCore
package import MediaEngine

/// A sink that passes the packets of a video stream on, too.
package protocol ForwardingSink: EncodedMediaSink {
    /// Gets the packets; nil before `start`, and without video.
    var forwarded: LoopBound<ForwardedVideo>? { get }

    /// Called after `start`, on the network loop.
    /// - Parameter limitBitrate: limits what the publisher sends, from any thread; nil: not any more.
    func begin(limitBitrate: @escaping @Sendable (Bitrate?) -> Void)
}
