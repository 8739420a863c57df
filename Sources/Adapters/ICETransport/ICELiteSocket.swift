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

/// The user name of a STUN request: the receiver's fragment, a colon and the sender's (RFC 8445 section 7.2.2). Nothing
/// is verified. It lies in the datagram.
struct RequestUsername {
    let bytes: UnsafePointer<UInt8>
    let length: UInt16
    /// The receiver's fragment, which names the session.
    let fragment: String
    /// The sender's fragment.
    let senderFragment: String

    /// Nil for other datagrams.
    fileprivate init?(_ datagram: UnsafeMutableRawBufferPointer, _ stun: UnsafeMutablePointer<StunAgent>) {
        var length: UInt16 = 0
        guard let base = datagram.baseAddress,
            let bytes = cnice_request_username(
                stun, base.assumingMemoryBound(to: UInt8.self), datagram.count, &length)
        else { return nil }
        let text = UnsafeBufferPointer(start: bytes, count: Int(length))
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")), colon <= 256 else { return nil }
        self.bytes = bytes
        self.length = length
        fragment = String(decoding: text[..<colon], as: UTF8.self)
        senderFragment = String(decoding: text[(colon + 1)...], as: UTF8.self)
    }
}

/// Where a peer's datagrams come from, and the local address at which they arrive.
struct PeerEndpoint: Hashable {
    private var high: UInt64 = 0
    private var low: UInt64 = 0
    private var port: UInt16 = 0
    private var socket: UInt16

    init(_ source: sockaddr_storage, socket: Int) {
        self = withUnsafePointer(to: source) { Self($0, socket: socket) }
    }

    init(_ source: UnsafePointer<sockaddr_storage>, socket: Int) {
        self.socket = UInt16(truncatingIfNeeded: socket)
        let bytes = UnsafeRawPointer(source)
        // Port: bytes 2 and 3. Address: from byte 4 (IPv4) or 8 (IPv6) on.
        port = bytes.load(fromByteOffset: 2, as: UInt16.self)
        if Int32(source.pointee.ss_family) == AF_INET {
            low = UInt64(bytes.load(fromByteOffset: 4, as: UInt32.self)) | 1 << 63
        } else {
            high = bytes.load(fromByteOffset: 8, as: UInt64.self)
            low = bytes.load(fromByteOffset: 16, as: UInt64.self)
        }
    }
}

/// A UDP socket that is bound to one address.
final class BoundSocket: DatagramSocket {
    let descriptor: Int32
    let address: String
    let port: UInt16
    private(set) var isOpen = true

    /// An address that cannot be bound, by its errno.
    private struct Refusal: Error {
        var code: Int32
    }

    private init(_ address: String, port: UInt16) throws(Refusal) {
        guard var place = sockaddr_storage(numeric: address, port: port) else { throw Refusal(code: EINVAL) }
        let family = Int32(place.ss_family)
        let opened = socket(
            family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard opened >= 0 else { throw Refusal(code: errno) }
        if family == AF_INET6 {
            var one: Int32 = 1
            setsockopt(opened, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &one, socklen_t(MemoryLayout<Int32>.size))
        }
        let length = cnice_address_length(&place)
        let bound = withUnsafeMutablePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(opened, $0, length) }
        }
        guard bound == 0 else {
            let refusal = Refusal(code: errno)
            Glibc.close(opened)
            throw refusal
        }
        // Bursts to all peers pass through one buffer.
        opened.enlargeSocketBuffers(to: 8 << 20)
        cnice_prepare_batches(opened)
        descriptor = opened
        self.address = address
        let own = sockaddr_storage(of: opened)
        self.port = withUnsafeBytes(of: own) { UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self)) }
    }

    deinit { close() }

    func close() {
        guard isOpen else { return }
        isOpen = false
        Glibc.close(descriptor)
    }

    var isLoopback: Bool { IPAddress(address)?.isLoopback ?? false }

    /// Whether both are of one family.
    func canReach(_ place: sockaddr_storage) -> Bool { address.contains(":") == (Int32(place.ss_family) == AF_INET6) }

    /// Binds one port on all addresses. Those that the kernel does not let be used now are left out, such as an IPv6
    /// address that is still being checked for duplicates (RFC 4862 section 5.4).
    static func open(_ addresses: [String], port: UInt16) throws(ICEFailure) -> [BoundSocket] {
        // A free port of the first address may be taken on another one.
        for _ in 0..<(port == 0 ? 16 : 1) {
            var sockets: [BoundSocket] = []
            var isTaken = false
            for address in addresses where !isTaken {
                do throws(Refusal) {
                    sockets.append(try BoundSocket(address, port: sockets.first?.port ?? port))
                } catch {
                    isTaken = error.code == EADDRINUSE
                }
            }
            guard isTaken else {
                if !sockets.isEmpty { return sockets }
                throw ICEFailure("no UDP socket can be opened on \(addresses.joined(separator: ", "))")
            }
        }
        throw ICEFailure(port == 0 ? "no UDP port is free" : "UDP port \(port) is not free")
    }
}

extension sockaddr_storage {
    /// Nil unless it is a numeric address.
    init?(numeric address: String, port: UInt16) {
        self.init()
        switch IPAddress(address) {
        case .v4:
            var four = sockaddr_in()
            four.sin_family = sa_family_t(AF_INET)
            four.sin_port = port.bigEndian
            guard inet_pton(AF_INET, address, &four.sin_addr) == 1 else { return nil }
            withUnsafeMutableBytes(of: &self) { $0.storeBytes(of: four, as: sockaddr_in.self) }
        case .v6:
            var six = sockaddr_in6()
            six.sin6_family = sa_family_t(AF_INET6)
            six.sin6_port = port.bigEndian
            guard inet_pton(AF_INET6, address, &six.sin6_addr) == 1 else { return nil }
            withUnsafeMutableBytes(of: &self) { $0.storeBytes(of: six, as: sockaddr_in6.self) }
        case nil: return nil
        }
    }
}
