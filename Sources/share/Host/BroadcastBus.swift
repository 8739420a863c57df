import CommandSupport
import Control
import Foundation
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
        var service = ""
        var indicatorEvents: [StatusNotifierItem.Event] = []
    }

    private enum Claim {
        case made
        case taken
    }

    /// The time within which a desktop has to answer for the name. After that the broadcast goes on without an answer.
    private static let claimTime = MediaDuration.seconds(3)

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
    /// - Parameter service: the identifier and the name of the service that receives it; empty for viewers with the
    ///   link.
    func begin(_ broadcast: any ControllableBroadcast, service: String) {
        if let problem = problem.with({ $0 }) {
            ErrorOutput.writeLine("share: \(problem), so desktop programs do not see this broadcast")
        }
        news.change { news in
            news.broadcast = broadcast
            news.service = service
            news.hasChanged = true
        }
    }

    /// Shows the state anew. Does not block; called for each event of the broadcast.
    func update() { news.change { $0.hasChanged = true } }

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
                await perform(command, news.with { $0.broadcast }, stop)
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
            let now: News = news.wait { news in
                let hasNews = news.hasChanged || !news.indicatorEvents.isEmpty
                guard news.isEnding || (news.broadcast != nil && hasNews) else { return nil }
                defer { (news.hasChanged, news.indicatorEvents) = (false, []) }
                return news
            }
            guard !now.isEnding, let broadcast = now.broadcast,
                let statistics = blocking({ await broadcast.statistics() })
            else { break }
            object.update(BroadcastObject.State(statistics, service: now.service))
            if indicator == nil {
                indicator = BroadcastIndicator(address) { event in
                    news.change { $0.indicatorEvents = ($0.indicatorEvents + [event]).suffix(16) }
                }
            }
            for event in now.indicatorEvents { indicator?.handle(event, broadcast, stop) }
            indicator?.show(statistics, service: now.service)
        }
        indicator?.close()
        object.update(BroadcastObject.State())
        object.close()
    }

    private static func perform(
        _ command: BroadcastObject.Command, _ broadcast: (any ControllableBroadcast)?,
        _ stop: @Sendable (EndReason) -> Void
    ) async -> String? {
        if command == .stop {
            stop(EndReason(.stopped, "ended over the session bus"))
            return nil
        }
        guard let broadcast else { return "the broadcast has not begun" }
        switch command {
        case .stop: break
        case .hold(let hold, let isOn): await broadcast.set(hold, isOn)
        case .setMicrophone(true): return "the microphone is unmuted by share unmute, or in the tray"
        case .setMicrophone(let isOn):
            guard broadcast.setAudioMuted(.microphoneAudio, !isOn) else { return "this broadcast has no microphone" }
        }
        return nil
    }
}

extension BroadcastObject.State {
    fileprivate init(_ statistics: HostStatistics, service: String) {
        self.init()
        isBroadcasting = true
        holds = statistics.holds
        isCaptured = holds.isEmpty
        viewers = statistics.viewers
        hasMicrophone = statistics.audio.contains { $0.kind == .microphoneAudio && $0.isCaptured && !$0.isMuted }
        self.service = service
    }
}
