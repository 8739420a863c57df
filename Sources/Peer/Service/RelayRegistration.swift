import Admission
import HTTP
import Host
import ICETransport
import Identifiers
import Identity
import PeerConnection
import Signaling

/// Keeps a service reachable over a relay: pairs with the relay, opens the tunnel, and does both again when the relay
/// has forgotten it. Nobody is asked here: whoever starts the service has named the relay.
///
/// Call `pair`, `open` while the lease lasts, and `stop` at the end.
actor RelayRegistration {
    private let relay: ServiceLink
    private let service: ServiceDescription
    private let identity: Identity
    private let fingerprint: [UInt8]
    private let secret: [UInt8]?
    private let emit: @Sendable (ServiceSessionEvent) -> Void
    private var paired: PairedService?
    private var tunnel: TunnelClient?
    /// Of the relay's STUN and TURN servers.
    private let serverRenewal: ICEServerRenewal
    private let useServers: @Sendable (GrantedServers) async -> Void
    /// Registers again, after the relay has ended the tunnel.
    private(set) var renewal: Task<Void, Never>?
    private var isStopped = false
    /// Until the next attempt to register again.
    private var delay = RelayRegistration.shortestDelay
    private var registeredAt: ContinuousClock.Instant?
    /// Why the last attempt has failed, as it was reported.
    private var reported: PairingFailure?

    private static let shortestDelay = Duration.milliseconds(250)
    private static let longestDelay = Duration.seconds(30)
    /// A tunnel that lasted so long was none that the relay ends at once.
    private static let stableTime = Duration.seconds(30)

    /// - Parameters:
    ///   - identity: pairs with the relay.
    ///   - fingerprint: of the service's certificate.
    ///   - secret: of the service's link; nil: it has none.
    ///   - useServers: gets the relay's STUN and TURN servers when they have changed.
    init(
        at relay: ServiceLink, as identity: Identity, of service: ServiceDescription, fingerprint: [UInt8],
        secret: [UInt8]?,
        useServers: @escaping @Sendable (GrantedServers) async -> Void,
        emit: @escaping @Sendable (ServiceSessionEvent) -> Void
    ) {
        self.useServers = useServers
        serverRenewal = ICEServerRenewal(use: useServers)
        self.fingerprint = fingerprint
        self.secret = secret
        self.relay = relay
        self.service = service
        self.identity = identity
        self.emit = emit
    }

    /// The link of the service, with the relay's address.
    nonisolated var link: ServiceLink {
        ServiceLink(
            host: relay.host, port: relay.port, id: service.id, fingerprint: fingerprint,
            relay: relay.fingerprint, secret: secret, flags: relay.flags)
    }

    /// Pairs with the relay.
    /// - Returns: the relay's STUN and TURN servers.
    func pair() async throws(PairingFailure) -> [ICEServer] {
        let pairing = ServicePairing(
            link: relay,
            application: ApplicationInfo(id: service.id.text, name: service.name, icon: service.icon),
            identity: identity)
        // A relay asks for no values. For another service the pairing ends with what it asks for.
        let paired = try await pairing.run { _ in [:] }
        guard !isStopped else {
            await paired.close()
            throw .gone
        }
        self.paired = paired
        return paired.iceServers
    }

    /// Opens the tunnel for which `pair` has a place.
    /// - Parameter server: runs, and serves the service.
    func open(on server: SignalingServer) async throws(SignalingError) {
        guard let paired else { throw SignalingError(.gone, "there is no pairing") }
        self.paired = nil
        serverRenewal.follow(paired.client, paired.grantedServers)
        let name = paired.name
        let tunnel = TunnelClient(
            .service(service.id), client: paired.client, server: server,
            isOwnAddress: { ICEAgent.localInterfaceAddresses().contains($0) }
        ) { [weak self, emit] event in
            switch event {
            case .interrupted:
                emit(.notice(.relay(.interrupted(relay: name, .host))))
            case .connected: emit(.notice(.relay(.connected(relay: name))))
            case .ended(let reason, let end):
                Task { await self?.handleEnd(reason, isReplaced: end == .replaced, server) }
            case .notListed: break
            }
        }
        guard !isStopped else {
            await tunnel.stop()
            throw SignalingError(.gone, "the service has stopped")
        }
        self.tunnel = tunnel
        try await tunnel.start()
        registeredAt = .now
    }

    /// Ends the tunnel. May be called more than once.
    func stop() async {
        isStopped = true
        renewal?.cancel()
        serverRenewal.stop()
        await tunnel?.stop()
        await paired?.close()
        (tunnel, paired) = (nil, nil)
    }

    /// Handles that the relay has ended the tunnel: it has stopped, or has started anew.
    private func handleEnd(_ reason: String, isReplaced: Bool, _ server: SignalingServer) async {
        await renewal?.value
        guard !isStopped else { return }
        guard !isReplaced else {
            // Both programs would replace each other for ever.
            return emit(.notice(.relay(.registrationReplaced)))
        }
        emit(.notice(.relay(.registrationLost(reason: reason))))
        renewal = Task { [weak self] in await self?.renew(server) }
    }

    private func renew(_ server: SignalingServer) async {
        await tunnel?.stop()
        if let registeredAt, .now - registeredAt > Self.stableTime { delay = Self.shortestDelay }
        while (try? await Task.sleep(for: delay)) != nil, !isStopped {
            delay = min(delay * 2, Self.longestDelay)
            if let failure = await register(server) {
                if case .refused(let reason) = failure {
                    emit(.notice(.relay(.registrationRefused(reason: reason))))
                    break
                }
                if failure != reported { emit(.notice(.relay(.registrationFailed(reason: "\(failure)")))) }
                reported = failure
            } else {
                reported = nil
                emit(.notice(.relay(.registered)))
                break
            }
        }
        renewal = nil
    }

    /// - Returns: nil after success; `.refused` if the relay's operator does not want the service, or the identifier is
    ///   another certificate's (403). All else may go away: a relay that is about to stop, another server at its
    ///   address, a tunnel of before that has not ended yet.
    private func register(_ server: SignalingServer) async -> PairingFailure? {
        do throws(PairingFailure) {
            await useServers(GrantedServers(try await pair(), by: relay.host))
        } catch {
            return error
        }
        do throws(SignalingError) {
            try await open(on: server)
            return nil
        } catch {
            await tunnel?.stop()
            return error.code == .refused ? .refused(error.description) : .unreachable(error.description)
        }
    }
}

extension EndReason {
    /// Why a service cannot be reached over a relay.
    init(registering failure: PairingFailure) {
        let code: Code =
            switch failure {
            case .declined, .setup, .refused, .wrongSecret: .refused
            case .unanswered, .timedOut: .unanswered
            case .unknownService: .unknownService
            case .certificateChanged, .wrongSignature, .malformed: .untrusted
            case .busy: .serviceBusy
            case .gone: .connectionLost
            case .unreachable: .unreachable
            }
        self.init(code, "the relay does not take this service: \(failure)")
    }

    /// Why a relay does not open a tunnel.
    init(opening failure: SignalingError) {
        let code = EndReason(failure, service: "").code
        self.init(code, "the relay does not take this service: \(failure.description)", remedy: failure.remedy)
    }
}
