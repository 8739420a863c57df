package import EventLoop
import LinuxRuntime
package import MediaCore
import MediaEngine
import Synchronization

/// Hands one sink from the session at one server to the session at the next without a gap: the sink gets the media of
/// the former session until the next one has a frame to show (make-before-break).
package final class SinkHandover: Sendable {
    private struct State {
        var count = 0
        /// The input whose media the sink gets.
        var active = 1
        /// The sink has got a frame of it, or of one before.
        var hasFrame = false
        /// The sink is closed: no other input gets it.
        var isClosed = false
    }

    private let sink: any EncodedMediaSink
    /// Changed on the network loop only, but for the count.
    private let state = Mutex(State())

    package init(_ sink: any EncodedMediaSink) { self.sink = sink }

    /// Makes the input of another session. The sink gets the media of the first at once. Call it on the network loop.
    /// - Parameter onTakeover: called on the loop when the sink begins to get this input's media in place of another's.
    package func makeInput(_ loop: EventLoop, onTakeover: @escaping () -> Void = {}) -> SinkInput {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        return SinkInput(self, number, loop, onTakeover: onTakeover)
    }

    fileprivate enum Turn { case waiting, active, over }

    fileprivate func turn(of number: Int) -> Turn {
        state.withLock { state in
            guard !state.isClosed else { return .over }
            return number == state.active ? .active : number > state.active ? .waiting : .over
        }
    }

    fileprivate func begin(_ number: Int) { state.withLock { ($0.active, $0.hasFrame) = (number, true) } }

    fileprivate func noteFrame() { state.withLock { $0.hasFrame = true } }

    /// Whether there is a picture that goes on until the next session has one.
    fileprivate var hasFrame: Bool { state.withLock { $0.hasFrame } }

    /// Closes the sink, if this input's media goes there.
    fileprivate func close(_ number: Int, _ done: @escaping @Sendable () -> Void) {
        let isLast = state.withLock { state in
            guard !state.isClosed, number == state.active else { return false }
            state.isClosed = true
            return true
        }
        if isLast { sink.close(done) } else { done() }
    }

    fileprivate var target: any EncodedMediaSink { sink }
}

/// The media of one session on its way to a sink that another session may have.
///
/// A relay sends a new viewer at once what came since the last key frame, with timestamps a millisecond apart. Those
/// frames are decoded together when the newest of them is there, and only that one is shown.
/// - Isolation: as for `EncodedMediaSink`.
// SAFETY: the network loop alone uses the mutable properties; `close` is called there, too.
package final class SinkInput: EncodedMediaSink, @unchecked Sendable {
    private struct Frame {
        var bytes: [UInt8]
        var frame: EncodedVideoFrame
    }

    private let handover: SinkHandover
    private let number: Int
    private let onTakeover: () -> Void
    private let timer: LoopTimer
    private var start: (format: EncodedMediaFormat, requestKeyframe: @Sendable (KeyframeRequest) -> Void)?
    /// A key frame and what follows it, while the sink has the media of the former session.
    private var frames: [Frame] = []
    private var hasFailed = false
    /// The sink has got a frame of this input.
    private var hasPassed = false

    /// Frames that a relay sends at once are this much apart, in 1/90,000 s.
    private static let replayInterval: UInt32 = 90
    /// Without a frame for so long, the last one is the newest.
    private static let quietTime = MediaDuration.milliseconds(60)

    fileprivate init(
        _ handover: SinkHandover, _ number: Int, _ loop: EventLoop, onTakeover: @escaping () -> Void
    ) {
        self.handover = handover
        self.number = number
        self.onTakeover = onTakeover
        let box = WeakInput()
        timer = loop.makeTimer { box.input?.takeOver() }
        box.input = self
    }

    private final class WeakInput { weak var input: SinkInput? }

    /// Whether the sink gets this input's media.
    package var isActive: Bool { handover.turn(of: number) == .active }

    package var videoCodecs: Set<VideoCodec> { handover.target.videoCodecs }

    package func start(
        _ format: EncodedMediaFormat, requestKeyframe: @escaping @Sendable (KeyframeRequest) -> Void
    ) throws(MediaSinkFailure) {
        start = (format, requestKeyframe)
        if isActive { try handover.target.start(format, requestKeyframe: requestKeyframe) }
    }

    package func receive(_ frame: EncodedVideoFrame) {
        switch handover.turn(of: number) {
        case .active:
            if !hasPassed { handover.noteFrame() }
            hasPassed = true
            handover.target.receive(frame)
        case .waiting: collect(frame)
        case .over: break
        }
    }

    package func receive(_ packet: EncodedAudioPacket) {
        if isActive { handover.target.receive(packet) }
    }

    private func collect(_ frame: EncodedVideoFrame) {
        if frame.isKeyframe { frames = [] }
        guard frame.isKeyframe || !frames.isEmpty, !hasFailed else { return }
        let last = frames.last?.frame.rtpTimestamp
        var bytes = [UInt8](repeating: 0, count: frame.bytes.count)
        bytes.withUnsafeMutableBytes { _ = frame.bytes.copy(to: $0) }
        frames.append(Frame(bytes: bytes, frame: frame))
        let isLive = last.map { frame.rtpTimestamp &- $0 > Self.replayInterval } ?? false
        // Whoever sees nothing yet waits for nothing more than the key frame.
        if isLive || frames.count >= ForwardedVideo.replayedFrames || !handover.hasFrame { return takeOver() }
        timer.set(MonotonicClock.now + Self.quietTime)
    }

    /// Gives the sink what has come so far, and then all that comes.
    private func takeOver() {
        guard let start, !frames.isEmpty, !hasFailed, handover.turn(of: number) == .waiting else { return }
        timer.set(nil)
        do throws(MediaSinkFailure) {
            try handover.target.start(start.format, requestKeyframe: start.requestKeyframe)
        } catch {
            // The former session goes on.
            hasFailed = true
            frames = []
            return
        }
        handover.begin(number)
        for index in frames.indices {
            var frame = frames[index].frame
            frame.isShown = index == frames.count - 1
            frames[index].bytes.withUnsafeBytes { bytes in
                frame.bytes = EncodedFrameBytes(bytes)
                handover.target.receive(frame)
            }
        }
        frames = []
        onTakeover()
    }

    /// Gives up the claim to the sink. Call it on the network loop.
    /// - Returns: false if the sink has this input's media already.
    package func withdraw() -> Bool {
        guard handover.turn(of: number) != .active else { return false }
        hasFailed = true
        frames = []
        timer.set(nil)
        return true
    }

    package func close(_ done: @escaping @Sendable () -> Void) {
        timer.close()
        frames = []
        handover.close(number, done)
    }
}
