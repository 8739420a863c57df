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

    func annotate(_ application: ApplicationInfo, by sessions: [SessionID]) async -> Bool {
        let (known, changes) = directory.annotate(application, by: sessions)
        note(changes)
        for session in known { emit(.service(.annotated(session, application))) }
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

    func note(_ hold: BroadcastHold?, by sessions: [SessionID]) async -> Bool {
        tellBroadcasts(of: sessions) { $0.tell(hold: hold) }
    }

    func pass(_ keys: [MemberKeys], by sessions: [SessionID]) async -> Bool {
        tellBroadcasts(of: sessions) { broadcast in
            broadcast.pass(keys)
            guard let member else { return }
            // Before it is known which relays get them: others are told by `viewerRelays`.
            handle(.keys(keys), of: broadcast)
            _ = member.tell(.keys(keys), of: broadcast.id)
        }
    }

    func pass(_ messages: SealedMessages, by sessions: [SessionID]) async -> Bool {
        tellBroadcasts(of: sessions) { broadcast in
            broadcast.pass(messages)
            _ = member?.tell(.messages(messages), of: broadcast.id)
        }
    }

    func returnViewers(by sessions: [SessionID]) async -> Bool {
        tellBroadcasts(of: sessions) { $0.send(.returnToHost) }
    }

    func remove(viewer: [UInt8], by sessions: [SessionID]) async -> Bool {
        var isFound = false
        for broadcast in sessions.filter(service.has).compactMap({ self.broadcast(of: $0) }) {
            handle(.removed(viewer), of: broadcast)
            let isElsewhere = member?.tell(.removed(viewer), of: broadcast.id) == true
            isFound = await broadcast.remove(viewer: viewer) || isElsewhere || isFound
        }
        return isFound
    }

    /// - Returns: false if a publisher with these sessions has none.
    private func tellBroadcasts(of sessions: [SessionID], _ body: (RelayedBroadcast) -> Void) -> Bool {
        let known = sessions.filter(service.has)
        for session in known { broadcast(of: session).map(body) }
        return !known.isEmpty
    }
}
