import EventLoop
import Glibc
import LinuxRuntime
import MediaCore
import SessionDescription
import TestSupport
import Testing

@testable import ICETransport

/// One UDP port for several peers: full agents (libnice) connect to it, and strangers do not.
@Suite(.timeLimit(.minutes(1)))
struct ICELiteTests {
    /// A session at the port and the agent of its peer. Touched on the loop.
    private final class Session: @unchecked Sendable {
        // SAFETY: touched on the loop.
        private(set) var lite: ICELiteAgent?
        private(set) var peer: ICEAgent?
        /// The agents before a restart.
        private var former: [ICEAgent] = []
        var received: [[UInt8]] = []
        /// When the last of them arrived.
        var arrival: MediaInstant?
        var receivedByPeer: [[UInt8]] = []
        var selections: [Bool] = []
        var hasGone = false

        init(_ socket: ICELiteSocket) {
            lite = ICELiteAgent(
                socket,
                handlers: .init(
                    willSelect: {}, onSelection: { [unowned self] in selections.append($0) },
                    onDatagram: { [unowned self] datagram, arrival in
                        received.append(Array(datagram))
                        self.arrival = arrival
                    }, onPeerGone: { [unowned self] in hasGone = true }))
        }

        /// Makes the agent of the peer, and starts its checks.
        func connect(_ socket: ICELiteSocket, addresses: [String]? = nil) throws {
            guard let lite else { return }
            let peer = try ICEAgent(
                loop: socket.loop,
                configuration: .init(isControlling: true, localAddresses: addresses ?? [], includesLoopback: true),
                handlers: .init(onDatagram: { [unowned self] in receivedByPeer.append(Array($0)) }))
            if let last = self.peer { former.append(last) }
            self.peer = peer
            lite.setRemote(peer.credentials)
            peer.setRemote(lite.credentials)
            try peer.gather()
            for candidate in socket.candidates(includesLoopback: true) { try peer.addRemote(candidate) }
        }

        func send(_ bytes: [UInt8]) { bytes.withUnsafeBytes { lite?.send($0) } }
        func sendFromPeer(_ bytes: [UInt8]) { bytes.withUnsafeBytes { _ = peer?.send($0) } }

        func closePeer() { peer?.close {} }

        func close(_ done: @escaping () -> Void) {
            lite?.close()
            let agents = former + (peer.map { [$0] } ?? [])
            var open = agents.count
            if open == 0 { done() }
            for agent in agents {
                agent.close {
                    open -= 1
                    if open == 0 { done() }
                }
            }
        }
    }

    /// A port with sessions. Touched on the loop.
    private final class Setting: @unchecked Sendable {
        // SAFETY: set before anything runs.
        let loop = EventLoop(name: "net-0")
        private(set) var port: ICELiteSocket?
        private(set) var sessions: [Session] = []

        init(sessions count: Int, connects: Bool = true) async throws {
            try await loop.run { [self] in
                let port = try ICELiteSocket(loop: loop, addresses: ["127.0.0.1"])
                self.port = port
                for _ in 0..<count {
                    let session = Session(port)
                    if connects { try session.connect(port) }
                    sessions.append(session)
                }
            }
            for session in sessions where connects {
                try await loop.until { session.lite?.selectedPair != nil && session.peer?.selectedPair != nil }
            }
        }

        func close() async throws {
            for session in sessions {
                let closed = Expectation("the end")
                loop.perform { session.close { closed.fulfill() } }
                try await closed.wait()
            }
            try await loop.run { [self] in port?.close() }
            await loop.stop()
        }
    }

    @Test func peersOfOnePortGetTheirOwnDatagrams() async throws {
        let setting = try await Setting(sessions: 3)
        try await setting.loop.run {
            for (index, session) in setting.sessions.enumerated() {
                session.sendFromPeer([0x80, UInt8(index)])
                session.send([0x90, UInt8(index)])
            }
        }
        for (index, session) in setting.sessions.enumerated() {
            try await setting.loop.until { !session.received.isEmpty && !session.receivedByPeer.isEmpty }
            #expect(try await setting.loop.run { session.received } == [[0x80, UInt8(index)]])
            #expect(try await setting.loop.run { session.receivedByPeer } == [[0x90, UInt8(index)]])
        }
        let locals = try await setting.loop.run { setting.sessions.compactMap { $0.lite?.selectedPair?.local } }
        #expect(locals.count == 3 && Set(locals).count == 1)
        #expect(try await setting.loop.run { setting.port?.sessionCount } == 3)
        let now = MonotonicClock.now
        #expect(try await setting.loop.run { setting.sessions[0].lite?.hasConsent(now) } == true)
        // Consent expires after 30 s without an answer.
        #expect(try await setting.loop.run { setting.sessions[0].lite?.hasConsent(now + .seconds(31)) } == false)
        try await setting.close()
        #expect(setting.port?.sessionCount == 0)
    }

    /// The arrival does not depend on when the loop reads the socket.
    @Test func aDatagramHasTheTimeAtWhichItReachedTheSocket() async throws {
        let setting = try await Setting(sessions: 1)
        let session = setting.sessions[0]
        let sent = try await setting.loop.run {
            session.sendFromPeer([0x80, 1])
            let now = MonotonicClock.now
            // The loop is busy meanwhile.
            MonotonicClock.sleep(until: now + .milliseconds(80))
            return now
        }
        try await setting.loop.until { !session.received.isEmpty }
        let arrival = try #require(try await setting.loop.run { session.arrival })
        #expect(arrival - sent < .milliseconds(60) && sent - arrival < .milliseconds(60))
        try await setting.close()
    }

    /// Equal sizes, shorter ends of runs, and longer packets after them are all sent as separate datagrams.
    @Test func aBatchArrivesAsItsPackets() async throws {
        let setting = try await Setting(sessions: 1)
        let lengths = [1_200, 1_200, 700, 20, 20, 1_200, 1] + Array(repeating: 900, count: 80) + [30]
        let session = setting.sessions[0]
        try await setting.loop.run {
            let slab = [UInt8](repeating: 0x80, count: 1_500 * lengths.count)
            slab.withUnsafeBytes { slab in
                guard let base = slab.baseAddress else { return }
                lengths.withUnsafeBufferPointer { session.lite?.sendBatch(base, stride: 1_500, lengths: $0) }
            }
        }
        try await setting.loop.until { session.receivedByPeer.count == lengths.count }
        #expect(try await setting.loop.run { session.receivedByPeer.map(\.count) } == lengths)
        #expect(try await setting.loop.run { session.lite?.counters.segmentedSends ?? 0 } >= 3)
        try await setting.close()
    }

    /// Whoever knows the password may forge the source of a request. Until an address has answered a check it gets the
    /// check and the answer, and nothing else.
    @Test func nothingIsSentToAnAddressThatDoesNotAnswer() async throws {
        let setting = try await Setting(sessions: 1, connects: false)
        let session = setting.sessions[0]
        let silent = try SilentPeer()
        let remote = try #require(ICECredentials(usernameFragment: "peer", password: String(repeating: "p", count: 22)))
        try await setting.loop.run {
            guard let lite = session.lite, let port = setting.port else { return }
            lite.setRemote(remote)
            // What the peer would send to this side: its requests have this side's password.
            silent.checks = ConsentChecks(local: remote, remote: lite.credentials, isControlling: true)
            for _ in 0..<20 { silent.request(port.port) }
            // A first flight of DTLS, and media.
            silent.send([22, 1, 2, 3], to: port.port)
            silent.send([0x80, 1, 2, 3], to: port.port)
        }
        try await setting.loop.until { silent.count(ofKind: 1) == 20 }
        try await setting.loop.run {
            session.send([22, 9, 9])
            session.lite?.sendBatch([0x80, 0, 0, 0], stride: 4, lengths: UnsafeBufferPointer(start: nil, count: 0))
        }
        #expect(try await setting.loop.run { session.lite?.selectedPair == nil })
        #expect(try await setting.loop.run { session.received.isEmpty })
        // One check for each 50 ms of requests; no other datagram.
        let kinds = silent.kinds
        #expect(kinds.filter { $0 == 0 }.count <= 3 && kinds.allSatisfy { $0 <= 1 }, "\(kinds)")
        try await setting.close()
    }

    /// Whoever knows the password cannot make the port send to others without limit.
    @Test func requestsFromUnprovenAddressesAreAnsweredASecondAtATime() async throws {
        let setting = try await Setting(sessions: 1, connects: false)
        let session = setting.sessions[0]
        let silent = try SilentPeer()
        let remote = try #require(ICECredentials(usernameFragment: "peer", password: String(repeating: "p", count: 22)))
        try await setting.loop.run {
            guard let lite = session.lite else { return }
            lite.setRemote(remote)
            silent.checks = ConsentChecks(local: remote, remote: lite.credentials, isControlling: true)
        }
        // The socket's buffer would overflow; an iteration of the loop empties it.
        for _ in 0..<10 {
            try await setting.loop.run {
                guard let port = setting.port else { return }
                for _ in 0..<40 { silent.request(port.port) }
            }
        }
        try await setting.loop.until { setting.port?.counters.datagrams == 400 }
        #expect((100...200).contains(silent.count(ofKind: 1)), "\(silent.kinds.count)")
        try await setting.close()
    }

    @Test func requestsOfStrangersAreNotAnswered() async throws {
        let setting = try await Setting(sessions: 1, connects: false)
        let session = setting.sessions[0]
        let stranger = try SilentPeer()
        let own = try #require(ICECredentials(usernameFragment: "evil", password: String(repeating: "e", count: 22)))
        try await setting.loop.run {
            guard let lite = session.lite, let port = setting.port else { return }
            // No such session.
            stranger.checks = ConsentChecks(local: own, remote: own, isControlling: true)
            stranger.request(port.port)
            // The name is right, the password is not.
            let guessed = ICECredentials(usernameFragment: lite.credentials.usernameFragment, password: own.password)
            stranger.checks = guessed.flatMap { ConsentChecks(local: own, remote: $0, isControlling: true) }
            stranger.request(port.port)
            stranger.send([0x80, 1, 2, 3], to: port.port)
            stranger.send([1, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42] + [UInt8](repeating: 7, count: 12), to: port.port)
            stranger.send([0], to: port.port)
            // RTP may fill a jumbo frame; STUN and DTLS are shorter.
            for (first, count) in [(0x80, 4_000), (0x80, 9_300), (20, 4_000), (0, 4_000)] as [(UInt8, Int)] {
                stranger.send([UInt8](repeating: first, count: count), to: port.port)
            }
        }
        try await setting.loop.until { setting.port?.counters.datagrams == 9 }
        let counters = try #require(try await setting.loop.run { setting.port?.counters })
        #expect(counters.refusedRequests == 3 && counters.strangers == 3)
        #expect(stranger.kinds.isEmpty)
        try await setting.close()
    }

    /// A peer that forges the address of another one does not get its place.
    @Test func aForgedSourceDoesNotTakeAnAddressOver() async throws {
        let setting = try await Setting(sessions: 1)
        let victim = setting.sessions[0]
        let attacker = try await setting.loop.run { setting.port.map { Session($0) } }
        let forger = try #require(attacker)
        let remote = try #require(ICECredentials(usernameFragment: "evil", password: String(repeating: "e", count: 22)))
        let requests = 10
        let before = try await setting.loop.run { setting.port?.counters.datagrams ?? 0 }
        try await setting.loop.run {
            guard let lite = forger.lite, let socket = victim.peer?.socket else { return }
            lite.setRemote(remote)
            // From the victim's own socket: what a forged source looks like.
            let checks = ConsentChecks(local: remote, remote: lite.credentials, isControlling: true)
            for _ in 0..<requests { checks?.send(to: socket.remote, through: socket.descriptor, number: 0) }
        }
        try await setting.loop.until { (setting.port?.counters.datagrams ?? 0) >= before + requests }
        try await setting.loop.run {
            victim.sendFromPeer([0x80, 7])
            victim.send([0x90, 7])
        }
        try await setting.loop.until { victim.received == [[0x80, 7]] && victim.receivedByPeer.last == [0x90, 7] }
        #expect(try await setting.loop.run { forger.received.isEmpty && forger.lite?.selectedPair == nil })
        try await setting.loop.run { forger.lite?.close() }
        try await setting.close()
    }

    /// A restart has new credentials; the old address is used until the new one has proved itself.
    @Test func aRestartMovesToAnotherAddress() async throws {
        let setting = try await Setting(sessions: 1)
        let session = setting.sessions[0]
        let (before, name) = try await setting.loop.run {
            (session.lite?.selectedPair?.remote, session.lite?.credentials.usernameFragment)
        }
        try await setting.loop.run {
            guard let port = setting.port else { return }
            session.lite?.restart()
            session.send([0x90, 1])
            try session.connect(port)
        }
        try await setting.loop.until { session.selections == [false, true] && session.peer?.selectedPair != nil }
        let after = try await setting.loop.run {
            (session.lite?.selectedPair?.remote, session.lite?.credentials.usernameFragment)
        }
        #expect(after.0 != before && after.1 != name)
        try await setting.loop.until { session.receivedByPeer.first == [0x90, 1] }
        // A restart that nobody uses changes nothing.
        try await setting.loop.run {
            session.lite?.restart()
            session.lite?.dropRestart()
        }
        #expect(try await setting.loop.run { session.lite?.credentials.usernameFragment } == after.1)
        try await setting.close()
    }

    /// An agent that controls nominates the address that answered it first, whichever this side would have taken.
    @Test func bothSidesUseThePairThatTheControllingAgentHasNominated() async throws {
        let setting = try await Setting(sessions: 0)
        let both = Both()
        try await setting.loop.run { try both.open(setting.loop) }
        // The address that this side would check first, and take.
        try await setting.loop.run { both.requestFromPeer(to: 0x7F00_0002) }
        try await setting.loop.until { both.datagrams == 1 }
        try await setting.loop.run { both.check("127.0.0.1") }
        // Its check and its nomination have come.
        try await setting.loop.until { both.datagrams >= 3 }
        try await setting.loop.run { both.takeRemote() }
        try await setting.loop.until { both.lite?.selectedPair?.local == both.peer?.selectedPair?.remote }
        #expect(try await setting.loop.run { both.lite?.selectedPair?.localAddress } == "127.0.0.1")
        try await setting.loop.run { both.close() }
        try await setting.close()
    }

    /// A session with two addresses, and an agent that controls. Touched on the loop.
    private final class Both: @unchecked Sendable {
        // SAFETY: touched on the loop.
        private(set) var lite: ICELiteAgent?
        private(set) var peer: ICELiteAgent?
        private var sockets: [ICELiteSocket] = []

        func open(_ loop: EventLoop) throws {
            for addresses in [["127.0.0.1", "127.0.0.2"], ["127.0.0.1"]] {
                sockets.append(try ICELiteSocket(loop: loop, addresses: addresses))
            }
            let handlers = ICELiteAgent.Handlers(willSelect: {}, onSelection: { _ in }, onDatagram: { _, _ in })
            lite = ICELiteAgent(sockets[0], handlers: handlers)
            peer = ICELiteAgent(sockets[1], isControlling: true, handlers: handlers)
        }

        /// What this side has received.
        var datagrams: Int { sockets[0].counters.datagrams }

        /// A check that the peer does not know of.
        func requestFromPeer(to address: UInt32) {
            guard let lite, let peer else { return }
            let checks = ConsentChecks(local: peer.credentials, remote: lite.credentials, isControlling: true)
            var place = SilentPeer.place(sockets[0].port, address)
            checks?.send(to: &place, through: sockets[1].sockets[0].descriptor, number: 0)
        }

        func check(_ address: String) {
            guard let lite, let peer else { return }
            peer.setRemote(lite.credentials)
            peer.check(sockets[0].candidates(includesLoopback: true).filter { $0.address == address })
        }

        func takeRemote() { if let peer { lite?.setRemote(peer.credentials) } }

        func close() {
            lite?.close()
            peer?.close()
            for socket in sockets { socket.close() }
        }
    }

    /// Somebody says that three peers have gone, and only one has.
    @Test func aPeerThatIsDoubtedIsCheckedBeforeItIsGivenUp() async throws {
        let setting = try await Setting(sessions: 3)
        let (gone, quiet, active) = (setting.sessions[0], setting.sessions[1], setting.sessions[2])
        try await setting.loop.run {
            gone.closePeer()
            for session in setting.sessions { session.lite?.checkConsent(MonotonicClock.now) }
            #expect(setting.sessions.allSatisfy { !$0.hasGone })
        }
        let began = MonotonicClock.now
        try await setting.loop.until {
            active.lite?.noteAuthentic(MonotonicClock.now)
            return gone.hasGone
        }
        #expect(MonotonicClock.now - began > .seconds(2) && MonotonicClock.now - began < .seconds(20))
        try await setting.loop.run {
            #expect(!quiet.hasGone && !active.hasGone)
            #expect(quiet.lite?.hasConsent(MonotonicClock.now) == true)
            // Not again within 30 s.
            gone.hasGone = false
            gone.lite?.checkConsent(MonotonicClock.now)
            gone.lite?.handleTimeout(MonotonicClock.now + .seconds(4))
            #expect(!gone.hasGone)
            gone.lite?.checkConsent(MonotonicClock.now + .seconds(31))
            gone.lite?.handleTimeout(MonotonicClock.now + .seconds(35))
            #expect(gone.hasGone)
        }
        try await setting.close()
    }

    @Test func aPortThatIsTakenIsSaid() async throws {
        let setting = try await Setting(sessions: 0)
        let port = try #require(setting.port?.port)
        await #expect(throws: ICEFailure.self) {
            try await setting.loop.run {
                _ = try ICELiteSocket(loop: setting.loop, addresses: ["127.0.0.1"], port: port)
            }
        }
        // RFC 5737: no address of this machine.
        let bound = try await setting.loop.run { () -> [String] in
            let port = try ICELiteSocket(loop: setting.loop, addresses: ["198.51.100.77", "127.0.0.1", "127.0.0.2"])
            defer { port.close() }
            return port.candidates(includesLoopback: true).map(\.address)
        }
        #expect(bound == ["127.0.0.1", "127.0.0.2"])
        let candidates = try await setting.loop.run { () -> [ICECandidate] in
            let port = try ICELiteSocket(loop: setting.loop, publicAddress: "192.0.2.7")
            defer { port.close() }
            return port.candidates(includesLoopback: false)
        }
        #expect(candidates.first?.address == "192.0.2.7")
        #expect(candidates.allSatisfy { $0.address != "127.0.0.1" && $0.kind == .host })
        #expect(Set(candidates.map(\.port)).count == 1)
        try await setting.close()
    }
}

/// A UDP socket on loopback that answers nothing.
private final class SilentPeer: @unchecked Sendable {
    // SAFETY: `checks` is touched on the loop.
    var checks: ConsentChecks?
    private let socket: Int32
    private let seen = Monitor<[UInt8]>([])

    init() throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var place = Self.place(0)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { place in
                place.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, length) }
            }
        }
        try #require(code == 0)
    }

    deinit { close(socket) }

    static func place(_ port: UInt16, _ address: UInt32 = 0x7F00_0001) -> sockaddr_storage {
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { bytes in
            var place = sockaddr_in()
            place.sin_family = sa_family_t(AF_INET)
            place.sin_port = port.bigEndian
            place.sin_addr.s_addr = address.bigEndian
            bytes.storeBytes(of: place, as: sockaddr_in.self)
        }
        return storage
    }

    func request(_ port: UInt16) {
        withUnsafePointer(to: Self.place(port)) { checks?.send(to: $0, through: socket, number: 0) }
    }

    func send(_ bytes: [UInt8], to port: UInt16) {
        withUnsafePointer(to: Self.place(port)) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = sendto(socket, bytes, bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    /// The first byte of each datagram so far: 0 is a request, 1 an answer.
    var kinds: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 2_048)
        return seen.with { seen in
            while recv(socket, &bytes, bytes.count, Int32(MSG_DONTWAIT)) > 0 { seen.append(bytes[0]) }
            return seen
        }
    }

    func count(ofKind kind: UInt8) -> Int { kinds.filter { $0 == kind }.count }
}
