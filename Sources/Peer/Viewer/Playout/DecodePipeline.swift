import LinuxRuntime
public import MediaCore
import PeerConnection
import Synchronization

/// A destination of decoded frames: a window, a file.
public protocol VideoSink: AnyObject, Sendable {
    /// Takes the next frame. Called on the decode thread, which must not wait here until `time`.
    /// - Parameters:
    ///   - frame: borrowed for the call.
    ///   - time: when to show the frame at the earliest (lip-sync); nil: at once.
    func show(_ frame: I420Frame, at time: MediaInstant?)
}

/// The counters of the decode thread, readable from any thread.
public struct DecodeStatistics: Sendable {
    public var frames = 0
    public var corrupt = 0
    public var overflows = 0
    public var decodeNanoseconds: Int64 = 0
    public var size = PixelSize(width: 0, height: 0)
    public var firstFrame: MediaInstant?
    /// The longest time between two frames shown since the last report. For a screen that moves all the time, it is the
    /// longest freeze. Nil if no frame was shown.
    public internal(set) var longestGap: MediaDuration?
    fileprivate var lastFrame: MediaInstant?
    /// The times from capture to display of the last 256 frames, in milliseconds; correct only if both wall clocks
    /// agree.
    public internal(set) var latencies: [Double] = []
    fileprivate var nextLatency = 0

    fileprivate mutating func note(latency: Double) {
        if latencies.count < 256 {
            latencies.append(latency)
        } else {
            latencies[nextLatency] = latency
            nextLatency = (nextLatency + 1) % 256
        }
    }

    /// - Parameter share: 0.5 for the median.
    public func latency(percentile share: Double) -> Double? {
        guard !latencies.isEmpty else { return nil }
        let sorted = latencies.sorted()
        return sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)]
    }
}

/// The decode thread of a `PlaybackSink`: takes whole frames, decodes them, and gives them to a `VideoSink`.
///
/// Overflow policy of its queue: drop to the next key frame, also if frames wait for too long. A frame that cannot be
/// decoded requests a key frame.
// SAFETY: decoder and sink calls happen on the decode thread alone; the rest is in Monitors.
final class DecodePipeline: @unchecked Sendable {
    private struct WaitingFrame: Sendable {
        var codec: VideoCodec
        /// When the frame was queued for the decode thread.
        var arrived: MediaInstant
        /// When the frame was captured, on this machine's media clock; nil while there is no sender report.
        var captured: MediaInstant?
        /// When to show the frame at the earliest (lip-sync).
        var showAt: MediaInstant?
        var isShown = true
        var colorSpace: ColorSpace?
    }

    private let decoders: VideoDecoders
    /// The decoder of the newest frame's codec; used on the decode thread only.
    private var decoder: (codec: VideoCodec, decoder: any VideoDecoder)
    private let sink: any VideoSink
    private let clock: @Sendable () -> MediaInstant
    private let requestKeyframe: @Sendable () -> Void
    private let onFirstFrame: @Sendable (PixelSize) -> Void
    /// The frames for the decode thread. Its capacity covers a loss that is repaired late, and what a relay sends a new
    /// viewer at once (240 frames at most, see `ForwardedStream`).
    private let frames = FrameQueue<WaitingFrame>(capacity: 256, bytes: 2_048)
    private let counters = Mutex(DecodeStatistics())
    private var thread: NamedThread?
    /// Frames are dropped until the next key frame. Used on the network thread only.
    private var waitsForKeyframe = false
    /// The queueing delay beyond which the decoder counts as too slow: the queue is dropped, and a key frame requested.
    private static let longestDelay = MediaDuration.milliseconds(500)

    /// - Throws: if there is no decoder of the codec.
    init(
        decoders: VideoDecoders, codec: VideoCodec, sink: any VideoSink, clock: @escaping @Sendable () -> MediaInstant,
        requestKeyframe: @escaping @Sendable () -> Void, onFirstFrame: @escaping @Sendable (PixelSize) -> Void
    ) throws(CodecFailure) {
        self.decoders = decoders
        decoder = (codec, try decoders.make(codec))
        self.sink = sink
        self.clock = clock
        self.requestKeyframe = requestKeyframe
        self.onFirstFrame = onFirstFrame
        thread = NamedThread("decode") { [self] in run() }
    }

    /// Queues a frame. Called on the network thread.
    /// - Parameter time: when to show the frame at the earliest; nil: as soon as it is decoded.
    func push(_ frame: EncodedVideoFrame, showAt time: MediaInstant?) {
        if frame.isKeyframe { waitsForKeyframe = false }
        let info = WaitingFrame(
            codec: frame.codec, arrived: clock(), captured: frame.captured, showAt: time, isShown: frame.isShown,
            colorSpace: frame.colorSpace)
        let isLate = !frame.isKeyframe && frames.oldest.map { info.arrived - $0.arrived > Self.longestDelay } ?? false
        guard !waitsForKeyframe, isLate || !push(frame.bytes, info) else { return }
        if !waitsForKeyframe { counters.withLock { $0.overflows += 1 } }
        waitsForKeyframe = true
        requestKeyframe()
    }

    private func push(_ bytes: EncodedFrameBytes, _ info: WaitingFrame) -> Bool {
        frames.push(byteCount: bytes.count, info) { bytes.copy(to: $0) }
    }

    /// Returns the statistics, and begins a new `longestGap`.
    func takeStatistics() -> DecodeStatistics {
        counters.withLock { counters in
            defer { counters.longestGap = nil }
            return counters
        }
    }

    /// Ends the decode thread. May be called more than once.
    /// - Parameter done: called on the decode thread at its end; the sink is not called any more.
    func close(_ done: @escaping @Sendable () -> Void = {}) {
        frames.close()
        if let thread { thread.whenEnded(done) } else { done() }
    }

    private func run() {
        while frames.waitAndPop({ decode($0, $1) }) {}
    }

    private func decode(_ bytes: UnsafeRawBufferPointer, _ info: WaitingFrame) {
        let start = clock()
        let frame: I420Frame?
        do throws(CodecFailure) {
            if decoder.codec != info.codec { decoder = (info.codec, try decoders.make(info.codec)) }
            frame = try decoder.decoder.decode(bytes, colorSpace: info.colorSpace)
        } catch {
            counters.withLock { $0.corrupt += 1 }
            requestKeyframe()
            return
        }
        guard let frame else { return }
        let decoded = clock()
        guard info.isShown else { return }
        sink.show(frame, at: info.showAt)
        let now = clock()
        let shown = max(now, info.showAt ?? now)
        let isFirst = counters.withLock { counters in
            counters.frames += 1
            counters.decodeNanoseconds += (decoded - start).nanoseconds
            counters.size = frame.size
            if let last = counters.lastFrame { counters.longestGap = max(counters.longestGap ?? .zero, shown - last) }
            counters.lastFrame = shown
            if let captured = info.captured { counters.note(latency: (shown - captured).inMilliseconds) }
            defer { if counters.firstFrame == nil { counters.firstFrame = shown } }
            return counters.firstFrame == nil
        }
        if isFirst { onFirstFrame(frame.size) }
    }
}
