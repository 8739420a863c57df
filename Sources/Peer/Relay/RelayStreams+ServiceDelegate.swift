import Admission
import HTTP
import Identifiers
import LinuxRuntime
import MediaCore
import Service
import Signaling

/// The server's requests to a relay. Pairings and publications are the service's; tunnels, the directory, pauses and
/// the publishers' decisions about viewers are the relay's.
extension RelayStreams: ServiceDelegate {
    // MARK: Publications

    func decide(_ request: PairingRequest) async -> PairingDecision { await service.decide(request) }

    func pairingWithdrawn(_ id: KnockID) async { await service.pairingWithdrawn(id) }

    func openSession(offer: String, publisher: Publisher) async throws(OfferRefusal) -> OpenedSession {
        try await service.openSession(offer: offer, publisher: publisher)
    }

    func silentSessions(among sessions: [SessionID], for publisher: Publisher) async -> [SessionID] {
        await service.silentSessions(among: sessions, for: publisher)
    }

    func applyFragment(
        _ fragment: String, to session: SessionID
    ) async throws(OfferRefusal) -> RestartedSession? {
        try await service.applyFragment(fragment, to: session)
    }

    func closeSession(_ session: SessionID) async {
        guard let tunnel = directory.close(session) else { return await service.closeSession(session) }
        note(directory.remove(session))
        emit(.service(.tunnelClosed(session, tunnel)))
    }

    // MARK: Tunnels and the directory

    func openTunnel(_ session: SessionID, of id: TunnelID, publisher: Publisher) async -> Bool {
        guard directory.open(session, id) else { return false }
        emit(.service(.tunnelOpened(session, publisher, id)))
        return true
    }

    func list(
        _ listing: Listing, of application: ApplicationInfo, by sessions: [SessionID]
    ) async -> ListingOutcome {
        let served = sessions.lazy.compactMap { id in self.broadcast(of: id)?.served.map { (id, $0.0, $0.1) } }
        let (outcome, listed) = directory.list(listing, of: application, by: sessions, served: served.first)
        if let listed {
            if let id = BroadcastID(listed.entry.id) { note([(id, listed.entry)]) }
            if listed.isNew { emit(.service(.listed(listed.session, listed.entry))) }
        }
        return outcome
    }

    func unlist(_ sessions: [SessionID]) async { note(directory.unlist(sessions)) }

    // MARK: Viewers

    /// A publisher that has lost its stream is asked again.
    func eventStreamChanged(isOpen: Bool, sessions: [SessionID]) async {
        if isOpen { questions.askAgain(sessions) }
    }

    func handle(_ message: PublisherMessage, by sessions: [SessionID]) async -> Bool {
        switch message {
        case .application(let application):
            let (known, changes) = directory.annotate(application, by: sessions)
            note(changes)
            for session in known { emit(.service(.annotated(session, application))) }
            return !known.isEmpty
        case .decision(let decision, let knock): return questions.decide(decision, about: knock, by: sessions)
        case .hold, .returnViewers, .keys, .sealed, .removal: break
        }
        let known = sessions.filter(service.has)
        var isTaken = !known.isEmpty
        if case .removal = message { isTaken = false }
        for broadcast in known.compactMap({ self.broadcast(of: $0) }) {
            isTaken = await apply(message, to: broadcast) || isTaken
        }
        return isTaken
    }

    /// - Returns: whether a viewer was removed.
    private func apply(_ message: PublisherMessage, to broadcast: RelayedBroadcast) async -> Bool {
        switch message {
        case .hold(let hold): broadcast.tell(hold: hold)
        case .returnViewers: broadcast.send(.returnToHost)
        case .keys(let keys):
            broadcast.pass(keys)
            guard let member else { break }
            // Before it is known which relays get them: others are told by `viewerRelays`.
            handle(.keys(keys), of: broadcast)
            _ = member.tell(.keys(keys), of: broadcast.id)
        case .sealed(let messages):
            broadcast.pass(messages)
            _ = member?.tell(.messages(messages), of: broadcast.id)
        case .removal(let viewer):
            handle(.removed(viewer), of: broadcast)
            let isElsewhere = member?.tell(.removed(viewer), of: broadcast.id) == true
            return await broadcast.remove(viewer: viewer) || isElsewhere
        case .application, .decision: break
        }
        return false
    }
}
