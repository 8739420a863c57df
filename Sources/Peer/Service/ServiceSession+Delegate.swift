public import Admission
import EventLoop
import Host
public import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import PeerConnection
import SessionDescription
public import Signaling
import Viewer

extension ServiceSession: ServiceDelegate {
    public func decide(_ request: PairingRequest) async -> PairingDecision {
        state.with { $0.questions[request.id] = request }
        emit(.pairing(request))
        let decision = await decidePairing(request)
        guard state.with({ $0.questions.removeValue(forKey: request.id) }) != nil else { return decision }
        switch decision {
        case .accepted, .acceptedByRule: emit(.paired(request))
        case .refused(let reason): emit(.pairingRefused(request, reason: reason ?? "refused"))
        case .unanswered: emit(.pairingRefused(request, reason: "nobody answered"))
        case .busy: emit(.pairingRefused(request, reason: "the service is busy"))
        }
        return decision
    }

    public func pairingWithdrawn(_ id: KnockID) async {
        guard let request = state.with({ $0.questions.removeValue(forKey: id) }) else { return }
        emit(.pairingRefused(request, reason: "the host has gone"))
    }

    public func openSession(offer text: String, publisher: Publisher) async throws(OfferRefusal) -> OpenedSession {
        let capabilities = capabilities(of: publisher)
        let offer: Offer
        do throws(OfferError) {
            offer = try Offer(text, for: capabilities)
        } catch {
            guard error == .noCommonVideoCodec else { throw error.refusal }
            let offered = Offer.videoEncodings(in: text).joined(separator: ", ")
            let taken = VideoCodec.allCases.filter(capabilities.videoCodecs.contains).map(\.rawValue)
            throw OfferRefusal(
                .unsupportedCodec,
                "The offer's video is \(offered), and what is taken here is \(taken.joined(separator: ", ")).")
        }
        // RFC 9725 section 4.4.3.
        guard !offer.isAnsweredInPart else {
            throw OfferRefusal(
                .unprocessable,
                "The offer has more media than is taken: one video section, and audio sections up to "
                    + "\(capabilities.audioSections), each with a codec of this service.")
        }
        guard offer.fingerprint.bytes == publisher.fingerprint else {
            throw OfferRefusal(.unprocessable, "The offer's certificate is not the one that was paired.")
        }
        // A sink may take the broadcast over from another session, so it is made for a session that can begin.
        guard state.with({ $0.takesSessions }) else { throw refusal }
        var publisher = publisher
        let replaced = state.with { state in publisher.replaces.flatMap { state.broadcasts[$0] } }
        if let replaced, replaced.format != EncodedMediaFormat(offer) { publisher.replaces = nil }
        let id = SessionID.random()
        guard let sink = makeSink(id, publisher) else { throw refusal }
        let broadcast = IncomingBroadcast(
            id: id, loop: loop, publisher: publisher, sink: sink,
            format: EncodedMediaFormat(offer), report: { [weak self] in self?.report($0, of: id) })
        replaced?.end(.republished)
        let servers: ICEServerPreparation.Addresses? = state.with { state in
            guard state.takesSessions else { return nil }
            state.broadcasts[id] = broadcast
            return state.servers
        }
        run(broadcast)
        guard let servers else {
            broadcast.end(EndReason(.stopped, "the service has stopped"))
            throw refusal
        }
        emit(.opened(id, publisher))
        let opened: OpenedSession
        do throws(OfferRefusal) {
            opened = try await broadcast.open(
                offer, identity: identity, servers: servers, socket: socket, ports: configuration.mediaPorts)
        } catch {
            broadcast.end(EndReason(.failed, error.detail))
            throw error
        }
        trickle(broadcast, id)
        return opened
    }

    private var refusal: OfferRefusal {
        state.with { $0.isStopped }
            ? OfferRefusal(.ended, "The service has stopped.")
            : OfferRefusal(.busy, "The service is about to stop, and takes no further broadcast.")
    }

    /// A publisher that runs sends at least a sender report each second.
    private static let silenceOfRunning = MediaDuration.seconds(2)
    /// Until the first packet comes, ICE and DTLS take their time.
    private static let silenceOfConnecting = MediaDuration.seconds(5)

    /// Packets that left before the offer may arrive so long after it.
    private static let longestDelay = MediaDuration.milliseconds(200)

    public func silentSessions(among sessions: [SessionID], for publisher: Publisher) async -> [SessionID] {
        var waiting = state.with { state in sessions.compactMap { state.broadcasts[$0] } }
        var silent: [(broadcast: IncomingBroadcast, silence: MediaDuration)] = []
        let began = MonotonicClock.now
        while true {
            var next: [IncomingBroadcast] = []
            let elapsed = MonotonicClock.now - began
            for broadcast in waiting {
                let silence = await broadcast.silence()
                let limit = await broadcast.hasMedia() ? Self.silenceOfRunning : Self.silenceOfConnecting
                if silence >= limit {
                    silent.append((broadcast, silence))
                } else if silence + Self.longestDelay >= elapsed, limit - silence <= Self.silenceOfRunning {
                    // Nothing has left the other since the offer.
                    next.append(broadcast)
                }
            }
            guard !next.isEmpty, elapsed <= Self.silenceOfRunning + Self.longestDelay * 2 else { break }
            waiting = next
            try? await Task.sleep(for: .milliseconds(100))
        }
        return silent.sorted { one, other in
            (one.broadcast.likeness(to: publisher), one.silence) > (
                other.broadcast.likeness(to: publisher), other.silence
            )
        }.map(\.broadcast.id)
    }

    /// A host may send a microphone beside its application's audio; WHIP has one section of a kind.
    private func capabilities(of publisher: Publisher) -> MediaCapabilities {
        var result = MediaCapabilities.receiving(configuration.videoCodecs)
        if publisher.pairing == nil { result.audioSections = 1 }
        result.usesReferences = !configuration.forwardsPackets
        result.limitsBitrate = configuration.forwardsPackets
        return result
    }

    /// Sends the candidates that are found after an answer.
    private func trickle(_ broadcast: IncomingBroadcast, _ id: SessionID) {
        let handle = state.with { $0.handle }
        broadcast.trickle { handle?.send(.candidates(fragment: $0), to: id) }
    }

    public func applyFragment(
        _ fragment: String, to session: SessionID
    ) async throws(OfferRefusal) -> RestartedSession? {
        guard let broadcast = state.with({ $0.broadcasts[session] }) else {
            throw OfferRefusal(.unknownSession, "There is no such session.")
        }
        let restarted = try await broadcast.applyFragment(fragment)
        if restarted != nil { trickle(broadcast, session) }
        return restarted
    }

    public func handle(_ message: PublisherMessage, by sessions: [SessionID]) async -> Bool {
        let known = sessions.filter(has)
        switch message {
        case .application(let application): for session in known { emit(.annotated(session, application)) }
        case .hold: break
        case .returnViewers, .keys, .sealed, .removal, .decision: return false
        }
        return !known.isEmpty
    }

    public func closeSession(_ session: SessionID) async {
        state.with { $0.broadcasts[session] }?.end(EndReason(.hostEnded, "the host ended the broadcast"))
    }
}
