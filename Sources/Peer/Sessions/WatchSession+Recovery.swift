import Admission
import EventLoop
import ICETransport
import LinuxRuntime
import MediaCore
import PeerEngine
import Receiving
import SessionDescription
import Signaling
import Transport

/// Through an outage: the event stream is opened again and again, ICE restarted on whatever network there is, and if
/// the host has no such session any more, the token opens another, without a knock.
extension WatchSession {
    /// The host's own words about the end are better than the silence that follows it.
    func listen(_ client: SignalingClient) async {
        var backoff = EventStreamBackoff()
        while !Task.isCancelled {
            do {
                let events = try await client.events(patience: backoff.patience.map { Duration($0) })
                backoff.noteOpen()
                for try await event in events {
                    switch event {
                    case .ended(let reason): return outcome.settle(EndReason(.hostEnded, reason))
                    case .viewerCount(let count): emit(.viewerCount(count))
                    case .candidates(let text):
                        guard let fragment = try? TrickleFragment.parse(text) else { break }
                        await core.ifRunning { $0.add(fragment) }
                    case .other: break
                    }
                }
            } catch {
                let hostMayBeGone = backoff.noteFailure(isRefusal: isRefusal(error))
                if hostMayBeGone, await isSilent() { return outcome.settle(hostHasGone) }
            }
            // Media may go on without the event stream; a host that lives has it back soon.
            try? await Task.sleep(for: Duration(backoff.pause))
        }
    }

    /// Tries to get through to the host until it is heard again. The connection ends the session after 30 s.
    func recover(_ client: SignalingClient) async {
        var policy = ReconnectionPolicy()
        while !Task.isCancelled, await outage() != nil {
            let addresses = ICEAgent.localInterfaceAddresses()
            var step = policy.begin()
            while case .attempt(let attempt, let patience) = step {
                let result = await attempted(attempt, client, Duration(patience))
                switch result {
                case .success(let outcome): step = policy.finish(attempt, outcome)
                case .failure(let reason): return outcome.settle(reason)
                }
            }
            switch step {
            case .hostIsGone: return outcome.settle(hostHasGone)
            case .wait(let time, true):
                policy.noteNoMedia(addressesChanged: await pause(Duration(time), addresses))
            case .wait(let time, false): _ = await pause(Duration(time), nil)
            case .attempt: break
            }
        }
        await core.ifRunning { $0.dropUnansweredRestart() }
        // The connections from before may be dead without knowing it.
        await client.closeConnections()
    }

    /// - Returns: how the attempt ended, or why the session is over.
    private func attempted(
        _ attempt: ReconnectionPolicy.Attempt, _ client: SignalingClient, _ patience: Duration
    ) async -> Result<ReconnectionPolicy.Outcome, EndReason> {
        do {
            switch attempt {
            case .iceRestart: try await restart(client, patience)
            case .newSession: try await rejoin(client, patience)
            }
            return .success(.answered)
        } catch let reason as EndReason where reason.code == .hostEnded || reason.code == .refused {
            return .failure(reason)
        } catch let error as SignalingError
            where attempt == .iceRestart && (error.code == .gone || error.code == .offerRefused)
        {
            return .success(.noSuchSession)
        } catch {
            return .success(isRefusal(error) ? .refused : .failed)
        }
    }

    /// New credentials and the addresses that this machine has now, for a PATCH.
    private func restart(_ client: SignalingClient, _ patience: Duration) async throws {
        guard await core.ifRunning({ $0.restart() }) == true else { throw NoAddress() }
        let found = await core.gathered()
        guard let credentials = found.credentials else { throw NoAddress() }
        let offer = TrickleFragment(
            credentials: credentials, mid: "0", candidates: CandidateList(found.candidates),
            endsCandidates: found.isComplete)
        let text = try await client.restart(offer.serialised, patience: patience).fragment
        let answer = try TrickleFragment.parse(text)
        guard let remote = answer.credentials else { throw NoAddress() }
        await core.ifRunning { $0.resume(remote, answer.candidates, ended: answer.endsCandidates) }
        if !found.isComplete { Task { await trickleRest(client, credentials, sent: found.candidates.count) } }
    }

    /// Another session with the token of the first one, which is good for this certificate as long as the host runs.
    private func rejoin(_ client: SignalingClient, _ patience: Duration) async throws {
        guard let admission = admission.with({ $0 }) else { throw NoAddress() }
        try await prepare(admission.servers)
        let found = try await offer(client, admission.token, patience: patience)
        if !found.isComplete, let credentials = found.credentials {
            Task { await trickleRest(client, credentials, sent: found.candidates.count) }
        }
    }

    private struct NoAddress: Error {}

    /// Until the host is heard, or this machine's addresses are others, or the time is over.
    /// - Returns: whether the addresses are others.
    private func pause(_ limit: Duration, _ addresses: [String]?) async -> Bool {
        let deadline = ContinuousClock.now + limit
        while !Task.isCancelled, ContinuousClock.now < deadline, await outage() != nil {
            if let addresses, ICEAgent.localInterfaceAddresses() != addresses { return true }
            try? await Task.sleep(for: .milliseconds(100))
        }
        return false
    }

    private func outage() async -> MediaDuration? { await core.ifRunning { $0.outage } ?? nil }

    private func isSilent() async -> Bool { await core.ifRunning { $0.isSilent } ?? false }

    private func isRefusal(_ error: any Error) -> Bool {
        guard let error = error as? SignalingError else { return false }
        return error.code == .connectionRefused || error.code == .gone
    }

    private var hostHasGone: EndReason {
        EndReason(.connectionLost, "the host has gone: nothing answers at \(link.authority) any more")
    }
}

extension Duration {
    fileprivate init(_ duration: MediaDuration) { self = .nanoseconds(duration.nanoseconds) }
}
