internal import CNice
public import EventLoop
internal import Glibc
public import SessionDescription

/// One ICE agent with one stream of one component (RFC 8445), over libnice. Confined to its loop.
///
/// libnice holds a reference to it from `init` until the completion of `close`; so close it explicitly.
public final class ICEAgent {
    /// The most candidates of the other side that are tried.
    public static let remoteCandidateLimit = 40
    /// The most datagrams that wait for the first pair: a DTLS flight.
    public static let earlyLimit = 8
    /// Datagrams in a turn of the loop, so that the others have theirs.
    static let receiveLimit = 64

    public let credentials: ICECredentials
    public internal(set) var state = State.new
    public internal(set) var selectedPair: SelectedPair?
    public internal(set) var counters = Counters()

    let loop: EventLoop
    var handlers: Handlers
    let agent: OpaquePointer
    let stream: guint
    var signals: [gulong] = []
    private var remoteCandidates = 0
    /// Of a direct pair.
    var socket: SelectedSocket?
    /// All UDP sockets, once there is a pair; `readers` read them before libnice does, until `close`.
    var localSockets: [LocalSocket] = []
    var readers: [PriorityReader] = []
    let isControlling: Bool
    var remoteCredentials: ICECredentials?
    /// What the pair's other end still wants, and where else datagrams come from (`ICEAgent+Consent.swift`).
    var consent = ConsentState()
    /// Whether the datagram that is being given out is from the other end of the pair in use. Of a relayed pair the sender is
    /// not known: then it is true while checks are answered.
    public internal(set) var isFromSelectedPair = false
    /// Datagrams that wait for the first pair.
    var early: [[UInt8]] = []
    var closing = Closing.open

    enum Closing {
        case open
        case underway([() -> Void])
        case closed
    }

    /// - Throws: if libnice refuses the configuration.
    public init(loop: EventLoop, configuration: Configuration, handlers: Handlers) throws(ICEFailure) {
        loop.preconditionOnLoop()
        // Not libnice's consent freshness: it sends a request each 4...6 s, gives up for good after 10 s, and then refuses
        // to send over a relay. The same requests without it give up after 50 s; who wants RFC 7675's 30 s counts them
        // from the last packet that SRTP authenticated.
        let options = NICE_AGENT_OPTION_ICE_TRICKLE
        guard let agent = nice_agent_new_full(loop.context, NICE_COMPATIBILITY_RFC5245, options) else {
            throw ICEFailure("libnice made no agent")
        }
        cnice_set_flag(agent, "controlling-mode", configuration.isControlling ? 1 : 0)
        cnice_set_flag(agent, "upnp", configuration.usesUPnP ? 1 : 0)
        // A router may take 3 s to say that it is there, and libnice's 0.2 s are short for its other answers, too. Media does
        // not wait: what comes late is trickled.
        cnice_set_number(agent, "upnp-timeout", 6_000)
        cnice_set_flag(agent, "ice-tcp", 0)
        cnice_set_flag(agent, "keepalive-conncheck", 1)
        cnice_set_number(agent, "stun-pacing-timer", guint(max(1, min(configuration.checkInterval, 1_000))))
        let stream = nice_agent_add_stream(agent, 1)
        var generator = SystemRandomNumberGenerator()
        let credentials = ICECredentials.random(using: &generator)
        guard stream > 0,
            nice_agent_set_local_credentials(agent, stream, credentials.usernameFragment, credentials.password) != 0
        else {
            cnice_unref(agent)
            throw ICEFailure("libnice made no stream")
        }
        self.loop = loop
        self.handlers = handlers
        self.agent = agent
        self.stream = stream
        self.credentials = credentials
        isControlling = configuration.isControlling
        let box = Unmanaged.passRetained(self).toOpaque()
        do {
            try configure(configuration)
        } catch {
            close()
            throw error
        }
        connect(box)
    }

    /// Starts to gather; candidates come through the handler, the first of them before this returns.
    /// - Throws: if no socket can be opened.
    public func gather() throws(ICEFailure) {
        loop.preconditionOnLoop()
        guard case .open = closing else { return }
        guard nice_agent_gather_candidates(agent, stream) != 0 else {
            throw ICEFailure("no UDP socket can be opened on any address of this machine")
        }
    }

    /// - Returns: false if the agent is closed; nothing has then changed.
    @discardableResult
    public func setRemote(_ credentials: ICECredentials) -> Bool {
        loop.preconditionOnLoop()
        guard case .open = closing else { return false }
        remoteCredentials = credentials
        return nice_agent_set_remote_credentials(agent, stream, credentials.usernameFragment, credentials.password) != 0
    }

    /// Adds a candidate of the other side.
    /// - Parameter candidate: untrusted; repeated ones are fine.
    /// - Throws: why it is not used, which is also counted; the agent goes on.
    public func addRemote(_ candidate: ICECandidate) throws(CandidateRefusal) {
        loop.preconditionOnLoop()
        do throws(CandidateRefusal) {
            guard case .open = closing else { throw .closed }
            if let refusal = CandidateRefusal(of: candidate) { throw refusal }
            guard remoteCandidates < Self.remoteCandidateLimit else { throw .tooMany }
            remoteCandidates += 1
            try add(candidate)
        } catch {
            counters.candidatesRefused += 1
            throw error
        }
    }

    private func add(_ parsed: ICECandidate) throws(CandidateRefusal) {
        let kind =
            switch parsed.kind {
            case .host: NICE_CANDIDATE_TYPE_HOST
            case .serverReflexive: NICE_CANDIDATE_TYPE_SERVER_REFLEXIVE
            case .peerReflexive: NICE_CANDIDATE_TYPE_PEER_REFLEXIVE
            case .relayed: NICE_CANDIDATE_TYPE_RELAYED
            }
        guard let candidate = nice_candidate_new(kind) else { throw .malformed }
        defer { nice_candidate_free(candidate) }
        candidate.pointee.transport = NICE_CANDIDATE_TRANSPORT_UDP
        candidate.pointee.priority = parsed.priority
        candidate.pointee.stream_id = stream
        candidate.pointee.component_id = 1
        cnice_candidate_set_foundation(candidate, parsed.foundation)
        guard nice_address_set_from_string(cnice_candidate_address(candidate), parsed.address) != 0 else {
            throw .hostName
        }
        nice_address_set_port(cnice_candidate_address(candidate), guint(parsed.port))
        let list = g_slist_append(nil, candidate)
        defer { g_slist_free(list) }
        if nice_agent_set_remote_candidates(agent, stream, 1, list) < 0 { throw .malformed }
    }

    /// No more candidates come (RFC 8838 section 14), so that checks may fail early.
    public func remoteCandidatesEnded() {
        loop.preconditionOnLoop()
        guard case .open = closing else { return }
        nice_agent_peer_candidate_gathering_done(agent, stream)
    }

    // MARK: Closing

    /// Ends the agent; handlers are not called again. `completion` runs on the loop, not from within this call, when
    /// libnice has let go of everything: with TURN it gives the allocation back first, which took 2.5 s. A second call only
    /// waits for the same end.
    public func close(_ completion: @escaping () -> Void = {}) {
        loop.preconditionOnLoop()
        switch closing {
        case .closed: completion()
        case .underway(let waiting): closing = .underway(waiting + [completion])
        case .open:
            closing = .underway([completion])
            handlers = Handlers(onClosed: handlers.onClosed) { _ in }
            socket = nil
            watch([])
            consent.timer?.close()
            consent = ConsentState()
            early = []
            for signal in signals { cnice_disconnect(agent, signal) }
            signals = []
            nice_agent_attach_recv(agent, stream, 1, loop.context, nil, nil)
            // A turn of the loop: libnice may be in the middle of a callback that called us.
            let me = LoopBound(self)
            if !loop.perform({ me.value.removeStream() }) { removeStream() }
        }
    }

    private func removeStream() {
        nice_agent_remove_stream(agent, stream)
        nice_agent_close_async(
            agent,
            { _, _, data in
                if let data { Unmanaged<ICEAgent>.fromOpaque(data).takeRetainedValue().closed() }
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func closed() {
        cnice_unref(agent)
        guard case .underway(let waiting) = closing else { return }
        closing = .closed
        handlers.onClosed()
        for completion in waiting { completion() }
    }
}
