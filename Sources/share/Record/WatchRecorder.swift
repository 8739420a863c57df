import CommandSupport
import FoundationEssentials
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import PeerConnection
import Recording
import ShareKit
import Signaling
import Viewer

/// Records one broadcast whenever it runs, for `share record --watch`: each session to a file of its own.
///
/// A session that was lost, and a host that cannot be reached, are tried again, after 2 s at first and after a minute
/// at most. A refusal ends it: people are not asked again and again.
final class WatchRecorder: Sendable {
    struct Settings: Sendable {
        var folder: String
        var identity: Identity
        var name: String
        var servers: [ICEServer]
        var usesOnlyRelays: Bool
        var split: RecordingSplit?
        /// Whether comments are kept beside the recordings.
        var recordsComments = false
    }

    private struct State {
        var name = "share"
        var viewer: PeerViewer?
        var isEnding = false
        var failure: RecordingFailure?
        /// When the present session has brought something.
        var hasMedia = false
        /// The present session cannot be written any more.
        var hasFailed = false
    }

    private let link: Link
    private let settings: Settings
    private let output: DataOutput
    private let log = RecordingLog()
    private let state = Monitor(State())
    private static let shortestPause = 2.0
    private static let longestPause = 60.0

    init(_ link: Link, _ settings: Settings, _ output: DataOutput) {
        self.link = link
        self.settings = settings
        self.output = output
    }

    /// What could not be recorded first.
    var failure: RecordingFailure? { state.with { $0.failure } }

    /// Ends the session and the watch.
    func end() {
        // Marked first: a session that begins meanwhile sees it.
        state.change { $0.isEnding = true }
        state.with { $0.viewer }?.leave(EndReason(.stopped, "ended"))
    }

    /// Runs until `end`, or until the host refuses.
    /// - Returns: why it has ended.
    func run() async -> EndReason {
        var pause = Self.shortestPause
        while true {
            let reason = await record()
            if state.with({ $0.isEnding }) { return EndReason(.stopped, "ended") }
            guard Self.mayTryAgain(reason) else {
                report("watch-ended", reason.sentence, [("code", .string(reason.code.rawValue))])
                return reason
            }
            if state.with({ $0.hasMedia && !$0.hasFailed }) { pause = Self.shortestPause }
            report("waiting", reason.sentence, [("seconds", .number(pause.rounded()))])
            let wait = pause * Double.random(in: 0.8...1.2)
            pause = min(pause * 2, Self.longestPause)
            if await isEnded(within: wait) { return EndReason(.stopped, "ended") }
        }
    }

    private static func mayTryAgain(_ reason: EndReason) -> Bool {
        switch reason.code {
        case .hostEnded, .unreachable, .connectionLost, .noRoute, .failed, .serviceBusy: true
        case .stopped, .viewerLeft, .removed, .refused, .unanswered, .wrongSecret, .untrusted, .badLink, .sourceGone,
            .portUnavailable, .serviceEnded, .unknownService, .unsupportedCodec:
            false
        }
    }

    private func isEnded(within seconds: Double) async -> Bool {
        let state = state
        return await onThread("waiting") {
            let limit = MonotonicClock.now + MediaDuration(nanoseconds: Int64(seconds * 1e9))
            return state.wait(until: limit) { $0.isEnding ? () : nil } != nil
        }
    }

    /// One session.
    private func record() async -> EndReason {
        let comments = settings.recordsComments ? CommentTrack.reporting(to: output) : nil
        let recorder: Recorder
        do throws(RecordingFailure) {
            recorder = try Recorder(
                to: .folder(settings.folder) { [state] in
                    RecordTarget.fileName(broadcast: state.with { $0.name }, at: Date())
                }, reservesFile: false, split: settings.split,
                emit: { [self] event in
                    comments?.note(event)
                    report(event)
                })
        } catch {
            note(error)
            return EndReason(.failed, error.message, remedy: error.remedy)
        }
        let viewer = PeerViewer(
            link, identity: settings.identity, name: settings.name, servers: settings.servers,
            usesOnlyRelays: settings.usesOnlyRelays, records: true,
            emit: { [self] event in
                if case .named(let name) = event {
                    state.with { $0.name = name }
                    recorder.setTitle(name)
                }
                if case .hostEvent(.comment(let comment)) = event { comments?.add(comment) }
                report(event)
            }, makeSink: { _ in recorder })
        let isEnding = state.with { state in
            state.viewer = viewer
            state.hasMedia = false
            state.hasFailed = false
            return state.isEnding
        }
        if isEnding { viewer.leave(EndReason(.stopped, "ended")) }
        let reason = await viewer.watch()
        state.with { $0.viewer = nil }
        return reason
    }

    // MARK: Events

    private func report(_ event: String, _ sentence: String, _ fields: [(String, JSONValue)] = []) {
        output.event(event, [("broadcast", .string(link.id.text)), ("reason", .string(sentence))] + fields)
        ErrorOutput.writeLine("share: \(link.id): \(sentence)")
    }

    private func note(_ failure: RecordingFailure) {
        state.with { $0.failure = $0.failure ?? failure }
        report("recording-failed", failure.message)
    }

    private func report(_ event: RecordingEvent) {
        log.note(event, title: state.with { $0.name })
        let (name, fields, sentence) = event.report
        switch event {
        case .started:
            state.with { $0.hasMedia = true }
            report(name, sentence, fields)
        case .finished, .dropped: report(name, sentence, fields)
        case .failed(let failure):
            note(failure)
            // Another session has another file, when there is room again.
            state.with { state in
                state.hasFailed = true
                return state.viewer
            }?.leave(EndReason(.failed, failure.message, remedy: failure.remedy))
        }
    }

    private func report(_ event: ViewerSessionEvent) {
        switch event {
        case .knocking(let words): report("knock", "waiting for the host to let you in; your words are: \(words)")
        case .connected(let path): report("connected", "connected (\(path))")
        case .notice(let notice):
            output.notice(notice, [("broadcast", .string(link.id.text))], subject: "\(link.id): ")
        default: break
        }
    }
}

/// All broadcasts of one `share record --watch`.
final class RecordWatches: Sendable {
    private let watches: [WatchRecorder]
    private let reasons = Monitor<[EndReason]>([])
    private let ending = Monitor<EndReason?>(nil)

    init(_ watches: [WatchRecorder]) { self.watches = watches }

    func end(_ reason: EndReason) {
        ending.change { $0 = $0 ?? reason }
        for watch in watches { watch.end() }
    }

    /// Blocks until all have ended, or for so many seconds.
    /// - Throws: if something could not be recorded, or if no broadcast may be recorded any more.
    func run(seconds: Double?) throws(CommandError) -> EndReason {
        for watch in watches {
            Task.detached { [self] in
                let reason = await watch.run()
                reasons.change { $0.append(reason) }
            }
        }
        let count = watches.count
        let limit = seconds.map { MonotonicClock.now + MediaDuration(nanoseconds: Int64($0 * 1e9)) }
        if let limit, reasons.wait(until: limit, { $0.count == count ? () : nil }) == nil {
            end(EndReason(.stopped, "the time is over"))
        }
        let all = reasons.wait { $0.count == count ? $0 : nil }
        for watch in watches { if let failure = watch.failure { throw CommandError(failure) } }
        if let reason = ending.with({ $0 }) { return reason }
        throw CommandError(all.first ?? EndReason(.stopped, "ended"))
    }
}
