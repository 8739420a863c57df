import CommandSupport
import LinuxRuntime
import MediaCore
import PeerConnection
import Recording
import ShareKit
import Signaling
import Viewer

/// Runs a session for `share record` and reports its events on stderr and as JSON.
final class RecordReporter: Sendable {
    private struct State {
        var broadcastName = "share"
        var hasStarted = false
        var files = 0
        var failure: RecordingFailure?
        var ending: EndReason?
        var result: EndReason?
        var viewer: PeerViewer?
    }

    let output: DataOutput
    /// In seconds of the recording; nil without a limit.
    private let duration: Double?
    private let state = Monitor(State())
    private let log = RecordingLog()

    init(output: DataOutput, duration: Double?) {
        self.output = output
        self.duration = duration
    }

    /// As the host names it, cleaned.
    var broadcastName: String { state.with { $0.broadcastName } }
    var hasRecorded: Bool { state.with { $0.files > 0 } }
    var failure: RecordingFailure? { state.with { $0.failure } }

    func end(_ reason: EndReason) {
        state.change { $0.ending = $0.ending ?? reason }
        state.with { $0.viewer }?.leave(reason)
    }

    /// Blocks until the session has ended and the files are complete.
    func run(_ viewer: PeerViewer, _ recorder: Recorder) -> EndReason {
        let ending = state.with { state in
            state.viewer = viewer
            return state.ending
        }
        if let ending { viewer.leave(ending) }
        Task.detached { [self] in
            let reason = await viewer.watch()
            state.change { $0.result = reason }
        }
        while true {
            let left = remaining(recorder)
            if let left, left <= 0 { viewer.leave(EndReason(.stopped, "the time is over")) }
            let pause = min(1, max(left ?? 1, 0.02))
            let deadline = MonotonicClock.now + MediaDuration(nanoseconds: Int64(pause * 1e9))
            if let result = state.wait(until: deadline, { $0.result }) { return result }
            if output.isJSON, state.with({ $0.hasStarted }) { report(recorder.statistics) }
            if !output.isJSON { showStatus(recorder.statistics) }
        }
    }

    /// Seconds until the recording is long enough; nil without a limit.
    private func remaining(_ recorder: Recorder) -> Double? {
        duration.map { $0 - recorder.statistics.duration.inSeconds }
    }

    private func report(_ statistics: RecordingStatistics) {
        output.event(
            "statistics",
            [
                "seconds": .number((statistics.duration.inSeconds * 10).rounded() / 10),
                "bytes": .integer(statistics.bytes), "frames": .integer(statistics.frames),
                "packets": .integer(statistics.packets), "dropped": .integer(statistics.dropped),
            ])
    }

    private func showStatus(_ statistics: RecordingStatistics) {
        guard state.with({ $0.hasStarted && $0.failure == nil }) else { return ErrorOutput.showStatus("") }
        let megabytes = (Double(statistics.bytes) / 1e5).rounded() / 10
        ErrorOutput.showStatus(
            "REC \(ClockText.text(Int(statistics.duration.inSeconds)))  \(megabytes) MB  \(broadcastName)")
    }

    // MARK: Events

    func report(_ event: RecordingEvent) {
        log.note(event, title: broadcastName)
        output.report(event)
        switch event {
        case .started: state.with { $0.hasStarted = true }
        case .finished: state.with { $0.files += 1 }
        case .failed(let failure):
            state.with { $0.failure = failure }
            // Nothing is left to do for this session.
            end(EndReason(.stopped, "the recording has ended"))
        case .dropped: break
        }
    }

    func report(_ event: ViewerSessionEvent) {
        switch event {
        case .named(let name): state.with { $0.broadcastName = name }
        case .notice(let notice): output.notice(notice)
        // This program is one of those that record.
        case .hostEvent(.recorderCount(let count)): output.event("recorders", ["recorders": .integer(count)])
        case .hostEvent(.layers): break
        default: if let line = event.line { output.write(line) }
        }
    }
}
