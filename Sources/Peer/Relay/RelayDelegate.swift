import Admission
import HTTP
import Identifiers
import LinuxRuntime
import Service
import Signaling

/// The service of a relay as the server sees it. Pairings and publications are the session's; tunnels, the directory,
/// pauses and the publishers' decisions about viewers are the relay's.
final class RelayDelegate: ServiceDelegate {
    private let session: ServiceSession
    private let streams: RelayStreams
    private let directory: RelayDirectory
    private let questions: ViewerQuestions

    init(
        _ session: ServiceSession, _ streams: RelayStreams, _ directory: RelayDirectory,
        _ questions: ViewerQuestions
    ) {
        self.session = session
        self.streams = streams
        self.directory = directory
        self.questions = questions
    }

    // MARK: Publications

    func decide(_ request: PairingRequest) async -> PairingDecision { await session.decide(request) }

    func pairingWithdrawn(_ id: KnockID) async { await session.pairingWithdrawn(id) }

    func openSession(offer: String, publisher: Publisher) async throws(OfferRefusal) -> OpenedSession {
        try await session.openSession(offer: offer, publisher: publisher)
    }

    func silentSessions(among sessions: [SessionID], for publisher: Publisher) async -> [SessionID] {
        await session.silentSessions(among: sessions, for: publisher)
    }

    func applyFragment(
        _ fragment: String, to session: SessionID
    ) async throws(OfferRefusal) -> RestartedSession? {
        try await self.session.applyFragment(fragment, to: session)
    }

    func closeSession(_ session: SessionID) async {
        guard let tunnel = directory.close(session) else { return await self.session.closeSession(session) }
        streams.note(directory.remove(session))
        streams.emit(.service(.tunnelClosed(session, tunnel)))
    }

    // MARK: Tunnels and the directory

    func openTunnel(_ session: SessionID, of id: TunnelID, publisher: Publisher) async -> Bool {
        guard directory.open(session, id) else { return false }
        streams.emit(.service(.tunnelOpened(session, publisher, id)))
        return true
    }

    func list(
        _ listing: Listing, of application: ApplicationInfo, by sessions: [SessionID]
    ) async -> ListingOutcome {
        let served = sessions.lazy.compactMap { id in self.streams.broadcast(of: id)?.served.map { (id, $0.0, $0.1) }
        }
        let (outcome, listed) = directory.list(listing, of: application, by: sessions, served: served.first)
        if let listed {
            if let id = BroadcastID(listed.entry.id) { streams.note([(id, listed.entry)]) }
            if listed.isNew { streams.emit(.service(.listed(listed.session, listed.entry))) }
        }
        return outcome
    }

    func unlist(_ sessions: [SessionID]) async { streams.note(directory.unlist(sessions)) }

    func annotate(_ application: ApplicationInfo, by sessions: [SessionID]) async -> Bool {
        let (known, changes) = directory.annotate(application, by: sessions)
        streams.note(changes)
        for session in known { streams.emit(.service(.annotated(session, application))) }
        return !known.isEmpty
    }

    // MARK: Viewers

    func decided(_ decision: KnockDecision, about knock: KnockID, by sessions: [SessionID]) async -> Bool {
        questions.decide(decision, about: knock, by: sessions)
    }

    /// A publisher that has lost its stream is asked again.
    func eventStreamChanged(isOpen: Bool, sessions: [SessionID]) async {
        if isOpen { questions.askAgain(sessions) }
    }

    func notePause(_ isPaused: Bool, by sessions: [SessionID]) async -> Bool {
        let known = sessions.filter(session.has)
        for session in known { streams.broadcast(of: session)?.setPaused(isPaused) }
        return !known.isEmpty
    }

    func returnViewers(by sessions: [SessionID]) async -> Bool {
        let known = sessions.filter(session.has)
        for session in known { streams.broadcast(of: session)?.send(.returnToHost) }
        return !known.isEmpty
    }
}
