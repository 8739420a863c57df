internal import CNice
public import EventLoop
internal import Glibc
internal import LinuxRuntime
internal import MediaCore
public import SessionDescription

/// One UDP port for the sessions of all peers, as an ICE-lite agent has it (RFC 8445 section 2.5): peers check the
/// connection, and this side answers. Confined to its loop.
///
/// A datagram belongs to the session whose user name fragment its STUN request names, or whose peer has proved to be at
/// the address it comes from. A peer proves its address by answering a check with 96 random bits; before that, nothing
/// but the answer to its own authentic request and that check is sent there. A port that is a STUN server, too, also
/// answers plain Binding requests (``STUNBindingResponder``).
public final class ICELiteSocket {
    /// Counters since the beginning.
    public struct Counters: Hashable, Sendable {
        public var datagrams = 0
        /// STUN requests that name no session, or are not authentic.
        public var refusedRequests = 0
        /// Datagrams from an address that belongs to no session.
        public var strangers = 0
        /// Plain Binding requests that were answered.
        public var bindingResponses = 0
    }

    public internal(set) var counters = Counters()
    /// The UDP port, the same on all addresses.
    public let port: UInt16
    let loop: EventLoop
    /// One for each local address.
    let sockets: [BoundSocket]
    let stun: UnsafeMutablePointer<StunAgent>
    let tieBreaker = UInt64.random(in: .min ... .max)
    /// By the local user name fragment.
    private var agents: [String: ICELiteAgent] = [:]
    /// By the address of the peer.
    private var addresses: [PeerEndpoint: ICELiteAgent] = [:]
    private let publicAddress: String?
    /// Nil: plain Binding requests are refused.
    private var responder: STUNBindingResponder?
    private let batch: DatagramBatch
    private var readers: [PriorityReader] = []
    /// Waits for the port, if it is one of many.
    private let readerSet: ReaderSet?
    private var timer: LoopTimer?

    /// How often the checks of all sessions are looked after.
    static let tick = MediaDuration.milliseconds(250)
    /// Longer datagrams are ignored, but for RTP: no STUN or DTLS message is longer than an Ethernet packet.
    private static let largestDatagram = 2_048
    /// The largest RTP packet: a jumbo frame.
    private static let largestPacket = 9_216
    /// Batches of datagrams that are read in one iteration of the loop.
    private static let batchLimit = 4

    /// Opens the port.
    /// - Parameters:
    ///   - addresses: numeric local addresses; nil: all of the machine, and loopback.
    ///   - port: 0: a free one.
    ///   - publicAddress: another numeric address at which peers reach the port, such as that of a router that forwards
    ///     it.
    ///   - isOneOfMany: whether the loop has many such sockets, with a session each.
    ///   - isSTUNServer: whether strangers learn their public address here.
    /// - Throws: if the port is taken, or no address can be bound.
    public init(
        loop: EventLoop, addresses: [String]? = nil, port: UInt16 = 0, publicAddress: String? = nil,
        isOneOfMany: Bool = false, isSTUNServer: Bool = false
    ) throws(ICEFailure) {
        loop.preconditionOnLoop()
        try ICEAgent.loadLibrary()
        guard let stun = cnice_stun_new() else { throw ICEFailure("there is no memory for a socket") }
        self.loop = loop
        self.publicAddress = publicAddress
        responder = isSTUNServer ? STUNBindingResponder(now: MonotonicClock.now) : nil
        readerSet = isOneOfMany ? loop.readerSet : nil
        self.stun = stun
        batch = loop.shared { DatagramBatch() }
        let local = addresses ?? ICEAgent.localInterfaceAddresses() + ["127.0.0.1"]
        let opened: [BoundSocket]
        do throws(ICEFailure) {
            opened = try BoundSocket.open(local, port: port)
        } catch {
            free(stun)
            throw error
        }
        sockets = opened
        self.port = opened[0].port
        for (index, socket) in opened.enumerated() {
            let read = { [weak self] in self?.receive(socket, index) ?? true }
            guard let readerSet else {
                readers.append(loop.makePriorityReader(socket.descriptor, waits: true) { _ in read() })
                continue
            }
            guard readerSet.add(socket.descriptor, read) else {
                close()
                throw ICEFailure("the kernel does not wait for another socket")
            }
        }
        timer = loop.makeTimer { [weak self] in self?.handleTimeout() }
    }

    deinit { free(stun) }

    /// Closes the port. Sessions that are left send and receive nothing any more.
    public func close() {
        loop.preconditionOnLoop()
        for reader in readers { reader.close() }
        readers = []
        if let readerSet { for socket in sockets where socket.isOpen { readerSet.remove(socket.descriptor) } }
        timer?.close()
        timer = nil
        agents = [:]
        addresses = [:]
        for socket in sockets { socket.close() }
    }

    /// How many sessions there are.
    var sessionCount: Int { Set(agents.values.map(ObjectIdentifier.init)).count }

    /// The host candidates.
    /// - Parameter includesLoopback: for a peer on this machine.
    public func candidates(includesLoopback: Bool) -> [ICECandidate] {
        var places = sockets.filter { includesLoopback || !$0.isLoopback }.map(\.address)
        // The one that works from elsewhere comes first.
        if let publicAddress { places = [publicAddress] + places.filter { $0 != publicAddress } }
        return places.prefix(32).enumerated().compactMap { index, address in
            // RFC 8445 section 5.1.2.1.
            let priority = UInt32(126) << 24 | UInt32(65_535 - index) << 8 | 255
            return ICECandidate("candidate:\(index + 1) 1 udp \(priority) \(address) \(port) typ host")
        }
    }

    // MARK: Sessions

    /// New credentials with a user name fragment that no session has.
    func unusedCredentials() -> ICECredentials {
        var generator = SystemRandomNumberGenerator()
        var credentials: ICECredentials
        repeat { credentials = .random(using: &generator) } while agents[credentials.usernameFragment] != nil
        return credentials
    }

    /// - Parameter fragment: that of ``unusedCredentials()``.
    func register(_ agent: ICELiteAgent, as fragment: String) {
        agents[fragment] = agent
        if agents.count == 1 { timer?.set(MonotonicClock.now + Self.tick, isCoarse: true) }
    }

    func unregister(_ fragment: String) { agents[fragment] = nil }

    /// Assigns the datagrams of an address to a session. An address that has proved itself for another session stays
    /// there until it has proved itself for this one.
    func assign(_ endpoint: PeerEndpoint, to agent: ICELiteAgent, isProven: Bool) {
        if let owner = addresses[endpoint], owner !== agent {
            guard isProven || !owner.hasProven(endpoint) else { return }
            owner.lose(endpoint)
        }
        addresses[endpoint] = agent
    }

    func release(_ endpoint: PeerEndpoint, of agent: ICELiteAgent) {
        if addresses[endpoint] === agent { addresses[endpoint] = nil }
    }

    private func handleTimeout() {
        let now = MonotonicClock.now
        for agent in Array(agents.values) { agent.handleTimeout(now) }
        if !agents.isEmpty { timer?.set(now + Self.tick, isCoarse: true) }
    }

    // MARK: Receiving

    /// - Returns: true if the socket is empty.
    private func receive(_ socket: BoundSocket, _ index: Int) -> Bool {
        for _ in 0..<Self.batchLimit {
            guard socket.isOpen else { return true }
            let count = batch.receive(from: socket.descriptor) { datagram, source, arrival in
                counters.datagrams += 1
                // RTP and RTCP: 128 to 191 (RFC 7983 section 7).
                guard let first = datagram.first,
                    datagram.count <= (128...191 ~= first ? Self.largestPacket : Self.largestDatagram)
                else { return }
                receive(datagram, from: source, socket, index, arrival)
            }
            if count < DatagramBatch.capacity { return true }
        }
        return false
    }

    private func receive(
        _ datagram: UnsafeMutableRawBufferPointer, from source: UnsafePointer<sockaddr_storage>, _ socket: BoundSocket,
        _ index: Int, _ arrival: MediaInstant
    ) {
        let endpoint = PeerEndpoint(source, socket: index)
        // RFC 7983 section 7: STUN begins with 0 to 3.
        guard datagram[0] <= 3 else {
            guard let agent = addresses[endpoint] else {
                counters.strangers += 1
                return
            }
            return agent.receive(datagram, from: endpoint, at: arrival)
        }
        if datagram.count >= 20, datagram[0] == 1 {
            guard let agent = addresses[endpoint] else {
                counters.strangers += 1
                return
            }
            return agent.handleResponse(UnsafeRawBufferPointer(datagram), from: endpoint)
        }
        guard let username = RequestUsername(datagram, stun) else {
            if respond(to: UnsafeRawBufferPointer(datagram), from: source, socket) {
                counters.bindingResponses += 1
            } else {
                counters.refusedRequests += 1
            }
            return
        }
        guard let agent = agents[username.fragment],
            agent.handleRequest(datagram, username, from: source, endpoint, socket)
        else {
            counters.refusedRequests += 1
            return
        }
    }

    /// Tells a stranger its address, if it has asked for nothing else.
    private func respond(
        to request: UnsafeRawBufferPointer, from source: UnsafePointer<sockaddr_storage>, _ socket: BoundSocket
    ) -> Bool {
        guard responder != nil else { return false }
        return withUnsafeTemporaryAllocation(byteCount: STUNBindingResponder.longestResponse, alignment: 8) { room in
            guard let length = responder?.respond(to: request, from: source, into: room, now: MonotonicClock.now),
                let base = room.baseAddress
            else { return false }
            return cnice_send_datagram(socket.descriptor, source, base, length) == 0
        }
    }
}
