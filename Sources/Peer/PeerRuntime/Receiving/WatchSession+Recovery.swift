import ICETransport
import MediaCore
import SessionDescription
import Signaling

/// Through an outage: the event stream is opened again and again, ICE restarted on whatever network there is, and if the
/// host has no such session any more, the token opens another, without a knock.
extension WatchSession {
    /// So many refusals in a row say that the host's program has gone, if no media comes either.
    private static let refusalLimit = 3
    private static let refusalInterval = Duration.milliseconds(400)

    /// The host's own words about the end are better than the silence that follows it.
    func listen(_ client: SignalingClient) async {
        var failures = 0
        var refusals = 0
        while !Task.isCancelled {
            do {
                let events = try await client.events(patience: failures == 0 ? nil : .seconds(2))
                failures = 0
                refusals = 0
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
                failures += 1
                refusals = isRefusal(error) ? refusals + 1 : 0
                if refusals >= Self.refusalLimit, await isSilent() { return outcome.settle(hostHasGone) }
            }
            // Media may go on without the event stream; a host that lives has it back soon.
            let pause =
                refusals > 0 && refusals <= Self.refusalLimit
                ? Self.refusalInterval : .milliseconds(min(200 << min(failures, 4), 2_000))
            try? await Task.sleep(for: pause)
        }
    }

    /// Tries to get through to the host until it is heard again. The connection ends the session after 30 s.
    func recover(_ client: SignalingClient) async {
        var attempts = 0
        var refusals = 0
        var canRestart = true
        while !Task.isCancelled, await outage() != nil {
            attempts += 1
            let patience = Duration.seconds(attempts <= 4 ? 2 : 3)
            do {
                let addresses = ICEAgent.machineAddresses()
                if canRestart {
                    do {
                        try await restart(client, patience)
                    } catch let error as SignalingError where error.code == .gone || error.code == .offerRefused {
                        // No such session, or a server that knows no restart: another session.
                        canRestart = false
                        try await rejoin(client, patience)
                    }
                } else {
                    try await rejoin(client, patience)
                }
                refusals = 0
                let hasMoved = await pause(.seconds(canRestart ? 3 : 4), addresses)
                // One that led nowhere will not lead anywhere the next time, unless from elsewhere.
                canRestart = canRestart && hasMoved
            } catch let reason as EndReason where reason.code == .hostEnded || reason.code == .refused {
                return outcome.settle(reason)
            } catch {
                refusals = isRefusal(error) ? refusals + 1 : 0
                if refusals >= Self.refusalLimit { return outcome.settle(hostHasGone) }
                _ = await pause(Self.refusalInterval, nil)
            }
        }
        await core.ifRunning { $0.dropUnansweredRestart() }
        // The connections from before may be dead without knowing it.
        await client.hangUp()
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
            if let addresses, ICEAgent.machineAddresses() != addresses { return true }
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
