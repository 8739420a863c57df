package import EventLoop
package import MediaCore
package import MediaEngine

/// A sink that passes the packets of a video stream on, too.
package protocol ForwardingSink: EncodedMediaSink {
    /// Gets the packets; nil before `start`, and without video.
    var forwarded: LoopBound<ForwardedVideo>? { get }
}
