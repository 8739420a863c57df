import CommandSupport
import Control
import Host
import LinuxRuntime
import MediaCore
import PeerConnection
import SessionBus

/// Shows a system broadcast on the session bus (`io.sharekit.Broadcast1`) and in the tray, and carries out what other
/// programs ask for there. Runs on a thread of its own, because the bus may answer slowly.
final class BroadcastBus: Sendable {
    private struct News {
        var hasChanged = true
        var isEnding = false
        /// Nil before the broadcast begins.
        var broadcast: (any ControllableBroadcast)?
        var control: BroadcastControl?
        var questions = TrayQuestions()
        var service = ""
        var indicatorEvents: [StatusNotifierItem.Event] = []
        /// The newest ones that programs are not told yet.
        var comments: [BroadcastComment] = []
        /// Where a viewer has pointed last, and until when that is shown.
        var pointing: (line: PointingReport.Line, end: MediaInstant)?

        /// Takes out what is to be told.
        mutating func take() -> News {
            defer { (hasChanged, indicatorEvents, comments) = (false, [], []) }
            return self
        }

        mutating func takeIfAny() -> News? {
            let hasNews = hasChanged || !indicatorEvents.isEmpty || !comments.isEmpty
            return isEnding || (broadcast != nil && hasNews) ? take() : nil
        }
    }

    private enum Claim {
        case made
        case taken
    }

    /// The time within which a desktop has to answer for the name. After that the broadcast goes on without an answer.
    private static let claimTime = MediaDuration.seconds(3)
    private static let commentLimit = 64
    /// How long it is shown where a viewer has pointed.
    private static let pointingTime = MediaDuration.seconds(6)

    private let news = Monitor(News())
    /// Why desktop programs do not see the broadcast; said when it begins.
    private let problem = Monitor<String?>(nil)
    private let hasEnded = Monitor(false)

    /// Connects to the session bus of the environment, and takes the name. Without a bus the broadcast goes on; `share
    /// doctor` says what that means. If another program has the name, a sentence says so.
    /// - Throws: if another broadcast has the name.
    init(_ environment: [String: String], stop: @escaping @Sendable (EndReason) -> Void) throws(CommandError) {
        guard let address = SessionBusAddress.running(in: environment) else {
            hasEnded.with { $0 = true }
            return
        }
        let claim = Monitor<Claim?>(nil)
        _ = NamedThread("broadcast-bus") { [news, problem, hasEnded] in
            if let object = Self.claim(address, news, stop, claim, problem) { Self.run(address, object, news, stop) }
            hasEnded.change { $0 = true }
        }
        let outcome = claim.wait(until: MonotonicClock.now + Self.claimTime) { $0 }
        if outcome == .taken { throw SystemBroadcast.alreadyBroadcasting(nil) }
        if outcome == nil { problem.with { $0 = "the session bus does not answer" } }
    }

    /// The broadcast has begun.
    /// - Parameters:
    ///   - control: meets the requests that name a viewer.
    ///   - questions: what the tray asks.
    ///   - service: the identifier and the name of the service that receives it; empty for viewers with the link.
    func begin(
        _ broadcast: any ControllableBroadcast, _ control: BroadcastControl, _ questions: TrayQuestions,
        service: String
    ) {
        if let problem = problem.with({ $0 }) {
            ErrorOutput.writeLine("share: \(problem), so desktop programs do not see this broadcast")
        }
        news.change { news in
            (news.broadcast, news.control, news.questions) = (broadcast, control, questions)
            news.service = service
            news.hasChanged = true
        }
    }

    /// Shows the state anew. Does not block; called for each event of the broadcast.
    func update() { news.change { $0.hasChanged = true } }

    /// Tells programs a comment. Does not block.
    func tell(_ comment: BroadcastComment) {
        news.change { $0.comments = ($0.comments + [comment]).suffix(Self.commentLimit) }
    }

    /// Shows for a while where a viewer points. Does not block.
    func show(_ pointing: PointingReport.Line) {
        news.change { news in
            news.pointing = (pointing, MonotonicClock.now + Self.pointingTime)
            news.hasChanged = true
        }
    }

    /// Leaves the bus. Blocks until that is done, for a second at most: the bus may not answer.
    func close() {
        news.change { $0.isEnding = true }
        _ = hasEnded.wait(until: MonotonicClock.now + .seconds(1)) { $0 ? true : nil }
    }

    /// Takes the name.
    /// - Returns: nil if that is impossible; then there is a problem, or the claim is `.taken`.
    private static func claim(
        _ address: String, _ news: Monitor<News>, _ stop: @escaping @Sendable (EndReason) -> Void,
        _ claim: Monitor<Claim?>, _ problem: Monitor<String?>
    ) -> BroadcastObject? {
        do throws(BroadcastObject.Failure) {
            let object = try BroadcastObject(address: address, BroadcastObject.State()) { command in
                let (broadcast, control) = news.with { ($0.broadcast, $0.control) }
                return await perform(command, broadcast, control, stop)
            }
            claim.change { $0 = .made }
            return object
        } catch {
            if error == .nameIsTaken, isBroadcast(address) {
                claim.change { $0 = .taken }
                return nil
            }
            problem.with {
                $0 =
                    error == .noBus
                    ? "the session bus does not answer"
                    : "a program that is no broadcast has the name \(BroadcastObject.name) on the session bus"
            }
            claim.change { $0 = .made }
            return nil
        }
    }

    /// Whether the owner of the name answers as a broadcast does.
    private static func isBroadcast(_ address: String) -> Bool {
        let answer = Monitor<BroadcastSighting?>(nil)
        guard
            let observer = BroadcastObserver(
                address: address, onChange: { sighting in answer.change { $0 = sighting } })
        else { return false }
        defer { observer.close() }
        return answer.wait(until: MonotonicClock.now + .seconds(1)) { $0 }?.state != nil
    }

    private static func run(
        _ address: String, _ object: BroadcastObject, _ news: Monitor<News>,
        _ stop: @escaping @Sendable (EndReason) -> Void
    ) {
        var indicator: BroadcastIndicator?
        while true {
            let now = next(news)
            guard !now.isEnding else { break }
            guard let broadcast = now.broadcast else { continue }
            // First, so that a right that is taken back is gone at once.
            for event in now.indicatorEvents { indicator?.handle(event, broadcast, now.questions, stop) }
            guard let statistics = blocking({ await broadcast.statistics() }) else { break }
            let viewers = blocking { await sessions(of: broadcast) }
            object.update(BroadcastObject.State(statistics, viewers, service: now.service))
            for comment in now.comments { object.tell(comment) }
            if indicator == nil {
                indicator = BroadcastIndicator(address) { event in
                    news.change { $0.indicatorEvents = ($0.indicatorEvents + [event]).suffix(16) }
                }
            }
            var audience = TrayAudience(viewers, possibleRights: broadcast.possibleRights)
            audience.pointing = now.pointing?.line.text
            audience.questions = now.questions.questions
            indicator?.show(statistics, audience, service: now.service)
            now.questions.markShown(audience.questions)
        }
        indicator?.close()
        object.update(BroadcastObject.State())
        object.close()
    }

    /// Waits for something to be told, or for the end of what is shown for a while.
    private static func next(_ news: Monitor<News>) -> News {
        guard let end = news.with({ $0.pointing?.end }) else { return news.wait { $0.takeIfAny() } }
        return news.wait(until: end) { $0.takeIfAny() }
            ?? news.with { news in
                news.pointing = nil
                return news.take()
            }
    }

    private static func perform(
        _ command: BroadcastObject.Command, _ broadcast: (any ControllableBroadcast)?, _ control: BroadcastControl?,
        _ stop: @Sendable (EndReason) -> Void
    ) async -> BroadcastObject.Answer {
        if command == .stop {
            stop(EndReason(.stopped, "ended over the session bus"))
            return .done
        }
        guard let broadcast, let control else { return failed("the broadcast has not begun") }
        switch command {
        case .stop: break
        case .hold(let hold, let isOn): await broadcast.set(hold, isOn)
        case .setMicrophone(true): return failed("the microphone is unmuted by share unmute, or in the tray")
        case .setMicrophone(let isOn):
            guard broadcast.setAudioMuted(.microphoneAudio, !isOn) else {
                return failed("this broadcast has no microphone")
            }
        case .listViewers:
            return .viewers(await sessions(of: broadcast).map { BroadcastObject.Viewer($0) })
        case .takeControlBack: await broadcast.takeControlBack()
        case .setRight(let right, let isGranted, let viewer):
            return await perform(.setRight(right, isGranted: isGranted, viewer: viewer), control)
        case .say(let text): return await perform(.say(text), control)
        }
        return .done
    }

    private static func perform(
        _ command: ControlRequest.Command, _ control: BroadcastControl
    ) async -> BroadcastObject.Answer {
        do throws(ControlError) {
            let answer = try await control.answer(ControlRequest(command))
            guard answer.error == .ambiguous else { return .done }
            return .refused(.init(.ambiguousViewer, answer.message ?? "more than one viewer is meant"))
        } catch {
            return error.code == .unknown ? .refused(.init(.unknownViewer, error.message)) : failed(error.message)
        }
    }

    /// Those of viewers, without the relay or the service that takes the broadcast in.
    private static func sessions(of broadcast: any ControllableBroadcast) async -> [ViewerSessionInfo] {
        await broadcast.viewers().filter { !$0.description.isPublication }
    }

    private static func failed(_ sentence: String) -> BroadcastObject.Answer { .refused(.init(.failed, sentence)) }
}

extension BroadcastObject.Viewer {
    fileprivate init(_ viewer: ViewerSessionInfo) {
        self.init(
            number: viewer.number, name: viewer.description.name, kind: viewer.description.kind,
            address: viewer.description.address, rights: viewer.rights)
    }
}

extension BroadcastObject.State {
    fileprivate init(_ statistics: HostStatistics, _ sessions: [ViewerSessionInfo], service: String) {
        self.init()
        isBroadcasting = true
        holds = statistics.holds
        isCaptured = holds.isEmpty
        viewers = statistics.viewers
        hasMicrophone = statistics.audio.contains { $0.kind == .microphoneAudio && $0.isCaptured && !$0.isMuted }
        self.service = service
        controller = sessions.controller?.description.name ?? ""
        audience = sessions.map { BroadcastObject.Viewer($0) }
    }
}
