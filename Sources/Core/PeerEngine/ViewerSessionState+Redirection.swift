import Identifiers
import MediaCore

/// Goes on at another server when the host says so, and comes back when the host says so or that fails. The present
/// connection goes on until the next one has a frame.
extension ViewerSessionState {
    /// Whether an order of the host is one to follow.
    func isWanted(_ redirect: Redirect) -> Bool {
        guard let present, present.link == home, redirect.link != home, leaving == nil else { return false }
        return present.followed.map { redirect.age > $0 } ?? true
            && rules.handsSinkOver && redirection == nil && returns < Redirection.returnLimit
    }

    /// Begins to go elsewhere, unless the viewer is on its way already, has come back too often, or leaves.
    mutating func redirectViewer(to link: Link, limit: Int, _ now: MediaInstant) -> [Action] {
        guard leaving == nil, redirection == nil, returns < Redirection.returnLimit,
            present?.isEnding == false
        else { return [] }
        redirection = Redirection(target: link, limit: limit, end: now)
        return openRedirection(now)
    }

    private mutating func openRedirection(_ now: MediaInstant) -> [Action] {
        guard let target = redirection?.target else { return [] }
        let number = takeNumber()
        redirection?.connection = Connection(number: number, media: number, link: target)
        redirection?.end = now + Redirection.timeLimit
        return requestOfRedirection(.open(target, former: nil), .opening)
    }

    private mutating func requestOfRedirection(_ request: Request, _ stage: Connection.Stage) -> [Action] {
        guard let number = redirection?.connection?.number else { return [] }
        let id = takeNumber()
        redirection?.connection?.begin(stage, request: id)
        return [.request(id, of: number, request)]
    }

    mutating func redirectionGot(
        _ result: Result, _ now: MediaInstant, using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        guard let connection = redirection?.connection else { return [] }
        redirection?.connection?.request = nil
        switch (result, connection.stage) {
        case (.opened, .opening): return requestOfRedirection(.knock(pass: nil), .knocking)
        case (.knocked, .knocking): return requestOfRedirection(.waitForAnswer, .waiting)
        case (.admitted(let pass, _), .waiting):
            redirection?.pass = pass
            return requestOfRedirection(.connect, .connecting)
        case (.connected, .connecting):
            redirection?.connection?.stage = .open
            return []
        case (.failed(let reason), .connecting):
            guard let wait = offerPause(connection, reason) else { return failRedirection(reason) }
            redirection?.connection?.refusedOffers += 1
            redirection?.connection?.stage = .offerPause(until: now + .seconds(wait))
            return connection.refusedOffers == 0
                ? [.tell(.serverBusy(connection.link, reason, seconds: wait))] : []
        case (.opened, .ending(let reason)), (.failed, .ending(let reason)):
            return requestOfRedirection(.withdraw(reason), .ending(reason))
        case (.withdrawn(true), .ending(let reason)): return withdrawn(reason, now, using: &generator)
        case (.failed(let reason), .opening):
            return requestOfRedirection(.withdraw(reason), .ending(reason))
        case (.failed(let reason), _): return failRedirection(reason)
        // The first frame was there before.
        default: return []
        }
    }

    mutating func advanceRedirection(_ now: MediaInstant) -> [Action] {
        guard let redirection, let due = redirection.due, now >= due else { return [] }
        guard let connection = redirection.connection else { return openRedirection(now) }
        if now >= redirection.end { return failRedirection(Failure(.noFrame)) }
        guard case .offerPause = connection.stage else { return [] }
        return requestOfRedirection(.offer, .connecting)
    }

    /// Gives up the attempt, unless its first frame has come at the same time.
    mutating func failRedirection(_ reason: Failure) -> [Action] {
        guard let connection = redirection?.connection else {
            redirection = nil
            return goOnAfterRedirection(reason)
        }
        switch connection.stage {
        // It is given up when it is open. If it is being given up already, the newest reason counts.
        case .opening, .ending:
            redirection?.connection?.stage = .ending(reason)
            return []
        default: return requestOfRedirection(.withdraw(reason), .ending(reason))
        }
    }

    private mutating func withdrawn(
        _ reason: Failure, _ now: MediaInstant, using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        guard let redirection else { return [] }
        self.redirection?.connection = nil
        if leaving == nil, !isPresentOver, redirection.attempt < redirection.limit {
            let pause = Int.random(in: 500...1_500, using: &generator) * redirection.attempt
            self.redirection?.attempt += 1
            self.redirection?.end = now + .milliseconds(pause)
            return []
        }
        self.redirection = nil
        let target = redirection.target == home ? nil : redirection.target
        let report: [Action] = reason.kind == .stopped ? [] : [.tell(.redirectFailed(to: target, reason))]
        return report + goOnAfterRedirection(reason)
    }

    private var isPresentOver: Bool { if case .ending = present?.stage { true } else { false } }

    /// The present connection goes on, or its end does, that has waited for the attempt.
    /// - Parameter reason: why the attempt failed.
    private mutating func goOnAfterRedirection(_ reason: Failure) -> [Action] {
        switch present?.stage {
        case .ending(let reason): finishPresent(reason)
        case .redirecting(isOnly: true): conclude(reason)
        case .redirecting(isOnly: false): request(.connect, .connecting)
        default: []
        }
    }

    /// The sink has the media of the other server: its connection is the present one from now on.
    mutating func takeOver(_ now: MediaInstant) -> [Action] {
        guard let redirection, var next = redirection.connection, let former = present else { return [] }
        (next.stage, next.request) = (.open, nil)
        if case .redirecting(isOnly: true) = former.stage { next.onlySince = now }
        (present, self.redirection, pass) = (next, nil, redirection.pass)
        (relays, formerEnd) = (AlternateRelays(), nil)
        let isHome = next.link == home
        if isHome { returns += 1 }
        let actions: [Action] = [
            .tell(.redirected(to: isHome ? nil : next.link)), .tell(.connected(path: redirection.path)),
            .retire(former.number), .noteNamer(next.link), .listen(next.number),
        ]
        return leaving.map { actions + conclude($0) } ?? actions
    }
}
