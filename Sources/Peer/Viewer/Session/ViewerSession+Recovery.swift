import EventLoop
import HTTP
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import PeerConnection
import PeerEngine
import SessionDescription
import Signaling

/// Recovers from an outage: reopens the event stream, restarts ICE on the networks that the machine has now, and, if
/// the host has no such session any more, opens a new session with the same token, without a knock.
extension ViewerSession {
    /// Receives the host's events. An `ended` event gives a better reason for the end than the silence that follows it.
    /// - Parameter place: of the session there. What comes late does not concern the session at the next place.
    func listen(_ client: SignalingClient, at link: Link, _ place: PlaceOutcomes) async {
        var backoff = EventStreamBackoff()
        while !Task.isCancelled {
            do {
                let events = try await client.events(timeout: backoff.timeout.map { Duration($0) })
                backoff.noteOpen()
                for try await event in events {
                    switch event {
                    case .ended(let reason): return place.tell(EndReason(.hostEnded, reason))
                    case .removed(let reason): return place.tell(EndReason(.removed, reason))
                    case .active: report(false, isPublisherInterrupted, .publisherInterrupted, .publisherResumed)
                    case .inactive: report(true, isPublisherInterrupted, .publisherInterrupted, .publisherResumed)
                    case .paused: report(true, isBroadcastPaused, .broadcastPaused, .broadcastResumed)
                    case .resumed: report(false, isBroadcastPaused, .broadcastPaused, .broadcastResumed)
                    case .viewerCount(let count): emit(.viewerCount(count))
                    case .recorderCount(let count): emit(.recorderCount(count))
                    case .candidates(let text):
                        guard let fragment = try? TrickleFragment.parse(text) else { break }
                        await core.ifRunning { $0.add(fragment) }
                    case .alternates(let alternates):
                        // A host with a tunnel sends none: the relay that passes its events would have made them up.
                        if followsAlternates, link.relay == nil { relays.with { $0.note(alternates.links(of: link)) } }
                    case .reconnect(let redirect?): follow(redirect, at: link)
                    case .reconnect(nil):
                        if !relays.with({ $0.isEmpty }) { place.outcome.fulfil(.movesOn) }
                    case .returnToHost: returnToHost(from: link)
                    case .layers(let found): emit(.layers(found.layers))
                    case .other: break
                    }
                }
            } catch {
                let hostMayBeGone = backoff.noteFailure(isRefusal: isRefusal(error))
                if hostMayBeGone {
                    let reason = hasGone(link)
                    await core.ifRunning { if $0.outcome === place.outcome { $0.eventStreamRefused(reason) } }
                }
            }
            // Media may continue without the event stream.
            try? await Task.sleep(for: Duration(backoff.pause))
        }
    }

    /// The host repeats its state on each new stream, so only changes are reported.
    private func report(_ state: Bool, _ last: Monitor<Bool>, _ begin: ViewerEvent, _ end: ViewerEvent) {
        let isNew = last.with { last in
            defer { last = state }
            return last != state
        }
        if isNew { emit(state ? begin : end) }
    }

    /// Waits for the host's own reason if the session ended because the host closed the media: the reason comes on
    /// another connection, and may be later.
    func told(_ reason: EndReason, at place: PlaceOutcomes) async -> EndReason {
        guard reason == .hostClosed else { return reason }
        let deadline = Task {
            if (try? await Task.sleep(for: Self.reasonTimeout)) != nil { place.told.fulfil(reason) }
        }
        defer { deadline.cancel() }
        return await place.told.value
    }

    private static let reasonTimeout = Duration.milliseconds(500)

    /// Performs the signalling requests of `OutageRecovery`, one after the other.
    func recover(
        _ client: SignalingClient, at link: Link, _ requests: AsyncStream<Subscription.RecoveryRequest>
    ) async {
        for await request in requests {
            switch request {
            case .attempt(let attempt, let timeout):
                let (result, reason) = await attempted(attempt, client, link, Duration(timeout))
                let gone = hasGone(link)
                await core.ifRunning { session in
                    session.attemptEnded(result) { $0 == .hostIsGone ? gone : reason }
                }
            case .closeConnections: await client.closeConnections()
            }
        }
    }

    /// - Returns: how the attempt ended, and the reason for the session's end if no other attempt can follow.
    private func attempted(
        _ attempt: ReconnectionPolicy.Attempt, _ client: SignalingClient, _ link: Link, _ timeout: Duration
    ) async -> (OutageRecovery.AttemptResult, EndReason) {
        do {
            switch attempt {
            case .iceRestart: try await restart(client, timeout)
            case .newSession: try await rejoin(client, link, timeout)
            }
            return (.answered, .hostIsSilent)
        } catch let reason as EndReason {
            return (OutageRecovery.AttemptResult(reason), reason)
        } catch let error as SignalingError {
            return (OutageRecovery.AttemptResult(error), EndReason(error))
        } catch {
            return (.failed, .hostIsSilent)
        }
    }

    /// Restarts ICE: sends new credentials and this machine's current addresses in a PATCH.
    private func restart(_ client: SignalingClient, _ timeout: Duration) async throws {
        // Another place may have the connection now.
        try Task.checkCancellation()
        guard await core.ifRunning({ $0.restart() }) == true else { throw NoAddress() }
        let found = await core.gathered()
        guard let credentials = found.credentials else { throw NoAddress() }
        let offer = found.batch.fragment(credentials, mid: "0")
        let text = try await client.restart(offer.serialised, timeout: timeout).fragment
        let answer = try TrickleFragment.parse(text)
        guard let remote = answer.credentials else { throw NoAddress() }
        await core.ifRunning { $0.applyRestartAnswer(remote, answer.candidates, ended: answer.endsCandidates) }
        if !found.isComplete { Task { await trickleRest(client, credentials) } }
    }

    /// Opens another session with the first session's token, which is valid for this certificate as long as the host
    /// runs.
    private func rejoin(_ client: SignalingClient, _ link: Link, _ timeout: Duration) async throws {
        try Task.checkCancellation()
        guard let admission = admission.with({ $0 }) else { throw NoAddress() }
        try await prepare(admission.servers, at: link)
        let found = try await offer(client, at: link, admission.token, timeout: timeout)
        if !found.isComplete, let credentials = found.credentials {
            Task { await trickleRest(client, credentials) }
        }
    }

    /// Gets the credentials of the host's TURN servers anew before they expire, for restarts and sessions that come.
    /// - Parameter place: the present one. What comes late does not concern the session at the next place.
    func renewServers(_ client: SignalingClient, at place: PlaceOutcomes) async {
        let core = core
        guard let resolver = servers.with({ $0 }) else { return }
        await ICEServerRenewal.renew(
            resolver.granted, fetch: { try await client.iceServers() },
            use: { granted in
                resolver.use(granted: granted)
                let addresses = await resolver.addresses()
                guard !Task.isCancelled, self.use(addresses, of: resolver, at: place) else { return }
                await core.ifRunning { if $0.outcome === place.outcome { $0.use(addresses) } }
            })
    }

    /// Notes addresses for sessions that come.
    /// - Returns: false if the session has gone on at another place, or with another resolver.
    func use(
        _ addresses: ICEServerResolver.Addresses, of resolver: ICEServerResolver, at place: PlaceOutcomes
    ) -> Bool {
        // `arrive` replaces the admission after the resolver, so the successor's admission is not written to.
        servers.with { servers in
            guard servers === resolver, outcome === place.outcome else { return false }
            admission.with { $0?.servers = addresses }
            return true
        }
    }

    private struct NoAddress: Error {}

    private func isRefusal(_ error: any Error) -> Bool {
        guard let error = error as? SignalingError else { return false }
        return error.code == .connectionRefused || error.code == .gone
    }

    private func hasGone(_ link: Link) -> EndReason {
        EndReason(.connectionLost, "the host has gone: nothing answers at \(link.authority) any more")
    }
}

extension OutageRecovery.AttemptResult {
    /// The result of an ICE restart.
    fileprivate init(_ error: SignalingError) {
        switch error.code {
        case .gone: self = .gone
        case .offerRefused, .unsupportedCodec: self = .offerRefused
        case .connectionRefused: self = .connectionRefused
        case .refused: self = .notAdmitted
        default: self = .failed
        }
    }

    /// The result of a new session.
    fileprivate init(_ reason: EndReason) {
        switch reason.code {
        case .hostEnded: self = .gone
        case .refused: self = .notAdmitted
        default: self = .failed
        }
    }
}

extension Duration {
    fileprivate init(_ duration: MediaDuration) { self = .nanoseconds(duration.nanoseconds) }
}
