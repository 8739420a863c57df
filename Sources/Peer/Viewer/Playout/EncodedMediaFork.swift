import LinuxRuntime
public import MediaCore
import Synchronization

/// Passes what a session receives to several sinks: a player and a recorder, for example.
///
/// The first sink decides whether the session goes on; another one that cannot take the format gets no media.
/// - Isolation: as for `EncodedMediaSink`.
public final class EncodedMediaFork: EncodedMediaSink {
    private let first: any EncodedMediaSink
    private let others: [any EncodedMediaSink]
    private let refused: @Sendable (MediaSinkFailure) -> Void
    /// The indices of the others that take media.
    private let taking = Mutex<[Int]>([])

    /// - Parameter refused: called on the network thread when one of the others cannot take the format.
    public init(
        _ first: any EncodedMediaSink, _ others: [any EncodedMediaSink],
        refused: @escaping @Sendable (MediaSinkFailure) -> Void
    ) {
        self.first = first
        self.others = others
        self.refused = refused
    }

    public var videoCodecs: Set<VideoCodec> { first.videoCodecs }
    public func videoCodecs(for announced: VideoCodec) -> Set<VideoCodec> { first.videoCodecs(for: announced) }

    public func start(
        _ format: EncodedMediaFormat, requestKeyframe: @escaping @Sendable (KeyframeRequest) -> Void
    ) throws(MediaSinkFailure) {
        try first.start(format, requestKeyframe: requestKeyframe)
        var started: [Int] = []
        for (index, sink) in others.enumerated() {
            do throws(MediaSinkFailure) {
                try sink.start(format, requestKeyframe: requestKeyframe)
                started.append(index)
            } catch {
                refused(error)
            }
        }
        taking.withLock { [started] in $0 = started }
    }

    public func receive(_ frame: EncodedVideoFrame) {
        first.receive(frame)
        for index in taking.withLock({ $0 }) { others[index].receive(frame) }
    }

    public func receive(_ packet: EncodedAudioPacket) {
        first.receive(packet)
        for index in taking.withLock({ $0 }) { others[index].receive(packet) }
    }

    public func close(_ done: @escaping @Sendable () -> Void) {
        let open = Monitor(others.count + 1)
        let closed: @Sendable () -> Void = {
            let isLast = open.with { open in
                open -= 1
                return open == 0
            }
            if isLast { done() }
        }
        first.close(closed)
        for sink in others { sink.close(closed) }
    }
}
