import Admission
import HTTP
import Identifiers
import Identity
import MediaCore
import PeerConnection
import PeerEngine
import Signaling
import Synchronization

/// The events of signalling and media as inputs of `ViewerSessionState`, and its reports as events.
extension ViewerSession {
    /// - Returns: an order of the host whose signature is right; nil: it is not to be followed.
    func checked(_ redirect: SignedRedirect, of connection: ViewerConnection, after last: Int?) async -> State.Redirect?
    {
        // Whether the other server's media is encrypted is known from a host that has signed that alone.
        guard connection.link == settings.link, let client = try? connection.client(),
            let encryption = await client.encryption, let knock = await client.origin,
            let destination = redirect.destination(
                from: settings.link, viewer: settings.identity.fingerprint, knock: knock, after: last, now: .now)
        else { return nil }
        // Those that cannot be read are not the host's. What the viewer has may do.
        takeKeys(redirect.keys, from: encryption)
        return State.Redirect(link: destination, age: redirect.age, isOnly: redirect.only ?? false)
    }

    func event(of report: State.Report) -> ViewerSessionEvent {
        switch report {
        case .knocking(let words): .knocking(words: words)
        case .accepted: .accepted
        case .queueFull: .notice(.viewing(.knockQueueFull))
        case .serverBusy(let link, let failure, let seconds):
            .notice(
                .viewing(
                    .serverBusy(
                        server: link.authority, failure.error ?? SignalingError(.busy, failure.reason.sentence),
                        seconds: seconds)))
        case .sessionLost(let failure, let next):
            .notice(.viewing(.sessionLost(failure.reason, relay: next.authority)))
        case .returningToHost(let failure): .notice(.viewing(.returningToHost(failure.reason)))
        case .redirectFailed(let link, let failure):
            .notice(.viewing(.redirectFailed(relay: link?.authority, failure.reason)))
        case .redirected(let link):
            .notice(.viewing(.redirected(relay: link?.authority, isEncrypted: encryption.withLock { $0.keys != nil })))
        case .connected(let path): .connected(path: path)
        case .broadcastHeld(let hold): hold.map { .broadcastHeld($0) } ?? .broadcastResumed
        case .publisherInterrupted(let isInterrupted): isInterrupted ? .publisherInterrupted : .publisherResumed
        }
    }

    func handle(_ event: ViewerSessionEvent, ofMedia source: Int) {
        let change: State.MediaChange =
            switch event {
            case .connected(let path): .connected(path: path)
            case .waiting(let outage): .waiting(outage)
            default: .other
            }
        handle(.media(source: source, change, event))
    }

    func handle(_ event: HostEvent, of connection: ViewerConnection) async {
        func tell(_ word: State.HostWord) { handle(.told(connection.number, word)) }
        if case .rights(let granted) = event { channel.note(granted, of: self) }
        switch event {
        case .ended(let reason): tell(.ended(ViewerFailure(EndReason(.hostEnded, reason))))
        case .removed(let reason): tell(.ended(ViewerFailure(EndReason(.removed, reason))))
        case .active: tell(.publisherInterrupted(false))
        case .inactive: tell(.publisherInterrupted(true))
        case .held(let hold): tell(.held(hold))
        case .resumed: tell(.held(nil))
        case .candidates(let text): await connection.addCandidates(text)
        case .alternates(let alternates): tell(.alternates(alternates.links(of: connection.link)))
        case .reconnect(let redirect?):
            let last = logic.read { $0.followedAge }
            if let order = await checked(redirect, of: connection, after: last) { tell(.redirect(order)) }
        case .reconnect(nil): tell(.stopping)
        case .returnToHost: tell(.returnToHost)
        // Those of an epoch that is about to begin. The host itself sends nothing that is encrypted.
        case .keys(let text):
            if connection.link != settings.link { takeKeys(text, from: encryption.withLock { $0.home?.encryption }) }
        case .other: break
        // The session does nothing about it.
        default: handle(.report(connection.number, .hostEvent(event), ofAny: false))
        }
    }
}
