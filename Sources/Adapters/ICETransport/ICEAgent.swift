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
    let nice: NiceStream
    var signals: [gulong] = []
    var remote = RemoteSide()
    /// Of a direct pair.
    var socket: SelectedSocket?
    var localSockets = LocalSockets()
    /// What the pair's other end still wants, and where else datagrams come from (`ICEAgent+Consent.swift`).
    var consent = ConsentState()
    /// Whether the datagram that is being given out is from the other end of the pair in use. Of a relayed pair the
    /// sender is not known: then it is true while checks are answered.
    public internal(set) var isFromSelectedPair = false
    /// Datagrams that wait for the first pair.
    var early: [[UInt8]] = []
    var closing = Closing.open

    /// What the other side has said.
    struct RemoteSide {
        var credentials: ICECredentials?
        /// Candidates that were given to libnice.
        var candidateCount = 0
    }

    enum Closing {
        case open
        case underway([() -> Void])
        case closed
    }

    /// - Throws: if libnice refuses the configuration.
    public init(loop: EventLoop, configuration: Configuration, handlers: Handlers) throws(ICEFailure) {
        loop.preconditionOnLoop()
        var generator = SystemRandomNumberGenerator()
        let credentials = ICECredentials.random(using: &generator)
        nice = try NiceStream(loop.context, configuration, credentials)
        self.loop = loop
        self.handlers = handlers
        self.credentials = credentials
        let box = Unmanaged.passRetained(self).toOpaque()
        do {
            try nice.configure(configuration)
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
        guard nice_agent_gather_candidates(nice.agent, nice.id) != 0 else {
            throw ICEFailure("no UDP socket can be opened on any address of this machine")
        }
    }

    /// - Returns: false if the agent is closed; nothing has then changed.
    @discardableResult
    public func setRemote(_ credentials: ICECredentials) -> Bool {
        loop.preconditionOnLoop()
        guard case .open = closing else { return false }
        remote.credentials = credentials
        return nice_agent_set_remote_credentials(
            nice.agent, nice.id, credentials.usernameFragment, credentials.password) != 0
    }

    /// Adds a candidate of the other side.
    /// - Parameter candidate: untrusted; repeated ones are fine.
    /// - Throws: why it is not used, which is also counted; the agent goes on.
    public func addRemote(_ candidate: ICECandidate) throws(CandidateRefusal) {
        loop.preconditionOnLoop()
        do throws(CandidateRefusal) {
            guard case .open = closing else { throw .closed }
            if let refusal = CandidateRefusal(of: candidate) { throw refusal }
            guard remote.candidateCount < Self.remoteCandidateLimit else { throw .tooMany }
            remote.candidateCount += 1
            try nice.add(candidate)
        } catch {
            counters.candidatesRefused += 1
            throw error
        }
    }

    /// No more candidates come (RFC 8838 section 14), so that checks may fail early.
    public func remoteCandidatesEnded() {
        loop.preconditionOnLoop()
        guard case .open = closing else { return }
        nice_agent_peer_candidate_gathering_done(nice.agent, nice.id)
    }

    // MARK: Closing

    /// Ends the agent; handlers are not called again. `completion` runs on the loop, not from within this call, when
    /// libnice has let go of everything: with TURN it gives the allocation back first, which took 2.5 s. A second call
    /// only waits for the same end.
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
            for signal in signals { cnice_disconnect(nice.agent, signal) }
            signals = []
            nice_agent_attach_recv(nice.agent, nice.id, 1, loop.context, nil, nil)
            // A turn of the loop: libnice may be in the middle of a callback that called us.
            if !LoopBound(loop, self).perform({ $0.removeStream() }) { removeStream() }
        }
    }

    private func removeStream() {
        nice_agent_remove_stream(nice.agent, nice.id)
        nice_agent_close_async(
            nice.agent,
            { _, _, data in
                if let data { Unmanaged<ICEAgent>.fromOpaque(data).takeRetainedValue().closed() }
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func closed() {
        cnice_unref(nice.agent)
        guard case .underway(let waiting) = closing else { return }
        closing = .closed
        handlers.onClosed()
        for completion in waiting { completion() }
    }
}
