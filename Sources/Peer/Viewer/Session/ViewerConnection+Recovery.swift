import EventLoop
import HTTP
import Identifiers
import LinuxRuntime
import MediaCore
import PeerConnection
import PeerEngine
import SessionDescription
import Signaling
import Synchronization

/// Keeps a connection: reads the event stream and opens it anew, renews credentials, and in an outage restarts ICE on
/// the networks that the machine has now or opens a new session with the same token, without a knock.
extension ViewerConnection {
    func listen() {
        state.withLock { state in
            guard !state.isOver, state.listening == nil else { return }
            state.listening = Task {
                async let events: Void = readEvents()
                async let servers: Void = renewServers()
                _ = await (events, servers)
            }
        }
    }

    /// Receives the host's events. An `ended` event gives a better reason for the end than the silence that follows it.
    private func readEvents() async {
        guard let client = try? client() else { return }
        var backoff = EventStreamBackoff()
        while !Task.isCancelled {
            do {
                let events = try await client.events(timeout: backoff.timeout.map { Duration($0) })
                backoff.noteOpen()
                for try await event in events {
                    for opened in session.opened(event) { await session.handle(opened, of: self) }
                }
            } catch {
                if backoff.noteFailure(isRefusal: isRefusal(error)) {
                    await media.ifRunning { [number, hostHasGone] in $0.eventStreamRefused(hostHasGone, of: number) }
                }
            }
            // Media may continue without the event stream.
            try? await Task.sleep(for: Duration(backoff.pause))
        }
    }

    func addCandidates(_ text: String) async {
        guard let fragment = try? TrickleFragment.parse(text) else { return }
        await state.withLock { $0.peer }?.ifRunning { $0.add(fragment) }
    }

    /// Gets the credentials of the host's TURN servers anew before they expire, for restarts and sessions that come.
    private func renewServers() async {
        guard let client = try? client(), let preparation = state.withLock({ $0.preparation }) else { return }
        await ICEServerRenewal.renew(
            preparation.granted, fetch: { try await client.iceServers() },
            use: { granted in
                preparation.use(granted: granted)
                let addresses = await preparation.addresses()
                guard !Task.isCancelled else { return }
                self.use(addresses)
            })
    }

    /// Notes addresses for sessions and restarts that come, unless the connection has ended.
    func use(_ addresses: ICEServerPreparation.Addresses) {
        state.withLock { state in
            guard !state.isOver else { return }
            state.addresses = addresses
            state.peer?.perform { $0.path.use(addresses) }
        }
    }

    // MARK: Outages

    /// - Returns: how the attempt ended, and the reason for the session's end if no other attempt can follow.
    func attempted(_ attempt: ReconnectionPolicy.Attempt, _ timeout: Duration) async -> Session.Result {
        do {
            switch attempt {
            case .iceRestart: try await restart(timeout)
            case .newSession:
                // Its media may be another connection's already.
                try Task.checkCancellation()
                try await makeOffer()
                try await sendOffer(timeout: timeout)
            }
            return .attempted(.answered, ViewerFailure(.hostIsSilent))
        } catch let failure as ViewerFailure {
            return .attempted(OutageRecovery.AttemptResult(failure.reason), failure)
        } catch let error as SignalingError {
            return .attempted(OutageRecovery.AttemptResult(error), ViewerFailure(error))
        } catch {
            return .attempted(.failed, ViewerFailure(.hostIsSilent))
        }
    }

    /// Restarts ICE: sends new credentials and this machine's current addresses in a PATCH.
    private func restart(_ timeout: Duration) async throws {
        try Task.checkCancellation()
        guard let peer = state.withLock({ $0.peer }), await peer.ifRunning({ $0.restart() }) == true else {
            throw NoAddress()
        }
        let found = await peer.receiverCandidates()
        guard let credentials = found.credentials else { throw NoAddress() }
        let offer = found.batch.fragment(credentials, mid: "0")
        let text = try await client().restart(offer.serialised, timeout: timeout).fragment
        let answer = try TrickleFragment.parse(text)
        guard let remote = answer.credentials else { throw NoAddress() }
        await peer.ifRunning { $0.begin(remote, mid: "0", answer.candidates, ended: answer.endsCandidates) }
        trickleRest(of: found)
    }

    /// - Parameter reason: for the end of the media, if no other attempt can follow.
    func noteAttempt(_ result: OutageRecovery.AttemptResult, _ reason: EndReason) {
        media.perform { [number, hostHasGone] media in
            media.attemptEnded(result, of: number) { $0 == .hostIsGone ? hostHasGone : reason }
        }
    }

    /// Closes the connections from before an outage.
    func closeConnections() { Task { try? await client().closeConnections() } }

    private struct NoAddress: Error {}

    private func isRefusal(_ error: any Error) -> Bool {
        guard let error = error as? SignalingError else { return false }
        return error.code == .connectionRefused || error.code == .gone
    }

    private var hostHasGone: EndReason {
        EndReason(.connectionLost, "the host has gone: nothing answers at \(link.authority) any more")
    }
}

extension Duration {
    init(_ duration: MediaDuration) { self = .nanoseconds(duration.nanoseconds) }
}
