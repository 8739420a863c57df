import Admission
import Identifiers
import MediaCore
import Signaling
import Synchronization

/// Tells the viewers who watches, if the host's user wants that: once a second at most.
final class WatcherReporter: Sendable {
    /// In the order in which the sessions were opened.
    private let sessions = Mutex<[(id: SessionID, viewer: Viewer)]>([])
    private let report: Throttle<WatchingNames>

    init(_ send: @escaping @Sendable (WatchingNames) -> Void) { report = Throttle(send) }

    func opened(_ session: SessionID, _ viewer: Viewer) {
        tell { sessions in
            sessions.removeAll { $0.id == session }
            sessions.append((session, viewer))
        }
    }

    func ended(_ session: SessionID) { tell { sessions in sessions.removeAll { $0.id == session } } }

    /// A viewer with several sessions counts once. A player with the fixed token has no identity: each session counts.
    private func tell(_ change: (inout [(id: SessionID, viewer: Viewer)]) -> Void) {
        let names = sessions.withLock { sessions -> [String] in
            change(&sessions)
            var known: Set<ViewerIdentity> = []
            return sessions.compactMap { session -> String? in
                if let identity = session.viewer.identity, !known.insert(identity).inserted { return nil }
                return session.viewer.name
            }
        }
        report.pass(WatchingNames(names), interval: .seconds(1))
    }
}
