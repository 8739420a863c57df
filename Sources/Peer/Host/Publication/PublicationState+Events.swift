import Admission
import Identifiers
import MediaCore
import PeerConnection
import Signaling

/// The endpoint's events, other relays, and the end.
extension PublicationState {
    mutating func heard(_ event: ServiceEvent, _ now: MediaInstant) -> [Action] {
        guard let present, present.believes(event) else { return [] }
        return [.report(event, present.session)] + follow(event, present, now)
    }

    private mutating func follow(_ event: ServiceEvent, _ present: Connection, _ now: MediaInstant) -> [Action] {
        switch event {
        case .serviceInfo, .slowestBitrate, .candidates, .viewerJoined, .viewerLeft: return []
        case .broadcastURL(let text):
            if let link = try? Link(parsing: text) { broadcast = link.id }
            return [.list(present.number)] + moveIfAsked(now)
        case .alternates(let texts):
            // Only the same service of other relays is believed.
            relays = texts.prefix(Self.relayLimit).compactMap { try? ServiceLink(parsing: $0) }
                .filter { $0.id == service }
            return moveIfAsked(now)
        case .reconnect:
            phase = .running(isRelayStopping: true)
            return moveIfAsked(now)
        case .viewer(let knock):
            guard questions.count < Self.questionLimit, questions[knock.id] == nil else { return [] }
            let question = takeNumber()
            questions[knock.id] = question
            return [.ask(question, knock, at: present.number)]
        case .viewerWithdrawn(let knock): return withdraw(knock)
        case .finished(let reason, let nextStep):
            return end(
                EndReason(
                    .serviceEnded, "\(present.endpoint.name) ended it: \(reason)", remedy: nextStep ?? ""),
                isGone: false)
        }
    }

    mutating func streamEnded(isRefused: Bool, _ now: MediaInstant) -> [Action] {
        guard let present else { return [] }
        // The relay asks again on the next stream about those that still wait.
        let withdrawn = withdrawAll()
        self.present?.stream = now + Self.streamInterval
        // An outage of the network answers nothing; a refusal comes from the service's machine without the service.
        guard isRefused, !present.endpoint.isOverRelay else { return withdrawn }
        self.present?.refusals += 1
        guard present.refusals + 1 >= Self.refusalLimit else { return withdrawn }
        let reason = "\(present.endpoint.name) has gone: nothing listens at its port any more"
        return withdrawn + endPresent(EndReason(.serviceEnded, reason), now)
    }

    private mutating func withdraw(_ knock: KnockID) -> [Action] {
        guard let question = questions.removeValue(forKey: knock), let number = present?.number else { return [] }
        return [.withdraw(question, knock, at: number)]
    }

    private mutating func withdrawAll() -> [Action] { questions.keys.flatMap { withdraw($0) } }

    // MARK: Other relays, and the end

    private mutating func moveIfAsked(_ now: MediaInstant) -> [Action] {
        guard case .running(isRelayStopping: true) = phase, hasOtherRelays, let name = present?.endpoint.name else {
            return []
        }
        return endPresent(EndReason(.serviceEnded, "\(name) is about to stop"), isAlive: true, now)
    }

    /// The present connection is over: goes on at another relay if one is known.
    /// - Parameter isAlive: it goes on until another relay has the broadcast.
    mutating func endPresent(_ reason: EndReason, isAlive: Bool = false, _ now: MediaInstant) -> [Action] {
        guard isRunning, let former = present else { return [] }
        guard hasOtherRelays else { return end(reason, isGone: true) }
        let withdrawn = withdrawAll()
        phase = .moving(Move(reason: reason, end: now + Self.moveTime))
        present?.stream = nil
        if !isAlive { present = nil }
        return withdrawn + [.emit(.notice(.relay(.publicationLost(reason))))]
            + (isAlive ? [] : close(former, isGone: true)) + tryRelay(now)
    }

    mutating func tryRelay(_ now: MediaInstant) -> [Action] {
        guard case .moving(var move) = phase, let broadcast else { return [] }
        guard move.relay < relays.count else {
            (move.relay, move.pause) = (0, now + Self.movePause)
            phase = .moving(move)
            return []
        }
        let link = relays[move.relay]
        move.relay += 1
        phase = .moving(move)
        next = Connection(number: takeNumber(), endpoint: Endpoint(name: "", isOverRelay: false), stage: .pairing)
        return request(.pair(link, resuming: broadcast), .pairing, of: \.next)
    }

    /// - Parameter isGone: nothing is waited for.
    mutating func end(_ reason: EndReason, isGone: Bool) -> [Action] {
        phase = .over
        let actions = close(next, isGone: true) + close(present, isGone: isGone) + [.end(reason)]
        (present, next, questions) = (nil, nil, [:])
        return actions
    }

    func close(_ connection: Connection?, isGone: Bool) -> [Action] {
        guard let connection else { return [] }
        // There is nothing to close before the pairing has succeeded.
        if case .pairing = connection.stage { return [] }
        return [.close(connection.number, connection.session, isGone: isGone)]
    }
}
