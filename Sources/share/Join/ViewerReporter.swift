import CommandSupport
import ImageFile
import LinuxRuntime
import MediaCore
import PeerConnection
import PixelConversion
import ShareKit
import Signaling
import Viewer
import WindowPlayout

/// Runs a watch session for a command and reports its events in the window, on stderr and as JSON.
final class ViewerReporter: Sendable {
    /// What the window says for as long as it holds.
    private struct Standing {
        /// The host's hold that is in effect.
        var hold: BroadcastHold?
        /// The connection between the host and the relay is interrupted.
        var isPublisherInterrupted = false
        /// Audio is played, and no video comes.
        var hasAudioAlone = false
        /// No packets arrive; the window counts the seconds.
        var isInterrupted = false
    }

    let frameStore: LatestFrameStore
    private let output: DataOutput
    private let reportsStatistics: Bool
    private let ending = Monitor<EndReason?>(nil)
    private let viewer = Monitor<PeerViewer?>(nil)
    private let playback = Monitor<PlaybackSink?>(nil)
    private let result = Monitor<EndReason?>(nil)
    /// The first frame was shown, or audio alone is played.
    private let hasFrame = Monitor(false)
    private let window: ViewerWindow
    private let standing = Monitor(Standing())
    /// Of this viewer among those that point; nil: it may not.
    private let ownPointer = Monitor<Int?>(nil)
    /// Whether the window shows statistics.
    private let showsStatistics = Monitor(false)

    init(output: DataOutput, window: ViewerWindow, snapshot: Bool, reportsStatistics: Bool) {
        self.output = output
        self.window = window
        self.reportsStatistics = reportsStatistics
        frameStore = LatestFrameStore(isNeeded: snapshot)
    }

    func end(_ reason: EndReason) {
        ending.change { $0 = $0 ?? reason }
        viewer.with { $0 }?.leave(reason)
    }

    /// Ends the session because the user asks for it. Also closes a window that still shows the reason of an end.
    func interrupt(_ reason: EndReason) {
        end(reason)
        window.perform { $0.dismiss() }
    }

    func showStatistics(_ isShown: Bool) {
        showsStatistics.with { $0 = isShown }
        guard isShown else { return }
        // Shows the first values at once; the others follow each second.
        Task.detached { [self] in
            guard let viewer = viewer.with({ $0 }), let playback = playback.with({ $0 }),
                let statistics = await viewer.statistics()
            else { return }
            var line = StatisticsLine()
            show(line.lines(statistics, playback.takeStatistics(), elapsed: 0))
        }
    }

    private func show(_ lines: [String]) {
        guard showsStatistics.with({ $0 }) else { return }
        let text = lines.joined(separator: "\n")
        window.perform { $0.setStatistics(text) }
    }

    func setMuted(_ muted: Bool) { playback.with { $0 }?.setMuted(muted) }

    func start(_ viewer: PeerViewer, _ playback: PlaybackSink, duration: Double?) {
        self.playback.with { $0 = playback }
        self.viewer.with { $0 = viewer }
        if let reason = ending.with({ $0 }) { viewer.leave(reason) }
        Task.detached { [self] in
            let reason = await viewer.watch()
            if reason.code == .refused { output.event("refused", ["reason": .string(reason.sentence)]) }
            result.change { $0 = reason }
            hasFrame.change { $0 = true }
            window.perform { $0.stop() }
        }
        _ = NamedThread("clock") { [self] in
            hasFrame.wait { $0 ? () : nil }
            let begin = ContinuousClock.now
            let reports = output.isJSON || reportsStatistics
            var line = StatisticsLine()
            while result.with({ $0 == nil }) {
                let elapsed = seconds(ContinuousClock.now - begin)
                if let duration, elapsed >= duration { return end(EndReason(.stopped, "the time is over")) }
                let next = min(
                    reports || window.isExpected ? 1 : .infinity, duration.map { max($0 - elapsed, 0.01) } ?? .infinity)
                if waitForEnd(result, seconds: next) != nil { return }
                // A frame of before an interruption may have removed the sentence.
                if let hold = standing.with({ $0.isInterrupted ? nil : $0.hold }) {
                    show(Self.sentence(of: hold), isLasting: true)
                }
                guard reports || showsStatistics.with({ $0 }), let statistics = blocking({ await viewer.statistics() })
                else { continue }
                let played = playback.takeStatistics()
                if reports { report(statistics, played) }
                let now = seconds(ContinuousClock.now - begin)
                let lines = line.lines(statistics, played, elapsed: now)
                show(lines)
                if reportsStatistics { ErrorOutput.writeLine(StatisticsLine.text(lines)) }
            }
        }
    }

    private static func sentence(of hold: BroadcastHold) -> String {
        let text = hold.sentenceForViewers
        return text.prefix(1).uppercased() + text.dropFirst()
    }

    /// The window's status while the connection is well.
    private func standingStatus(_ isMirror: Bool) -> String? {
        if isMirror { return Self.mirrorWarning }
        let standing = standing.with { $0 }
        if let hold = standing.hold { return Self.sentence(of: hold) }
        if standing.isPublisherInterrupted { return Self.interruptionSentence }
        return standing.hasAudioAlone ? Self.audioAloneSentence : nil
    }

    /// - Parameter afterPause: a pause or an interruption of the host is over.
    private func showStanding(_ isMirror: Bool, afterPause: Bool = false) {
        let isConnecting = afterPause && !hasFrame.with { $0 }
        let text = isConnecting ? "connecting ..." : standingStatus(isMirror)
        // The host's calm picture comes after the news of it.
        show(text, isLasting: !isConnecting && standing.with { $0.hold != nil })
    }

    private func show(_ status: String?, isDimming: Bool = false, isLasting: Bool = false) {
        window.perform { $0.setStatus(status, isDimming: isDimming, isLasting: isLasting) }
    }

    static let audioAloneSentence = "the broadcast has audio alone"
    static let interruptionSentence = "the connection between the host and the relay is interrupted"
    private static let mirrorWarning = """
        This window is on the display that is being shared, and would show itself in itself, again and again.
        Watch on another display, or with --headless --snapshot FILE.png.
        """

    /// Blocks until the session has ended.
    func finish() -> EndReason { result.wait { $0 } }

    /// - Parameter isMirror: the window is on the display that is shared, so it shows no frames.
    func report(_ event: PlaybackEvent, isMirror: Bool) {
        switch event {
        case .firstFrame(let size):
            output.event("first-picture", ["width": .integer(size.width), "height": .integer(size.height)])
            standing.with { $0.hasAudioAlone = false }
            showStanding(isMirror)
            if isMirror {
                ErrorOutput.writeLine("share: \(Self.mirrorWarning.replacing("\n", with: " "))")
            }
            hasFrame.change { $0 = true }
        case .audio: window.perform { $0.noteAudio() }
        case .audioAlone:
            standing.with { $0.hasAudioAlone = true }
            output.event("audio-alone")
            ErrorOutput.writeLine("share: \(Self.audioAloneSentence)")
            showStanding(isMirror)
            hasFrame.change { $0 = true }
        case .notice(let notice): output.notice(notice)
        }
    }

    /// - Parameter isMirror: the window is on the display that is shared, so it shows no frames.
    func report(_ event: ViewerSessionEvent, isMirror: Bool) {
        if let line = event.line { output.write(line) }
        switch event {
        case .knocking(let words): show("waiting for the host to let you in\nyour words: \(words)")
        case .accepted: show("connecting ...")
        case .named(let name): window.perform { $0.setTitle("\(name) - share") }
        case .hostEvent(.comment(let comment)):
            window.perform { $0.showComment("\(comment.from ?? "Host"): \(comment.text)") }
        case .hostEvent(.rights(let granted)):
            ownPointer.with { $0 = granted.pointer }
            window.perform { $0.setRights(granted.rights) }
        case .hostEvent(.pointers(let events)):
            let others = events.withoutMoves(of: ownPointer.with { $0 })
            window.perform { $0.showPointers(others) }
        case .connected, .hostEvent: break
        case .interrupted: standing.with { $0.isInterrupted = true }
        case .waiting(let silence):
            let seconds = silence.nanoseconds / 1_000_000_000
            show("connection lost, trying again ... \(seconds) s", isDimming: true)
        case .resumed:
            standing.with { $0.isInterrupted = false }
            showStanding(isMirror)
        case .publisherInterrupted:
            standing.with { $0.isPublisherInterrupted = true }
            showStanding(isMirror)
        case .publisherResumed:
            standing.with { $0.isPublisherInterrupted = false }
            showStanding(isMirror, afterPause: true)
        case .broadcastHeld(let hold):
            standing.with { $0.hold = hold }
            showStanding(isMirror)
        case .broadcastResumed:
            standing.with { $0.hold = nil }
            showStanding(isMirror, afterPause: true)
        case .notice(let notice): output.notice(notice)
        }
    }

    private func report(_ statistics: ViewerStatistics, _ playback: PlaybackStatistics) {
        output.event(
            "statistics",
            [
                "frames": .integer(playback.decode.frames), "corrupt": .integer(playback.decode.corrupt),
                "width": .integer(playback.decode.size.width), "height": .integer(playback.decode.size.height),
                "latencyP50Ms": .init(milliseconds: playback.decode.latency(percentile: 0.5)),
                "latencyP95Ms": .init(milliseconds: playback.decode.latency(percentile: 0.95)),
                "longestGapMs": .init(milliseconds: playback.decode.longestGap?.inMilliseconds),
                "receivedPackets": .integer(statistics.packetsReceived),
                "receivedBytes": .integer(statistics.bytesReceived), "lost": .integer(statistics.packetsLost),
                "nacks": .integer(statistics.nacks), "keyframeRequests": .integer(statistics.keyframeRequests),
                "audioFrames": .integer(playback.audioFramesPlayed),
                "audioPeak": .integer(playback.audioPeak),
                "roundTripMs": .init(milliseconds: statistics.roundTrip?.inMilliseconds),
                "badPackets": .integer(statistics.badPackets), "repaired": .integer(statistics.repaired),
                "freezes": .integer(statistics.freezes),
                "freezeMs": .init(milliseconds: statistics.freezeTime.inMilliseconds),
                "route": .string(statistics.path),
                "estimateKbit": statistics.estimate.map { .integer($0.kilobitsPerSecond) } ?? .null,
                "queueMs": .init(milliseconds: statistics.audioJitterBufferDelay?.inMilliseconds),
                "recoveries": .integer(statistics.recoveries),
                "layer": statistics.layer.map { .integer($0) } ?? .null,
            ])
    }
}

/// Keeps a copy of the last frame. A side with an odd number of pixels is cut by one.
// SAFETY: the canvas is touched only while the Monitor is held.
final class LatestFrameStore: @unchecked Sendable {
    private let isNeeded: Bool
    private let last = Monitor<I420Buffer?>(nil)
    private let converter = YUVConverter()

    init(isNeeded: Bool) { self.isNeeded = isNeeded }

    func keep(_ frame: I420Frame) {
        let size = frame.size.even
        guard isNeeded, size.width > 0, size.height > 0 else { return }
        let whole = I420Frame(
            size: size, y: frame.y, u: frame.u, v: frame.v, strideY: frame.strideY, strideC: frame.strideC)
        last.with { canvas in
            let target = canvas?.size == size ? canvas ?? I420Buffer(size) : I420Buffer(size)
            converter.copy(PixelRect(size), of: whole, to: target)
            canvas = target
        }
    }

    /// Shows the last frame, and forgets it.
    func show(in window: VideoWindow) {
        last.with { canvas in
            if let canvas { window.show(canvas.frame) }
            canvas = nil
        }
    }

    /// - Returns: false if there was no frame.
    func save(to file: String) throws -> Bool {
        let outcome: Result<Bool, any Error> = last.with { canvas in
            guard let canvas else { return .success(false) }
            return Result { () throws -> Bool in
                try ImageFile.write(canvas.frame, to: file, converter: converter)
                return true
            }
        }
        return try outcome.get()
    }
}

/// Passes frames to the window, if there is one, and to a `LatestFrameStore`.
final class VideoSinkFork: VideoSink {
    private let window: ViewerWindow?
    private let frameStore: LatestFrameStore

    init(window: ViewerWindow?, frameStore: LatestFrameStore) {
        self.window = window
        self.frameStore = frameStore
    }

    func show(_ frame: I420Frame, at time: MediaInstant?) {
        window?.show(frame, at: time)
        frameStore.keep(frame)
    }
}

/// Discards audio, so that headless viewers still count it.
final class SilentSink: AudioSink {
    func play(_ samples: UnsafeBufferPointer<Int16>) {}
    var latency: MediaDuration { .zero }
    func close() {}
}

extension PointerEvents {
    /// A viewer sees its own mouse at once, and not once more a moment later.
    fileprivate func withoutMoves(of id: Int?) -> PointerEvents {
        PointerEvents(pointers.filter { $0.id != id || $0.kind != .move })
    }
}
