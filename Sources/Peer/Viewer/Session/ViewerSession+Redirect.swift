import Admission
import EventLoop
import HTTP
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import PeerConnection
import SessionDescription
import Signaling

/// Goes on at another server when the host says so, and comes back when the host says so or that fails. The former session
/// goes on until the next one has a frame (make-before-break).
extension ViewerSession {
    /// A session at another server that has got the sink, or is about to.
    struct PendingConnection: Sendable {
        let link: Link
        let client: SignalingClient
        let core: LoopBound<Subscription>
        let outcome: OneShot<EndReason>
        let admission: Admission
        let servers: ICEServerResolver
        /// Of its knock.
        let origin: KnockOrigin?
    }

    struct Redirection: Sendable {
        fileprivate var task: Task<Bool, Never>?
        fileprivate var arrival: PendingConnection?
        fileprivate var isOver = false
        /// How often the viewer has come back from elsewhere.
        fileprivate var returns = 0
        /// Of the last accepted knock at the host; nil before it.
        fileprivate var knock: KnockOrigin?
        /// The age of the last order that was followed since that knock.
        fileprivate var followed: Int?

        /// - Parameter knock: the one at the host.
        fileprivate mutating func noteReturn(_ knock: KnockOrigin?) {
            returns += 1
            noteKnock(knock)
        }

        var hasArrived: Bool { arrival != nil }
        var hasReturned: Bool { returns > 0 }

        mutating func takeArrival() -> PendingConnection? {
            defer { arrival = nil }
            return arrival
        }

        /// Notes that the host has accepted a knock, to which its orders refer from now on.
        mutating func noteKnock(_ knock: KnockOrigin?) { (self.knock, followed) = (knock, nil) }
    }

    private static let attempts = 5
    /// How long a session at another server may take, from the knock to its first frame.
    private static let timeLimit = Duration.seconds(10)
    /// Beyond that, the viewer stays.
    private static let returnLimit = 3

    /// Follows the host's order to watch elsewhere, if it is the host's and this viewer is at the host.
    func follow(_ redirect: SignedRedirect, at link: Link) {
        guard let sinks, let destination = destination(of: redirect, at: link) else { return }
        begin(redirect) { await $0.goOn(at: destination, sinks) }
    }

    /// Goes back to the host, which is about to end its publication at the relay where this viewer is.
    func returnToHost(from place: Link) {
        guard let sinks else { return onReturn.with { $0 }?() ?? () }
        guard place != link, !hasLeft.with({ $0 }) else { return }
        begin(nil) { await $0.goOn(at: $0.link, sinks) }
    }

    /// Ends the attempt to go back while the session at the relay went on.
    /// - Returns: the session at the host, if it has got the sink meanwhile.
    func endReturn() async -> PendingConnection? {
        let task = redirection.with { $0.task }
        task?.cancel()
        _ = await task?.value
        return redirection.with { $0.takeArrival() }
    }

    /// - Returns: where an order sends this viewer; nil if it is not to be followed.
    private func destination(of redirect: SignedRedirect, at link: Link) -> Link? {
        guard link == self.link, !hasLeft.with({ $0 }) else { return nil }
        let (knock, last) = redirection.with { ($0.knock, $0.followed) }
        guard let knock,
            let found = redirect.destination(from: link, viewer: identity.fingerprint, knock: knock, after: last),
            found != link
        else { return nil }
        return found
    }

    /// Begins to go elsewhere, unless the viewer is on its way already, has come back too often, or leaves.
    /// - Parameter redirect: the order that it follows; nil: it goes back to the host.
    @discardableResult
    private func begin(
        _ redirect: SignedRedirect?, _ go: @escaping @Sendable (ViewerSession) async -> Bool
    ) -> Task<Bool, Never>? {
        redirection.with { redirection in
            guard !redirection.isOver, redirection.task == nil, redirection.arrival == nil,
                redirection.returns < Self.returnLimit
            else { return nil }
            if let redirect { redirection.followed = redirect.age }
            redirection.task = Task {
                let hasArrived = await go(self)
                self.redirection.with { $0.task = nil }
                return hasArrived
            }
            return redirection.task
        }
    }

    /// Goes where the host has sent this viewer with its admission. Without success the viewer watches at the host.
    func followInitialRedirect(_ client: SignalingClient, at link: Link) async -> Bool {
        guard let sinks, redirection.with({ $0.returns == 0 }), let redirect = await client.redirect,
            let destination = destination(of: redirect, at: link)
        else { return false }
        let going = begin(redirect) { session in
            guard let failure = await session.tryOnce(destination, sinks) else { return true }
            session.tellFailure(failure, at: destination)
            return false
        }
        return await going?.value ?? false
    }

    /// Tries a few times. Others may go there at the same time, and a server asks about two of an address at once.
    private func goOn(at link: Link, _ sinks: SinkHandover) async -> Bool {
        for attempt in 1...Self.attempts {
            guard let failure = await tryOnce(link, sinks) else { return true }
            guard !Task.isCancelled, attempt < Self.attempts else {
                tellFailure(failure, at: link)
                break
            }
            let pause = Duration.milliseconds(Int.random(in: 500...1_500) * attempt)
            guard (try? await Task.sleep(for: pause)) != nil else { break }
        }
        return false
    }

    private func tellFailure(_ failure: EndReason, at link: Link) {
        guard failure.code != .stopped else { return }
        emit(.notice(.viewing(.redirectFailed(relay: link == self.link ? nil : link.authority, failure))))
    }

    /// - Returns: nil if the session there has got the sink, else why not.
    private func tryOnce(_ link: Link, _ sinks: SinkHandover) async -> EndReason? {
        let client: SignalingClient
        do throws(SignalingError) {
            client = try makeClient(link)
        } catch {
            return EndReason(error)
        }
        let (first, outcome) = (OneShot<EndReason>(), OneShot<EndReason>())
        let arriving = Monitor<PendingConnection?>(nil)
        let made = await makeCore(sinks, outcome) { [weak self] in
            if let self, let successor = arriving.with({ $0 }) { arrive(successor) }
            first.fulfil(.redirected)
        }
        guard let (core, input) = made else {
            await client.close()
            return .redirectionEnded
        }
        let ticket = Monitor<KnockTicket?>(nil)
        let joining = Task {
            do throws(EndReason) {
                let (admission, servers) = try await admitted(by: client, at: link, ticket)
                let origin = await client.origin
                arriving.with {
                    $0 = PendingConnection(
                        link: link, client: client, core: core, outcome: outcome, admission: admission,
                        servers: servers, origin: origin)
                }
                try await prepare(admission.servers, at: link, core)
                let found = try await offer(client, at: link, admission.token, timeout: nil, core)
                if !found.isComplete, let credentials = found.credentials {
                    Task { await trickleRest(client, credentials, core) }
                }
            } catch {
                first.fulfil(error)
            }
        }
        let ending = Task { first.fulfil(await outcome.value) }
        let deadline = Task { if (try? await Task.sleep(for: Self.timeLimit)) != nil { first.fulfil(.noFrame) } }
        let reason = await withTaskCancellationHandler {
            await first.value
        } onCancel: {
            first.fulfil(.redirectionEnded)
        }
        deadline.cancel()
        // Its first frame may have come at the same time.
        guard reason != .redirected, await core.ifRunning({ _ in input.withdraw() }) ?? true else { return nil }
        outcome.fulfil(reason)
        await ending.value
        await core.performAndWait { $0.close($1) }
        // A server that does not answer holds up nobody.
        Task.detached {
            joining.cancel()
            await joining.value
            if let ticket = ticket.with({ $0 }) { await client.withdraw(ticket) }
            await client.leave()
            await client.close()
        }
        return reason
    }

    /// Knocks at another server, which asks the host, and the host knows this viewer.
    /// - Parameter pending: has the knock until it is answered.
    private func admitted(
        by client: SignalingClient, at link: Link, _ pending: Monitor<KnockTicket?>
    ) async throws(EndReason) -> (Admission, ICEServerResolver) {
        do throws(SignalingError) {
            let ticket = try await client.knock(
                name: name, identity: identity, records: records, codecs: capabilities.videoCodecs)
            pending.with { $0 = ticket }
            let answer = try await client.waitForAnswer(ticket)
            pending.with { $0 = nil }
            guard case .accepted(let token, let servers) = answer else {
                throw SignalingError(.refused, "not admitted")
            }
            let resolver = ICEServerResolver(
                ownServers, granted: GrantedServers(servers, by: link.host), attempts: serverAttempts)
            let addresses = await resolver.addresses(limit: .milliseconds(1_500))
            return (Admission(token: token, servers: addresses, pass: await client.pass), resolver)
        } catch {
            throw EndReason(error)
        }
    }

    /// Makes the connection of a session that gets the sink with its first frame; nil at the end of this session.
    private func makeCore(
        _ sinks: SinkHandover, _ outcome: OneShot<EndReason>, onTakeover: @escaping @Sendable () -> Void
    ) async -> (core: LoopBound<Subscription>, input: SinkInput)? {
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
            return (LoopBound(loop, made), input)
        }
    }

    /// Makes a session that has got the sink the present one; the former ends.
    private func arrive(_ successor: PendingConnection) {
        let former = outcome
        let formerCore = core
        let isHome = successor.link == link
        redirection.with { redirection in
            redirection.arrival = successor
            if isHome { redirection.noteReturn(successor.origin) }
        }
        outcomes.with { $0 = PlaceOutcomes(outcome: successor.outcome) }
        current.with { $0 = successor.core }
        // In this order: see `use(_:of:at:)`.
        servers.with { $0 = successor.servers }
        admission.with { $0 = successor.admission }
        relays.with { $0 = Relays() }
        if hasLeft.with({ $0 }) { successor.outcome.fulfil(EndReason(.stopped, "you left")) }
        emit(.notice(.viewing(.redirected(relay: isHome ? nil : successor.link.authority))))
        formerCore.perform { $0.close {} }
        former.fulfil(.redirected)
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
        if reason.code != .hostEnded { emit(.notice(.viewing(.returningToHost(reason)))) }
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
    fileprivate static let noFrame = EndReason(.connectionLost, "no frame came within 10 s")
    /// The viewer's session ends.
    fileprivate static let redirectionEnded = EndReason(.stopped, "the session is over")
}
