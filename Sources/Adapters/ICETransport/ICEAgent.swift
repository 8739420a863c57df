internal import CNice
public import EventLoop
internal import Glibc
internal import NiceFunctions
public import SessionDescription

/// One ICE agent with one stream of one component (RFC 8445), over libnice. Confined to its loop.
///
/// libnice holds a reference to the agent from `init` until the completion of `close`, so close it explicitly.
public final class ICEAgent {
    /// The limit of the other side's candidates.
    public static let remoteCandidateLimit = 40
    /// The limit of datagrams that wait for the first pair: a DTLS flight.
    public static let earlyLimit = 8
    /// The limit of datagrams read in one iteration of the loop, so that other sources are served, too.
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
    /// The socket of a direct pair; nil for a relayed one.
    var socket: SelectedSocket?
    var localSockets = LocalSockets()
    /// The consent of the pair's remote end, and other sources of datagrams (`ICEAgent+Consent.swift`).
    var consent = ConsentState()
    /// Whether the datagram that is being delivered came from the remote end of the selected pair. For a relayed pair
    /// the sender is not known: it is then true while checks are answered.
    public internal(set) var isFromSelectedPair = false
    /// Datagrams that wait for the first pair.
    var early: [[UInt8]] = []
    var closing = Closing.open

    /// The other side's credentials and the number of its candidates.
    struct RemoteSide {
        var credentials: ICECredentials?
        /// The number of candidates that were passed to libnice.
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
        connectSignals(box)
    }

    /// Loads libnice, which the first agent or socket would do otherwise; from any thread. That takes some 20 ms, once.
    /// - Throws: if this machine does not have it.
    public static func loadLibrary() throws(ICEFailure) {
        guard let reason = nice_functions_load() else { return }
        throw ICEFailure("libnice cannot be loaded: \(String(cString: reason))")
    }

    /// Starts to gather candidates. They are passed to the handler, the first ones before this returns.
    /// - Throws: if no socket can be opened.
    public func gather() throws(ICEFailure) {
        loop.preconditionOnLoop()
        guard case .open = closing else { return }
        guard nice.gather() else {
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
    /// - Parameter candidate: untrusted; duplicates are allowed.
    /// - Throws: why it is not used, which is also counted; the agent continues.
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

    /// Notes that no more candidates come (RFC 8838 section 14), so that checks may fail early.
    public func remoteCandidatesEnded() {
        loop.preconditionOnLoop()
        guard case .open = closing else { return }
        nice_agent_peer_candidate_gathering_done(nice.agent, nice.id)
    }

    // MARK: Closing

    /// Closes the agent; handlers are not called again. `completion` runs on the loop, not within this call, when
    /// libnice has released everything. With TURN, libnice first releases the allocation, which took 2.5 s. A second
    /// call only adds a completion.
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
            // The stream is removed in a later iteration of the loop, as the caller may run within libnice's callback.
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
