import Control
import Foundation
import LinuxRuntime
import MediaCore
import Publishing
import SessionBus
import Sessions
import Transport

/// Shows a broadcast on the session bus (`io.sharekit.Broadcast1`), and carries out what other programs ask for there.
/// Runs on a thread of its own, because the bus may answer slowly.
final class BroadcastBus: Sendable {
    private struct News {
        var hasChanged = true
        var isEnding = false
    }

    private let news = Monitor(News())
    private let hasEnded = Monitor(false)

    /// Connects to the session bus of the environment. Without one, or if its name is taken, a sentence says so and the
    /// broadcast goes on.
    init(_ session: HostSession, stop: @escaping @Sendable (EndReason) -> Void) {
        guard let address = KnockNotifier.busAddress(ProcessInfo.processInfo.environment) else {
            ErrorOutput.writeLine("share: there is no session bus, so desktop programs do not see this broadcast")
            hasEnded.with { $0 = true }
            return
        }
        _ = NamedThread("broadcast-bus") { [news, hasEnded] in
            Self.run(address, session, news, stop)
            hasEnded.change { $0 = true }
        }
    }

    /// Shows the state anew. Does not block; called for each event of the broadcast.
    func update() { news.change { $0.hasChanged = true } }

    /// Leaves the bus. Blocks until that is done, for a second at most: the bus may not answer.
    func close() {
        news.change { $0.isEnding = true }
        _ = hasEnded.wait(until: MonotonicClock.now + .seconds(1)) { $0 ? true : nil }
    }

    private static func run(
        _ address: String, _ session: HostSession, _ news: Monitor<News>,
        _ stop: @escaping @Sendable (EndReason) -> Void
    ) {
        let object: BroadcastObject
        do throws(BroadcastObject.Failure) {
            object = try BroadcastObject(address: address, BroadcastObject.State()) {
                await perform($0, session, stop)
            }
        } catch {
            switch error {
            case .noBus:
                ErrorOutput.writeLine(
                    "share: the session bus does not answer, so desktop programs do not see this broadcast")
            case .nameIsTaken:
                ErrorOutput.writeLine("share: desktop programs see another broadcast: it was on the session bus first")
            }
            return
        }
        while true {
            let isEnding: Bool = news.wait { news in
                guard news.hasChanged || news.isEnding else { return nil }
                news.hasChanged = false
                return news.isEnding
            }
            guard !isEnding, let statistics = blocking({ await session.statistics() }) else { break }
            object.update(BroadcastObject.State(statistics))
        }
        object.update(BroadcastObject.State())
        object.close()
    }

    private static func perform(
        _ command: BroadcastObject.Command, _ session: HostSession, _ stop: @Sendable (EndReason) -> Void
    ) async -> String? {
        switch command {
        case .stop: stop(EndReason(.stopped, "ended over the session bus"))
        case .pause: await session.pause()
        case .resume: await session.resume()
        case .setMicrophone(let isOn):
            guard session.setAudioMuted(.microphoneAudio, !isOn) else { return "this broadcast has no microphone" }
        }
        return nil
    }
}

extension BroadcastObject.State {
    fileprivate init(_ statistics: HostStatistics) {
        self.init()
        isBroadcasting = true
        isPaused = statistics.isPaused
        isCaptured = !statistics.isPaused
        viewers = statistics.viewers
        hasMicrophone = statistics.audio.contains { $0.kind == .microphoneAudio && $0.isCaptured && !$0.isMuted }
    }
}
