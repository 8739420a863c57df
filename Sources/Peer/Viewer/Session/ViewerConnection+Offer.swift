import Admission
import EventLoop
import HTTP
import ICETransport
import Identifiers
import Identity
import MediaCore
import PeerConnection
import PeerEngine
import SessionDescription
import Signaling
import Synchronization

/// The offer, its answer, and the candidates that follow it.
extension ViewerConnection {
    /// Resolves the servers; returns at once if there are none.
    func lookUp() async throws(ViewerFailure) {
        let granted = state.withLock { $0.granted }
        let preparation = ICEServerPreparation(
            session.settings.servers, granted: granted, attempts: session.serverAttempts)
        state.withLock { $0.preparation = preparation }
        // The time limit is short, because a person waits for the first frame.
        let addresses = await preparation.addresses(limit: .milliseconds(1_500))
        for problem in addresses.problems {
            session.handle(.report(number, .notice(.machine(.serverUnused(reason: problem))), ofAny: false))
        }
        state.withLock { $0.addresses = addresses }
    }

    /// Opens a transport, which replaces the present one, gathers, and makes an offer.
    func makeOffer() async throws(ViewerFailure) {
        do throws(EndReason) {
            let settings = session.settings
            let place = CandidatePolicy.place(of: link.host, own: ICEAgent.localInterfaceAddresses())
            var configuration = PeerConnection.Configuration(
                .offerer, identity: settings.identity, fingerprint: link.fingerprint, place: place,
                repeatsCandidates: false, interruptionThreshold: ReceiveStream.interruptionThreshold)
            configuration.servers = state.withLock { $0.addresses }
            configuration.socket = try await session.sharedSocket()
            configuration.agent.includesLoopback = place == .loopback
            configuration.agent.usesOnlyRelays = settings.usesOnlyRelays
            let peer = try await open(configuration)
            let found = await peer.receiverCandidates()
            guard let description = found.description else {
                throw EndReason(.failed, "this machine found no way to receive")
            }
            // Later offers may find another codec.
            let announced = state.withLock { state in
                defer { state.announced = nil }
                return state.announced
            }
            let capabilities = session.capabilities(for: announced)
            let offer = description.offer(capabilities)
            state.withLock { ($0.offer, $0.peer) = ((offer, capabilities, found), peer) }
        } catch {
            throw ViewerFailure(error)
        }
    }

    private func open(
        _ configuration: PeerConnection.Configuration
    ) async throws(EndReason) -> LoopBound<PeerConnection> {
        let opened = await media.ifRunning { [loop = media.loop] media in
            Result { () throws(EndReason) in LoopBound(loop, try media.stream.open(configuration)) }
        }
        guard let opened else { throw EndReason(.failed, "this machine found no way to receive") }
        return try opened.get()
    }

    /// Sends the offer, checks the answer's certificate, and starts the connection.
    /// - Parameter timeout: nil: the session begins here; else it goes on, and its own attempts follow.
    func sendOffer(timeout: Duration?) async throws(ViewerFailure) {
        let (offer, token) = state.withLock { ($0.offer, $0.token) }
        guard let offer, let token else { throw ViewerFailure(.attemptEnded) }
        let text: String
        do throws(SignalingError) {
            text = try await client().offer(offer.text, token: token, timeout: timeout).sdp
        } catch {
            throw ViewerFailure(error)
        }
        let answer: Answer
        do {
            answer = try Answer(text, to: offer.capabilities)
        } catch {
            throw ViewerFailure(EndReason(.failed, "the host's answer cannot be used (\(error))"))
        }
        guard answer.fingerprint.bytes == link.fingerprint else {
            throw ViewerFailure(EndReason(.untrusted, "the answer names another certificate than the link"))
        }
        if let name = answer.name {
            session.handle(.report(number, .named(UntrustedText.clean(name, fallback: "share")), ofAny: true))
        }
        await media.ifRunning { $0.begin(answer) }
        if let layer = session.layerLimit.withLock({ $0 }) { Task { await select(layer) } }
        trickleRest(of: offer.gathered)
    }

    /// Sends the candidates that are found afterwards, until gathering is complete.
    func trickleRest(of gathered: PeerConnection.LocalCandidates) {
        guard !gathered.isComplete, let credentials = gathered.credentials, let peer = state.withLock({ $0.peer })
        else { return }
        Task { await peer.trickle(credentials) { try? await self.client().trickle($0) } }
    }

    private func select(_ layer: Int) async {
        do throws(SignalingError) {
            try await client().select(LayerSelection(maxTemporalLayerId: layer))
        } catch {
            // A session that has ended meanwhile gets nothing.
            guard ![.gone, .connectionLost].contains(error.code) else { return }
            session.handle(.report(number, .notice(.media(.layersUnlimited(error))), ofAny: true))
        }
    }
}
