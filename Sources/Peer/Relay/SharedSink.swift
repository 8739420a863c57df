import EventLoop
import MediaCore
import MediaEngine
import Viewer

/// Passes the media of one session to a broadcast that may outlive it, as long as no other session has the broadcast.
final class SharedSink: ForwardingSink {
    private let broadcast: RelayedBroadcast
    private let number: Int
    private let closesBroadcast: Bool

    /// Takes the broadcast from the session that has it.
    /// - Parameter closesBroadcast: with this session, unless another one has the broadcast.
    init(_ broadcast: RelayedBroadcast, closesBroadcast: Bool = false) {
        self.broadcast = broadcast
        self.closesBroadcast = closesBroadcast
        number = broadcast.changeFeed()
    }

    private var isWanted: Bool { broadcast.isFed(by: number) }

    var videoCodecs: Set<VideoCodec> { broadcast.videoCodecs }
    var forwarded: LoopBound<ForwardedMedia>? { isWanted ? broadcast.forwarded : nil }

    func start(
        _ format: EncodedMediaFormat, requestKeyframe: @escaping @Sendable (KeyframeRequest) -> Void
    ) throws(MediaSinkFailure) {
        guard isWanted else { throw MediaSinkFailure("another session has this broadcast") }
        try broadcast.start(format, requestKeyframe: requestKeyframe)
    }

    func begin(
        limitBitrate: @escaping @Sendable (Bitrate?) -> Void, receivedBytes: @escaping @Sendable () -> Int
    ) {
        if isWanted { broadcast.begin(limitBitrate: limitBitrate, receivedBytes: receivedBytes) }
    }

    func receive(_ frame: EncodedVideoFrame) { if isWanted { broadcast.receive(frame) } }

    func receive(_ packet: EncodedAudioPacket) { if isWanted { broadcast.receive(packet) } }

    func close(_ done: @escaping @Sendable () -> Void) {
        if closesBroadcast, isWanted { broadcast.close(done) } else { done() }
    }
}
