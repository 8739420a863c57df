import EventLoop
import Glibc
import LinuxRuntime
import MediaCore
import Synchronization
import TestSupport
import Testing

@testable import ICETransport

/// The agent's own checks, and the change to another address of a peer.
@Suite(.timeLimit(.minutes(1)))
struct ConsentChecksTests {
    /// A pair whose controlling side has two addresses.
    private func pair(_ loop: EventLoop) async throws -> AgentPair {
        let pair = AgentPair(loop: loop)
        pair.controllingAddresses = ["127.0.0.1", "127.0.0.2"]
        try await pair.connect()
        return pair
    }

    @Test func aPeerAnswersChecks() async throws {
        let loop = EventLoop(name: "net-0")
        let pair = try await AgentPair.connected(on: loop)
        for _ in 0..<3 {
            let before = try await loop.run { pair.agent(.controlled).counters.consentAnswers }
            loop.perform { pair.agent(.controlled).checkConsent() }
            try await loop.until { pair.agent(.controlled).counters.consentAnswers > before }
        }
        #expect(try await loop.run { pair.agent(.controlled).hasConsent(MonotonicClock.now) })
        // Consent expires after 30 s without an answer.
        #expect(try await loop.run { !pair.agent(.controlled).hasConsent(MonotonicClock.now + .seconds(31)) })
        try await pair.close()
        await loop.stop()
    }

    @Test func forgedAnswersAreNone() async throws {
        let loop = EventLoop(name: "net-0")
        let pair = try await AgentPair.connected(on: loop)
        try await loop.run {
            let agent = pair.agent(.controlled)
            agent.checkConsent()
            // The message is well-formed, but its transaction is unknown to anyone who has not seen the request.
            let forged: [UInt8] = [1, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42] + [UInt8](repeating: 7, count: 12)
            for length in [0, 1, 19, 20] {
                forged[..<length].withUnsafeBytes { agent.handleCheckResponse($0) }
            }
            #expect(agent.counters.consentAnswers == 0)
        }
        try await pair.close()
        await loop.stop()
    }

    /// A browser whose connection an outage has cut continues when a check arrives.
    @Test func unansweredChecksAreRepeatedSoon() async throws {
        let loop = EventLoop(name: "net-0")
        let pair = try await AgentPair.connected(on: loop)
        let stranger = try Stranger()
        let began = MonotonicClock.now
        try await loop.run {
            let agent = pair.agent(.controlled)
            guard let socket = agent.socket,
                let own = agent.localSockets.all.first(where: { $0.descriptor == socket.descriptor })
            else { return }
            // 127.0.0.3, as a sockaddr_in.
            var address = socket.remote.pointee
            withUnsafeMutableBytes(of: &address) {
                $0.storeBytes(of: stranger.port.bigEndian, toByteOffset: 2, as: UInt16.self)
                $0.storeBytes(of: UInt32(0x7F00_0003).bigEndian, toByteOffset: 4, as: UInt32.self)
            }
            agent.move(to: address, through: own)
            agent.checkConsent()
        }
        try await loop.until { stranger.requests() >= 5 }
        // Four intervals of 400 to 600 ms.
        #expect((1_500...20_000).contains((MonotonicClock.now - began).nanoseconds / 1_000_000))
        try await pair.close()
        await loop.stop()
    }

    @Test func packetsFollowAPeerThatIsHeardFromElsewhereAndAnswers() async throws {
        let loop = EventLoop(name: "net-0")
        let pair = try await pair(loop)
        let other = try await sendFromTheOther(pair, loop)
        try await loop.until {
            pair.agent(.controlled).checkUnverifiedAddress(MonotonicClock.now)
            return pair.agent(.controlled).selectedPair?.remote == other
        }
        // Packets arrive at the new address.
        let arrived = Expectation("a datagram")
        pair.onDatagram = { side, _ in if side == .controlling { arrived.fulfill() } }
        loop.perform { pair.send([0x80, 1], from: .controlled) }
        try await arrived.wait()
        try await pair.close()
        await loop.stop()
    }

    @Test func packetsDoNotFollowToWhoDoesNotAnswer() async throws {
        let loop = EventLoop(name: "net-0")
        let pair = try await pair(loop)
        let before = try await loop.run { pair.agent(.controlled).selectedPair?.remote }
        // Anyone may send media to the host's socket from a foreign address.
        let stranger = try Stranger()
        let place = try await loop.run { pair.agent(.controlled).selectedPair?.local }
        let port = try #require(place.flatMap { $0.split(separator: ":").last }.flatMap { UInt16($0) })
        try await loop.until {
            stranger.send([0x80, 1, 2, 3], to: port)
            pair.agent(.controlled).checkUnverifiedAddress(MonotonicClock.now)
            return stranger.requests() >= 3
        }
        #expect(try await loop.run { pair.agent(.controlled).selectedPair?.remote } == before)
        try await pair.close()
        await loop.stop()
    }

    /// - Returns: the address of the sender.
    private func sendFromTheOther(_ pair: AgentPair, _ loop: EventLoop) async throws -> String {
        let found: String? = try await loop.run {
            let agent = pair.agent(.controlling)
            guard let socket = agent.socket,
                let other = agent.localSockets.all.first(where: { $0.descriptor != socket.descriptor })
            else { return nil }
            agent.move(to: socket.remote.pointee, through: other)
            agent.checkConsent()
            return other.endpoint
        }
        let repeated = try #require(found)
        // From now on, packets come from that address each 20 ms.
        loop.perform { Self.keepSending(pair, loop) }
        return repeated
    }

    private static func keepSending(_ pair: AgentPair, _ loop: EventLoop) {
        nonisolated(unsafe) var timer: LoopTimer?
        timer = loop.makeTimer {
            if pair.send([0x80, 9], from: .controlling) {
                timer?.set(MonotonicClock.now + .milliseconds(20))
            } else {
                timer?.close()
                timer = nil
            }
        }
        timer?.set(MonotonicClock.now)
    }
}

/// A UDP socket on 127.0.0.3 that answers nothing.
private final class Stranger: Sendable {
    private let socket: Int32
    private let count = Atomic(0)

    init() throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        let socket = socket
        let code = Self.with(0x7F00_0003, 0) { bind(socket, $0, $1) }
        try #require(code == 0)
    }

    deinit { close(socket) }

    var port: UInt16 {
        var place = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(socket, $0, &length) }
        }
        return UInt16(bigEndian: place.sin_port)
    }

    func send(_ bytes: [UInt8], to port: UInt16) {
        _ = Self.with(0x7F00_0001, port) { Int32(sendto(socket, bytes, bytes.count, 0, $0, $1)) }
    }

    /// The number of STUN binding requests so far.
    func requests() -> Int {
        var bytes = [UInt8](repeating: 0, count: 2_048)
        while recv(socket, &bytes, bytes.count, Int32(MSG_DONTWAIT)) >= 20 {
            if bytes[0] == 0, bytes[1] == 1 { count.add(1, ordering: .relaxed) }
        }
        return count.load(ordering: .relaxed)
    }

    private static func with(
        _ address: UInt32, _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_port = port.bigEndian
        place.sin_addr.s_addr = address.bigEndian
        return withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }
}
