import Identifiers
import MediaCore

/// The connection whose media is shown: from the knock to its end, and what follows it.
extension ViewerSessionState {
    /// Begins a session with a server. The media of the former connection goes on until then.
    mutating func open(_ link: Link) -> [Action] {
        let (former, number) = (present, takeNumber())
        present = Connection(number: number, media: former?.media ?? number, link: link)
        return request(.open(link, former: former?.number), .opening)
    }

    mutating func presentGot(
        _ result: Result, _ now: MediaInstant, using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        guard let connection = present else { return [] }
        present?.request = nil
        switch (result, connection.stage) {
        case (.opened, .opening):
            if let leaving { return conclude(leaving) }
            present?.knockEnd = now + Self.knockTime
            return request(.knock(pass: pass), .knocking)
        case (.knocked(let words), .knocking):
            // With a pass, nobody is asked, nor about a viewer that comes back.
            let asks: [Action] = pass == nil && returns == 0 ? [.tell(.knocking(words: words))] : []
            return asks + request(.waitForAnswer, .waiting)
        case (.admitted(let pass, let redirect), .waiting): return admitted(pass, redirect, now)
        case (.connected, .connecting):
            present?.stage = .open
            return [.listen(connection.number)]
        case (.attempted(let result, let reason), .open):
            return [.noteAttempt(of: connection.number, result, reason)]
        case (.finished(let reason), .finishing): return decideNext(after: reason, connection.link, now)
        case (.failed(let reason), .opening): return conclude(leaving ?? reason)
        case (.failed(let reason), .knocking):
            return knockFailed(connection, reason, now, using: &generator)
        case (.failed(let reason), .connecting): return offerFailed(connection, reason, now)
        case (.failed(let reason), _): return endPresent(reason, now)
        default: return []
        }
    }

    mutating func advancePresent(_ now: MediaInstant) -> [Action] {
        guard let present, let due = present.due, now >= due else { return [] }
        switch present.stage {
        case .knockPause: return request(.knock(pass: pass), .knocking)
        case .offerPause: return request(.offer, .connecting)
        case .closing(let reason, _): return conclude(reason)
        default: return []
        }
    }

    private mutating func admitted(_ pass: String?, _ redirect: Redirect?, _ now: MediaInstant) -> [Action] {
        guard let link = present?.link else { return [] }
        self.pass = pass
        let actions: [Action] = [.tell(.accepted), .noteNamer(link)]
        guard let redirect, redirect.isOnly || returns == 0 else { return actions + request(.connect, .connecting) }
        guard isWanted(redirect) else {
            return actions
                + (redirect.isOnly ? conclude(formerEnd ?? Failure(.noFrame)) : request(.connect, .connecting))
        }
        present?.followed = redirect.age
        present?.stage = .redirecting(isOnly: redirect.isOnly)
        return actions + redirectViewer(to: redirect.link, limit: redirect.isOnly ? Redirection.attempts : 1, now)
    }

    // MARK: Busy servers

    private mutating func knockFailed(
        _ connection: Connection, _ reason: Failure, _ now: MediaInstant,
        using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        guard let end = connection.knockEnd, now < end else { return endPresent(reason, now) }
        let (seconds, report): (Int, Report)
        switch (reason.isQueueFull, reason.isRateLimited ? reason.retryAfter : nil) {
        case (true, _): (seconds, report) = (Self.queuePause, .queueFull)
        case (_, let wait?) where 0...Self.longestWait ~= wait:
            (seconds, report) = (wait, .serverBusy(connection.link, reason, seconds: wait))
        default: return endPresent(reason, now)
        }
        present?.hasToldBusy = true
        // Those who were refused together do not come back together.
        let pause = MediaDuration.milliseconds(seconds * 1_000 + Int.random(in: 0..<500, using: &generator))
        present?.stage = .knockPause(until: now + pause)
        return connection.hasToldBusy ? [] : [.tell(report)]
    }

    private mutating func offerFailed(
        _ connection: Connection, _ reason: Failure, _ now: MediaInstant
    ) -> [Action] {
        guard let wait = offerPause(connection, reason) else { return endPresent(reason, now) }
        present?.refusedOffers += 1
        present?.stage = .offerPause(until: now + .seconds(wait))
        return connection.refusedOffers == 0 ? [.tell(.serverBusy(connection.link, reason, seconds: wait))] : []
    }

    /// - Returns: after how many seconds the offer is sent again; nil: never.
    func offerPause(_ connection: Connection, _ reason: Failure) -> Int? {
        // Another relay is asked before a busy one is asked again.
        guard let wait = reason.retryAfter, 0...Self.longestWait ~= wait, !relays.isMoving,
            connection.refusedOffers + 1 < Self.offerLimit
        else { return nil }
        return wait
    }

    // MARK: The end

    mutating func leave(_ reason: Failure) -> [Action] {
        guard leaving == nil else { return [] }
        leaving = reason
        switch phase {
        case .initial, .over: return []
        case .pausing: return end(reason)
        case .running:
            // A connection that is being made is ended when that is done.
            if case .opening = present?.stage { return [] }
            return present?.isEnding == true ? [] : conclude(reason)
        }
    }

    /// The connection whose media is shown is over, unless the host gives another reason in a moment.
    mutating func endPresent(_ reason: Failure, _ now: MediaInstant) -> [Action] {
        guard let present, !present.isEnding else { return [] }
        if case .opening = present.stage { return [] }
        guard reason.kind == .mediaClosed else { return conclude(reason) }
        self.present?.begin(.closing(reason, until: now + Self.reasonTime), request: nil)
        return []
    }

    /// Ends the connection whose media is shown. An attempt at another server is given up first, as it may have
    /// succeeded.
    mutating func conclude(_ reason: Failure) -> [Action] {
        present?.begin(.ending(reason), request: nil)
        guard redirection != nil else { return finishPresent(reason) }
        return failRedirection(Failure(.attemptEnded))
    }

    mutating func finishPresent(_ reason: Failure) -> [Action] {
        let mayGoOn = !relays.isEmpty && mayGoOnElsewhere(reason)
        let closesMedia = (present?.link == home || leaving != nil) && !mayGoOn
        return request(.finish(reason, closesMedia: closesMedia), .finishing)
    }

    /// Whether the broadcast may go on at another relay.
    private func mayGoOnElsewhere(_ reason: Failure) -> Bool {
        switch reason.kind {
        case .lost: true
        // One was lost, and others are being tried: some cannot take the viewer now.
        case .failed: relays.isMoving
        default: false
        }
    }

    private mutating func decideNext(after reason: Failure, _ link: Link, _ now: MediaInstant) -> [Action] {
        guard leaving == nil else { return end(reason) }
        if mayGoOnElsewhere(reason), let next = relays.next(after: link, now: now) {
            guard relays.isRoundOver else { return goOn(at: next, reason) }
            phase = .pausing(until: now + AlternateRelays.pause, next: next, reason)
            return []
        }
        guard link != home, reason.kind != .removed, reason.kind != .stopped else { return end(reason) }
        if let since = present?.onlySince, now - since >= Redirection.stayTime { returns = 0 }
        returns += 1
        (pass, relays, formerEnd) = (nil, AlternateRelays(), reason)
        let isEnd = reason.kind == .hostEnded || reason.kind == .mediaClosed
        return (isEnd ? [] : [.tell(.returningToHost(reason))]) + open(home)
    }

    mutating func goOn(at next: Link, _ reason: Failure) -> [Action] {
        [.tell(.sessionLost(reason, next: next))] + open(next)
    }

    mutating func end(_ reason: Failure) -> [Action] {
        phase = .over
        // The host has ended the broadcast elsewhere first.
        guard let formerEnd, reason.kind != .stopped, [.hostEnded, .mediaClosed].contains(formerEnd.kind) else {
            return [.end(reason)]
        }
        return [.end(formerEnd)]
    }
}
