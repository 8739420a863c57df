import Admission
import Identity
import LinuxRuntime
import PeerConnection
import Signaling

/// The service as it is reached over a relay.
extension ServiceSession {
    /// Pairs with the relay over which hosts reach this service.
    /// - Parameter service: gets the relay's STUN and TURN servers, and no fixed token, which the relay would see.
    func register(_ service: inout ServiceConfiguration) async throws(EndReason) -> RelayRegistration? {
        guard let relay = configuration.relay else { return nil }
        service.fixedToken = nil
        let registration = RelayRegistration(
            at: relay, as: configuration.relayIdentity ?? identity, of: service.description,
            fingerprint: identity.fingerprint, secret: service.linkSecret,
            useServers: { [weak self, own = service.iceServers] in await self?.use(own, $0) }, emit: emit)
        let isRunning = state.with { state in
            if !state.isStopped { state.registration = registration }
            return !state.isStopped
        }
        guard isRunning else { throw EndReason(.stopped, "the service has stopped") }
        do throws(PairingFailure) {
            service.iceServers += try await registration.pair()
        } catch {
            throw EndReason(registering: error)
        }
        return registration
    }

    /// Uses these STUN and TURN servers for the broadcasts that come from now on.
    private func use(_ own: [ICEServer], _ granted: GrantedServers) async {
        guard let preparation = state.with({ $0.isStopped ? nil : $0.preparation }) else { return }
        preparation.use(own, granted: granted)
        let addresses = await preparation.addresses()
        guard !Task.isCancelled else { return }
        state.with { state in
            guard !state.isStopped else { return }
            state.servers = addresses
            state.handle?.use(own + granted.servers)
        }
    }
}
