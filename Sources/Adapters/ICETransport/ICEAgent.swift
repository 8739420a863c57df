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
    public private(set) var state = State.new
    public private(set) var selectedPair: SelectedPair?
    public private(set) var counters = Counters()

    private let loop: EventLoop
    private var handlers: Handlers
    private let agent: OpaquePointer
    private let stream: guint
    private var signals: [gulong] = []
    private var remoteCandidates = 0
    /// Of a direct pair.
    private(set) var socket: SelectedSocket?
    /// All UDP sockets, once there is a pair; `readers` read them before libnice does, until `close`.
    private(set) var localSockets: [LocalSocket] = []
    private var readers: [PriorityReader] = []
    let isControlling: Bool
    private var remoteCredentials: ICECredentials?
    /// What the pair's other end still wants, and where else datagrams come from (`ICEAgent+Consent.swift`).
    var consent = ConsentState()
    /// Whether the datagram that is being given out is from the other end of the pair in use. Of a relayed pair the
    /// sender is not known: then it is true while checks are answered.
    public private(set) var isFromSelectedPair = false
    /// Datagrams that wait for the first pair.
    private var early: [[UInt8]] = []
    private var closing = Closing.open

    private enum Closing {
        case open
        case underway([() -> Void])
        case closed
    }

    /// - Throws: if libnice refuses the configuration.
    public init(loop: EventLoop, configuration: Configuration, handlers: Handlers) throws(ICEFailure) {
        loop.preconditionOnLoop()
        // Not libnice's consent freshness: it sends a request each 4...6 s, gives up for good after 10 s, and then
        // refuses to send over a relay. The same requests without it give up after 50 s; who wants RFC 7675's 30 s
        // counts them from the last packet that SRTP authenticated.
        let options = NICE_AGENT_OPTION_ICE_TRICKLE
        guard let agent = nice_agent_new_full(loop.context, NICE_COMPATIBILITY_RFC5245, options) else {
            throw ICEFailure("libnice made no agent")
        }
        cnice_set_flag(agent, "controlling-mode", configuration.isControlling ? 1 : 0)
        cnice_set_flag(agent, "upnp", configuration.usesUPnP ? 1 : 0)
        // A router may take 3 s to say that it is there, and libnice's 0.2 s are short for its other answers, too.
        // Media does not wait: what comes late is trickled.
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

    private func configure(_ configuration: Configuration) throws(ICEFailure) {
        if let server = configuration.stunServers.first {
            guard isUnicast(server.address) else {
                throw ICEFailure("\(server.address) is not the address of a STUN server")
            }
            cnice_set_text(agent, "stun-server", server.address)
            cnice_set_number(agent, "stun-server-port", guint(server.port))
        }
        // libnice takes eight, and complains aloud of the ninth.
        for server in configuration.turnServers.prefix(8) {
            let kind =
                switch server.transport {
                case .udp: NICE_RELAY_TYPE_TURN_UDP
                case .tcp: NICE_RELAY_TYPE_TURN_TCP
                }
            guard isUnicast(server.address),
                nice_agent_set_relay_info(
                    agent, stream, 1, server.address, guint(server.port), server.username, server.password, kind) != 0
            else { throw ICEFailure("\(server.address) is not the address of a TURN server") }
        }
        cnice_set_flag(agent, "force-relay", configuration.usesOnlyRelays ? 1 : 0)
        // As soon as one address is given, libnice gathers no others by itself.
        var addresses = configuration.localAddresses ?? Self.localInterfaceAddresses()
        if configuration.includesLoopback, !addresses.contains("127.0.0.1") { addresses.append("127.0.0.1") }
        // Each of them is asked a port for. A router refuses what is not its own network's, and is asked again at once,
        // without end; so with UPnP the address that it knows is the only one of IPv4.
        if configuration.usesUPnP, let outward = outwardAddress(), addresses.contains(outward) {
            addresses.removeAll { $0 != outward && !$0.contains(":") }
        }
        for text in addresses {
            var address = NiceAddress()
            nice_address_init(&address)
            guard isUnicast(text), nice_address_set_from_string(&address, text) != 0,
                nice_agent_add_local_address(agent, &address) != 0
            else { throw ICEFailure("\(text) is not an address to listen at") }
        }
    }

    /// The addresses that this machine can be reached at now, numeric; no loopback, no link-local ones with a zone.
    public static func localInterfaceAddresses() -> [String] {
        var addresses: [String] = []
        let list = nice_interfaces_get_local_ips(0)
        var item = list
        while let current = item {
            if let text = current.pointee.data {
                let address = String(cString: text.assumingMemoryBound(to: CChar.self))
                // Link-local IPv6 comes with a zone, which means nothing to the other side.
                if isUnicast(address), !addresses.contains(address) { addresses.append(address) }
                g_free(text)
            }
            item = current.pointee.next
        }
        g_list_free(list)
        return addresses
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

    // MARK: Datagrams

    /// Sends one datagram over the selected pair. Allocates: never when the pair is direct.
    ///
    /// Before there is a pair, the first few are held until there is one: the other side may have its pair half a round
    /// trip earlier, and its ClientHello is then answered now rather than after a timeout.
    /// - Returns: false if it is dropped: too many are held, or the socket's buffer is full, which is counted.
    @discardableResult
    public func send(_ datagram: UnsafeRawBufferPointer) -> Bool {
        guard case .open = closing, let base = datagram.baseAddress else { return false }
        if selectedPair == nil {
            guard early.count < Self.earlyLimit else { return false }
            early.append(Array(datagram))
            return true
        }
        let before = counters.packetsSent
        withUnsafePointer(to: datagram.count) { count in
            sendBatch(base, stride: 0, lengths: UnsafeBufferPointer(start: count, count: 1))
        }
        return counters.packetsSent > before
    }

    /// Sends packets that lie `stride` bytes apart, in order. Runs of equal sizes, of which the last may be shorter,
    /// leave in one system call (UDP_SEGMENT) when the pair is direct. What does not fit in the socket's buffer is
    /// dropped and counted. Allocates: never when the pair is direct.
    public func sendBatch(_ base: UnsafeRawPointer, stride: Int, lengths: UnsafeBufferPointer<Int>) {
        assert(loop.isOnLoop)
        guard case .open = closing else { return }
        if let socket, socket.isOpen {
            socket.send(base, stride: stride, lengths: lengths, counting: &counters)
            return
        }
        for (index, length) in lengths.enumerated() {
            let bytes = (base + index * stride).assumingMemoryBound(to: gchar.self)
            let sent = nice_agent_send(agent, stream, 1, guint(truncatingIfNeeded: length), bytes)
            if sent == length {
                counters.packetsSent += 1
                counters.bytesSent += length
            } else if selectedPair != nil {
                counters.packetsDropped += 1
            } else {
                counters.sendErrors += 1
            }
        }
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

    // MARK: From libnice

    private func connect(_ box: UnsafeMutableRawPointer) {
        typealias StateChanged =
            @convention(c) (
                UnsafeMutableRawPointer?, guint, guint, guint, UnsafeMutableRawPointer?
            ) -> Void
        let stateChanged: StateChanged = { _, _, _, state, data in
            if let data { Unmanaged<ICEAgent>.fromOpaque(data).takeUnretainedValue().report(.state(state)) }
        }
        typealias Gathered = @convention(c) (UnsafeMutableRawPointer?, guint, UnsafeMutableRawPointer?) -> Void
        let gathered: Gathered = { _, _, data in
            if let data { Unmanaged<ICEAgent>.fromOpaque(data).takeUnretainedValue().report(.gathered) }
        }
        typealias Found =
            @convention(c) (
                UnsafeMutableRawPointer?, UnsafeMutablePointer<NiceCandidate>?, UnsafeMutableRawPointer?
            ) -> Void
        let found: Found = { _, candidate, data in
            if let data, let found = candidate.flatMap({ ICEAgent.read($0) }) {
                Unmanaged<ICEAgent>.fromOpaque(data).takeUnretainedValue().report(.candidate(found))
            }
        }
        typealias Selected =
            @convention(c) (
                UnsafeMutableRawPointer?, guint, guint, UnsafeMutablePointer<NiceCandidate>?,
                UnsafeMutablePointer<NiceCandidate>?, UnsafeMutableRawPointer?
            ) -> Void
        let selected: Selected = { _, _, _, local, remote, data in
            if let data, let local, let remote {
                Unmanaged<ICEAgent>.fromOpaque(data).takeUnretainedValue().selected(local, remote)
            }
        }
        signals = [
            cnice_connect(agent, "component-state-changed", unsafeBitCast(stateChanged, to: GCallback.self), box),
            cnice_connect(agent, "candidate-gathering-done", unsafeBitCast(gathered, to: GCallback.self), box),
            cnice_connect(agent, "new-candidate-full", unsafeBitCast(found, to: GCallback.self), box),
            cnice_connect(agent, "new-selected-pair-full", unsafeBitCast(selected, to: GCallback.self), box),
        ]
        nice_agent_attach_recv(
            agent, stream, 1, loop.context,
            { _, _, _, length, bytes, data in
                if let data, let bytes {
                    Unmanaged<ICEAgent>.fromOpaque(data).takeUnretainedValue()
                        .receivedByLibnice(UnsafeMutableRawBufferPointer(start: bytes, count: Int(length)))
                }
            }, box)
    }

    /// One of the sockets can be read. libnice reads a socket until it is empty, and GLib makes an error object each
    /// time it is.
    /// - Returns: false if libnice has to look at it.
    private func receive(_ descriptor: Int32, into room: UnsafeMutableRawBufferPointer) -> Bool {
        let selected = socket?.descriptor == descriptor ? socket : nil
        guard let local = localSockets.first(where: { $0.descriptor == descriptor }) else { return false }
        return withSourceUnderCheck(at: descriptor) { other in
            local.receive(
                from: selected?.remote, or: other, into: room, checks: consent.checks, limit: Self.receiveLimit
            ) { event in
                switch event {
                case .media(let datagram):
                    counters.packetsReadDirectly += 1
                    isFromSelectedPair = true
                    received(datagram)
                    isFromSelectedPair = false
                case .otherMedia(let datagram):
                    noteSourceAgain()
                    received(datagram)
                case .answer(let datagram): take(answer: datagram)
                case .other(let address): noteSource(address, at: descriptor)
                }
                return selected === (socket?.descriptor == descriptor ? socket : nil)
            }
        }
    }

    private func receivedByLibnice(_ datagram: UnsafeMutableRawBufferPointer) {
        isFromSelectedPair = isRelayed && state != .failed
        received(datagram)
        isFromSelectedPair = false
    }

    private func received(_ datagram: UnsafeMutableRawBufferPointer) {
        assert(loop.isOnLoop)
        counters.packetsReceived += 1
        counters.bytesReceived += datagram.count
        handlers.onDatagram(datagram)
    }

    private func changed(to code: guint) {
        let new: State
        switch NiceComponentState(code) {
        case NICE_COMPONENT_STATE_GATHERING: new = .gathering
        case NICE_COMPONENT_STATE_CONNECTING: new = .connecting
        case NICE_COMPONENT_STATE_CONNECTED: new = .connected
        case NICE_COMPONENT_STATE_READY: new = .ready
        case NICE_COMPONENT_STATE_FAILED: new = .failed
        default: return
        }
        guard new != state else { return }
        state = new
        handlers.onState(new)
    }

    private enum Report: Sendable {
        case state(guint)
        case gathered
        case candidate(ICECandidate)
    }

    /// libnice reports what UPnP found on that library's thread.
    private func report(_ report: Report) {
        if loop.isOnLoop { return take(report) }
        let me = LoopBound(self)
        loop.perform { me.value.take(report) }
    }

    private func take(_ report: Report) {
        switch report {
        case .state(let code): changed(to: code)
        case .gathered: handlers.onGatheringDone()
        case .candidate(let candidate): handlers.onCandidate(candidate)
        }
    }

    private static func read(_ candidate: UnsafeMutablePointer<NiceCandidate>) -> ICECandidate? {
        guard candidate.pointee.transport == NICE_CANDIDATE_TRANSPORT_UDP else { return nil }
        let kind = candidate.kind
        var text =
            "candidate:\(String(cString: cnice_candidate_foundation(candidate))) 1 udp \(candidate.pointee.priority) "
            + "\(cnice_candidate_address(candidate).text) \(nice_address_get_port(cnice_candidate_address(candidate))) "
            + "typ \(kind)"
        if kind != "host" {
            let base = cnice_candidate_base(candidate)
            text += " raddr \(base.text) rport \(nice_address_get_port(base))"
        }
        return ICECandidate(text)
    }

    private func selected(_ local: UnsafeMutablePointer<NiceCandidate>, _ remote: UnsafeMutablePointer<NiceCandidate>) {
        selectedPair = SelectedPair(
            localKind: local.kind, remoteKind: remote.kind, local: cnice_candidate_address(local).endpoint,
            remote: cnice_candidate_address(remote).endpoint)
        let last = socket
        socket = makeSelectedSocket(to: cnice_candidate_address(remote))
        watchAll()
        if let socket, let last, last.isSame(socket) {
            // Known already: consent goes on from when it was last given.
        } else if let remoteCredentials {
            beginConsent(remoteCredentials)
        }
        let held = early
        early = []
        for datagram in held { datagram.withUnsafeBytes { _ = send($0) } }
    }
}

extension ICEAgent {
    private func makeSelectedSocket(to remote: UnsafePointer<NiceAddress>) -> SelectedSocket? {
        guard let socket = nice_agent_get_selected_socket(agent, stream, 1) else { return nil }
        let local = LocalSocket(owning: socket)
        guard [4, 6].contains(nice_address_ip_version(remote)) else { return nil }
        var address = sockaddr_storage()
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { nice_address_copy_to_sockaddr(remote, $0) }
        }
        return SelectedSocket(local, to: address)
    }

    /// Reads first from every UDP socket that there is now, if the pair is direct.
    private func watchAll() {
        guard socket != nil else { return watch([]) }
        guard let all = nice_agent_get_sockets(agent, stream, 1) else { return }
        defer { g_ptr_array_unref(all) }
        var sockets: [LocalSocket] = []
        for index in 0..<Int(all.pointee.len) {
            guard let item = all.pointee.pdata[index] else { continue }
            let socket = item.assumingMemoryBound(to: GSocket.self)
            guard g_socket_get_socket_type(socket) == G_SOCKET_TYPE_DATAGRAM else { continue }
            sockets.append(LocalSocket(owning: g_object_ref(socket).assumingMemoryBound(to: GSocket.self)))
        }
        watch(sockets)
    }

    private func watch(_ sockets: [LocalSocket]) {
        for reader in readers { reader.close() }
        localSockets = sockets
        readers = sockets.map { socket in
            let descriptor = socket.descriptor
            return loop.readFirst(descriptor) { self.receive(descriptor, into: $0) }
        }
    }

    /// Sends go to `address` through `local` from now on.
    func move(to address: sockaddr_storage, through local: LocalSocket) {
        socket = SelectedSocket(local, to: address)
        selectedPair = SelectedPair(
            localKind: "host", remoteKind: "prflx", local: local.endpoint, remote: address.endpoint)
    }

    /// The pair's datagrams pass a TURN server of this side.
    var isRelayed: Bool { selectedPair != nil && socket == nil }
    var isOpen: Bool { if case .open = closing { true } else { false } }
    func makeTimer(_ fire: @escaping () -> Void) -> LoopTimer { loop.makeTimer(fire) }
    func countConsentAnswer() { counters.consentAnswers += 1 }
}

/// Why there is no agent, in a sentence.
public struct ICEFailure: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}

/// Carries a value of the loop through `perform`, which is called on the loop and runs there.
struct LoopBound<Value>: @unchecked Sendable {
    // SAFETY: made on the loop, opened on the loop.
    let value: Value
    init(_ value: Value) { self.value = value }
}

extension UnsafeMutablePointer<NiceCandidate> {
    fileprivate var kind: String {
        switch pointee.type {
        case NICE_CANDIDATE_TYPE_HOST: "host"
        case NICE_CANDIDATE_TYPE_SERVER_REFLEXIVE: "srflx"
        case NICE_CANDIDATE_TYPE_PEER_REFLEXIVE: "prflx"
        default: "relay"
        }
    }
}

extension UnsafeMutablePointer<NiceAddress> {
    fileprivate var text: String {
        withUnsafeTemporaryAllocation(of: gchar.self, capacity: 64) { buffer in
            guard let start = buffer.baseAddress else { return "" }
            start.initialize(repeating: 0, count: 64)
            nice_address_to_string(self, start)
            return String(cString: start)
        }
    }

    fileprivate var endpoint: String {
        let text = text
        return (text.contains(":") ? "[\(text)]" : text) + ":\(nice_address_get_port(self))"
    }
}

/// A numeric address that packets can be sent to.
private func isUnicast(_ address: String) -> Bool { IPAddress(address)?.isUnicast ?? false }
