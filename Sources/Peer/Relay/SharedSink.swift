import EventLoop
import MediaCore
import MediaEngine
import Viewer

/// Passes the media of one session to a broadcast that may outlive it, as long as no other session has the broadcast.
final class SharedSink: ForwardingSink {
    private let sink: RelayedBroadcast
    private let closesSink: Bool
    private let isWanted: @Sendable () -> Bool

    /// - Parameters:
    ///   - closesSink: with this session, unless another one has the broadcast.
    ///   - isWanted: false when another session has the broadcast.
    init(_ sink: RelayedBroadcast, closesSink: Bool = false, isWanted: @escaping @Sendable () -> Bool) {
        self.sink = sink
        self.closesSink = closesSink
        self.isWanted = isWanted
    }

    var videoCodecs: Set<VideoCodec> { sink.videoCodecs }
    var forwarded: LoopBound<ForwardedVideo>? { isWanted() ? sink.forwarded : nil }

    func start(
        _ format: EncodedMediaFormat, requestKeyframe: @escaping @Sendable (KeyframeRequest) -> Void
    ) throws(MediaSinkFailure) {
        guard isWanted() else { throw MediaSinkFailure("another session has this broadcast") }
        try sink.start(format, requestKeyframe: requestKeyframe)
    }

    func begin(
        limitBitrate: @escaping @Sendable (Bitrate?) -> Void, receivedBytes: @escaping @Sendable () -> Int
    ) {
        if isWanted() { sink.begin(limitBitrate: limitBitrate, receivedBytes: receivedBytes) }
    }

    func receive(_ frame: EncodedVideoFrame) { if isWanted() { sink.receive(frame) } }

    func receive(_ packet: EncodedAudioPacket) { if isWanted() { sink.receive(packet) } }

    func close(_ done: @escaping @Sendable () -> Void) {
        if closesSink, isWanted() { sink.close(done) } else { done() }
    }
}
