import Admission
import EventLoop
import ICEServers
import LinuxRuntime
import MediaCore
import Receiving
import SessionDescription
import Signaling
import Transport

/// Goes on at another server when the host says so, and comes back when that fails. The former session goes on until the
/// next one has a frame (make-before-break).
extension ViewerSession {
    /// A session at another server that has got the sink, or is about to.
    struct Successor: Sendable {
        let link: Link
        let client: SignalingClient
        let core: LoopBound<Subscription>
        let outcome: Outcome
        let admission: Admission
        let servers: ICEServerResolver
    }

    struct Redirection: Sendable {
        fileprivate var task: Task<Bool, Never>?
        fileprivate var arrival: Successor?
        fileprivate var isOver = false
        /// How often the viewer has come back from elsewhere.
        fileprivate var returns = 0

        var hasArrived: Bool { arrival != nil }
        var hasReturned: Bool { returns > 0 }

        mutating func takeArrival() -> Successor? {
            defer { arrival = nil }
            return arrival
        }
    }

    private static let attempts = 5
    /// How long a session at another server may take until its first frame.
    private static let timeLimit = Duration.seconds(10)
    /// Beyond that, the viewer stays.
    private static let returnLimit = 3

    /// Follows the host's order to watch elsewhere, if it is the host's and this viewer is at the host.
    func follow(_ redirect: SignedRedirect, at link: Link) {
        guard let sinks, link == self.link, !hasLeft.with({ $0 }),
            let destination = redirect.destination(from: self.link, viewer: identity.fingerprint), destination != link
        else { return }
        begin { await $0.goOn(at: destination, sinks) }
    }

    /// Begins to go elsewhere, unless the viewer is on its way already, has come back too often, or leaves.
    @discardableResult
    private func begin(_ go: @escaping @Sendable (ViewerSession) async -> Bool) -> Task<Bool, Never>? {
        redirection.with { redirection in
            guard !redirection.isOver, redirection.task == nil, redirection.arrival == nil,
                redirection.returns < Self.returnLimit
            else { return nil }
            redirection.task = Task {
                let hasArrived = await go(self)
                self.redirection.with { $0.task = nil }
                return hasArrived
            }
            return redirection.task
        }
    }

    /// Goes where the host has sent this viewer with its admission. Without success the viewer watches at the host.
    func goesOnAtOnce(_ client: SignalingClient, at link: Link) async -> Bool {
        guard let sinks, link == self.link, redirection.with({ $0.returns == 0 }), let redirect = await client.redirect,
            let destination = redirect.destination(from: self.link, viewer: identity.fingerprint), destination != link
        else { return false }
        return await begin { await $0.tryOnce(destination, sinks) }?.value ?? false
    }

    /// Tries a few times. Others may go there at the same time, and a server asks about two of an address at once.
    private func goOn(at link: Link, _ sinks: SinkHandover) async -> Bool {
        for attempt in 1...Self.attempts {
            if await tryOnce(link, sinks) { return true }
            let pause = Duration.milliseconds(Int.random(in: 500...1_500) * attempt)
            guard (try? await Task.sleep(for: pause)) != nil else { return false }
        }
        return false
    }

    /// - Returns: whether the session there has got the sink.
    private func tryOnce(_ link: Link, _ sinks: SinkHandover) async -> Bool {
        guard let client = try? makeClient(link) else { return false }
        let (first, outcome) = (Outcome(), Outcome())
        let arriving = Monitor<Successor?>(nil)
        let made = await makeCore(sinks, outcome) { [weak self] in
            if let self, let successor = arriving.with({ $0 }) { arrive(successor) }
            first.settle(.redirected)
        }
        guard let core = made else {
            await client.close()
            return false
        }
        do throws(EndReason) {
            let (admission, servers) = try await admitted(by: client)
            arriving.with {
                $0 = Successor(
                    link: link, client: client, core: core, outcome: outcome, admission: admission, servers: servers)
            }
            try await prepare(admission.servers, at: link, core)
            let found = try await offer(client, at: link, admission.token, timeout: nil, core)
            if !found.isComplete, let credentials = found.credentials {
                Task { await trickleRest(client, credentials, core) }
            }
        } catch {
            first.settle(error)
        }
        let waiting = [
            Task { first.settle(await outcome.wait()) },
            Task { if (try? await Task.sleep(for: Self.timeLimit)) != nil { first.settle(.hostIsSilent) } },
        ]
        let reason = await withTaskCancellationHandler {
            await first.wait()
        } onCancel: {
            first.settle(.redirectionEnded)
        }
        waiting[1].cancel()
        guard reason != .redirected else { return true }
        outcome.settle(reason)
        await core.performAndWait { $0.close($1) }
        await client.leave()
        await client.close()
        return false
    }

    /// Knocks at another server, which asks the host, and the host knows this viewer.
    private func admitted(by client: SignalingClient) async throws(EndReason) -> (Admission, ICEServerResolver) {
        do throws(SignalingError) {
            let ticket = try await client.knock(name: name, identity: identity, records: records)
            guard case .accepted(let token, let servers) = try await client.waitForAnswer(ticket) else {
                throw SignalingError(.refused, "not admitted")
            }
            let resolver = ICEServerResolver(ownServers + servers)
            let addresses = await resolver.addresses(limit: .milliseconds(1_500))
            return (Admission(token: token, servers: addresses, pass: await client.pass), resolver)
        } catch {
            throw EndReason(error)
        }
    }

    /// Makes the connection of a session that gets the sink with its first frame; nil at the end of this session.
    private func makeCore(
        _ sinks: SinkHandover, _ outcome: Outcome, onTakeover: @escaping @Sendable () -> Void
    ) async -> LoopBound<Subscription>? {
        let (relays, outcomes, requests, isOneOfMany) = (relays, outcomes, recoveryRequests, isOneOfMany)
        let (loop, emit) = (loop, emit)
        return await core.ifRunning { _ in
            let path = Monitor("")
            let input = sinks.makeInput(loop) {
                onTakeover()
                emit(.connected(path: path.with { $0 }))
            }
            let made = Subscription(
                loop: loop, sink: input,
                emit: { event in
                    guard input.isActive else {
                        if case .connected(let found) = event { path.with { $0 = found } }
                        return
                    }
                    Self.follow(event, relays, outcomes.with { $0.outcome })
                    emit(event)
                }, outcome: outcome,
                request: { request in if input.isActive { _ = requests.with { $0 }?.yield(request) } })
            if isOneOfMany { made.packetCapacity = 256 }
            return LoopBound(loop, made)
        }
    }

    /// Makes a session that has got the sink the present one; the former ends.
    private func arrive(_ successor: Successor) {
        let former = outcome
        let formerCore = core
        redirection.with { $0.arrival = successor }
        outcomes.with { $0 = (successor.outcome, Outcome()) }
        current.with { $0 = successor.core }
        admission.with { $0 = successor.admission }
        servers.with { $0 = successor.servers }
        relays.with { $0 = Relays() }
        if hasLeft.with({ $0 }) { successor.outcome.settle(EndReason(.stopped, "you left")) }
        emit(.warning("the host sends over the relay at \(successor.link.authority) from now on"))
        formerCore.perform { $0.close {} }
        former.settle(.redirected)
    }

    /// - Returns: the host's own link, if the viewer may come back to it from elsewhere.
    func home(after reason: EndReason) -> Link? {
        guard reason.code != .removed, reason.code != .stopped, !hasLeft.with({ $0 }) else { return nil }
        redirection.with { $0.returns += 1 }
        admission.with { $0 = nil }
        relays.with { relays in
            relays = Relays()
            relays.formerEnd = reason
        }
        if reason.code != .hostEnded { emit(.warning("\(reason.sentence): going back to the host")) }
        return link
    }

    /// Gives up what was begun.
    func endRedirection() async {
        let task = redirection.with { redirection in
            redirection.isOver = true
            return redirection.task
        }
        task?.cancel()
        _ = await task?.value
        // One that has arrived in the last moment.
        guard let arrival = redirection.with({ $0.takeArrival() }) else { return }
        await arrival.client.leave()
        await arrival.client.close()
    }
}

extension EndReason {
    /// The former session ends because the next one has the sink.
    fileprivate static let redirected = EndReason(.connectionLost, "the host sends over another server")
    /// The viewer's session ends.
    fileprivate static let redirectionEnded = EndReason(.stopped, "the session is over")
}
