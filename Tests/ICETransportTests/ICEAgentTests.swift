import EventLoop
import Glibc
import MediaCore
import SessionDescription
import Synchronization
import TestSupport
import Testing

@testable import ICETransport

@Suite struct ICEAgentTests {
    @Test func twoAgentsOnLoopbackExchangeDatagrams() async throws {
        let loop = EventLoop(name: "net-0")
        let pair = try await AgentPair.connected(on: loop)
        let arrived = Expectation("the datagrams")
        pair.onDatagram = { side, datagram in
            if side == .controlled, datagram == [0x80, 1, 2, 3] {
                pair.send([0x80, 9], from: .controlled)
            } else if side == .controlling, datagram == [0x80, 9] {
                arrived.fulfill()
            }
        }
        loop.perform { pair.send([0x80, 1, 2, 3], from: .controlling) }
        try await arrived.wait()
        let path = try await loop.run { pair.agent(.controlling).selectedPair }
        #expect(path?.isRelayed == false)
        #expect(path?.remote.hasPrefix("127.0.0.1:") == true)
        try await pair.close()
        await loop.stop()
    }

    /// Equal sizes, shorter ends of runs, and longer packets after them are all sent as separate datagrams.
    @Test func aBatchArrivesAsItsPackets() async throws {
        let loop = EventLoop(name: "net-0")
        let pair = try await AgentPair.connected(on: loop)
        let lengths = [1_200, 1_200, 1_200, 700, 20, 20, 1_200, 1, 1_200] + Array(repeating: 900, count: 80) + [30]
        let stride = 1_500
        let arrived = Expectation("the last packet")
        let received = Mutex<[[UInt8]]>([])
        pair.onDatagram = { side, datagram in
            received.withLock { $0.append(datagram) }
            if received.withLock({ $0.count }) == lengths.count { arrived.fulfill() }
        }
        let counters = try await loop.run {
            var slab = [UInt8](repeating: 0x80, count: stride * lengths.count)
            for (index, length) in lengths.enumerated() where length > 1 { slab[index * stride + 1] = UInt8(index) }
            slab.withUnsafeBytes { slab in
                guard let base = slab.baseAddress else { return }
                lengths.withUnsafeBufferPointer {
                    pair.agent(.controlling).sendBatch(base, stride: stride, lengths: $0)
                }
            }
            return pair.agent(.controlling).counters
        }
        try await arrived.wait()
        let packets = received.withLock { $0 }
        #expect(packets.map(\.count) == lengths)
        #expect(packets.enumerated().allSatisfy { $1.count < 2 || $1[1] == UInt8($0) })
        #expect(counters.packetsSent == lengths.count)
        #expect(counters.bytesSent == lengths.reduce(0, +))
        #expect(counters.segmentedSends >= 4)
        #expect(counters.packetsDropped == 0)
        #expect(counters.sendErrors == 0)
        try await pair.close()
        await loop.stop()
    }

    /// Datagrams that look like STUN are left to libnice, which then reads those behind them, too.
    @Test func mediaArrivesInOrderAroundWhatIsNoMedia() async throws {
        let loop = EventLoop(name: "net-0")
        let pair = try await AgentPair.connected(on: loop)
        let last = UInt8.max
        let arrived = Expectation("the last packet")
        let received = Mutex<[UInt8]>([])
        @Sendable func send(_ number: UInt8) {
            if number % 10 == 5 { pair.send([number % 4, 1, 0, 0, 1], from: .controlling) }
            pair.send([0x80, number], from: .controlling)
        }
        // Each datagram is sent after the last arrived, so that each is read in its own iteration.
        pair.onDatagram = { _, datagram in
            guard datagram.first == 0x80 else { return }
            received.withLock { $0.append(datagram[1]) }
            if datagram[1] == last { arrived.fulfill() } else { loop.perform { send(datagram[1] + 1) } }
        }
        loop.perform { send(0) }
        try await arrived.wait()
        #expect(received.withLock { $0 } == Array(0...last))
        let counters = try await loop.run { pair.agent(.controlled).counters }
        #expect((100..<256).contains(counters.packetsReadDirectly))
        #expect(counters.packetsReceived >= 256)
        try await pair.close()
        await loop.stop()
    }

    @Test func theFirstDatagramsWaitForAPair() async throws {
        let loop = EventLoop(name: "net-0")
        let pair = AgentPair(loop: loop)
        let arrived = Expectation("what was sent before there was a pair")
        let received = Mutex<[[UInt8]]>([])
        pair.onDatagram = { _, datagram in
            received.withLock { $0.append(datagram) }
            if received.withLock({ $0.count }) == ICEAgent.earlyLimit { arrived.fulfill() }
        }
        try await loop.run {
            try pair.open()
            for number in 0...UInt8(ICEAgent.earlyLimit) {
                #expect(pair.send([22, number], from: .controlled) == (number < ICEAgent.earlyLimit))
            }
        }
        try await arrived.wait()
        #expect(received.withLock { $0 } == (0..<UInt8(ICEAgent.earlyLimit)).map { [22, $0] })
        try await pair.close()
        await loop.stop()
    }

    @Test func sendingAfterTheEndFails() async throws {
        let loop = EventLoop(name: "net-0")
        let pair = try await AgentPair.connected(on: loop)
        try await loop.run {
            #expect(pair.send([0x80], from: .controlled))
            pair.agent(.controlled).close()
            #expect(!pair.send([0x80], from: .controlled))
            #expect(throws: CandidateRefusal.closed) {
                try pair.agent(.controlled).addRemote(
                    #require(ICECandidate("candidate:1 1 udp 5 127.0.0.1 9 typ host")))
            }
            pair.agent(.controlled).remoteCandidatesEnded()
            try pair.agent(.controlled).gather()
        }
        try await pair.close()
        await loop.stop()
    }

    @Test func anAgentMayBeClosedFromItsOwnCallback() async throws {
        let loop = EventLoop(name: "net-0")
        let pair = try await AgentPair.connected(on: loop)
        let closed = Expectation("the end")
        let after = Mutex(0)
        pair.onDatagram = { side, _ in
            after.withLock { $0 += 1 }
            pair.agent(side).close { closed.fulfill() }
        }
        loop.perform { for _ in 0..<3 { pair.send([0x80, 1], from: .controlling) } }
        try await closed.wait()
        #expect(after.withLock { $0 } == 1)
        try await pair.close()
        await loop.stop()
    }

    @Test func aClosedAgentIsReleased() async throws {
        let loop = EventLoop(name: "net-0")
        final class Weak: @unchecked Sendable {
            // SAFETY: touched on the loop only.
            weak var agent: ICEAgent?
        }
        let observed = Weak()
        let closed = Expectation("the end")
        try await loop.run {
            let agent = try ICEAgent(
                loop: loop, configuration: .init(isControlling: false, localAddresses: [], includesLoopback: true),
                handlers: .init { _ in })
            observed.agent = agent
            try agent.gather()
            agent.close { closed.fulfill() }
        }
        try await closed.wait()
        #expect(try await loop.run { observed.agent == nil })
        await loop.stop()
    }

    @Test func candidatesThatAreGatheredCanBeRead() async throws {
        let loop = EventLoop(name: "net-0")
        let gathered = Expectation("the end of gathering")
        let closed = Expectation("the end")
        let candidates = Mutex<[ICECandidate]>([])
        let agent = Mutex<LoopBound<ICEAgent>?>(nil)
        try await loop.run {
            let made = try ICEAgent(
                loop: loop, configuration: .init(isControlling: false, includesLoopback: true),
                handlers: .init(
                    onCandidate: { candidate in candidates.withLock { $0.append(candidate) } },
                    onGatheringDone: { gathered.fulfill() }, onDatagram: { _ in }))
            agent.withLock { $0 = LoopBound(loop, made) }
            try made.gather()
        }
        try await gathered.wait()
        let addresses = candidates.withLock { $0.map(\.address) }
        #expect(addresses.contains("127.0.0.1"))
        #expect(Set(addresses).count == addresses.count)
        agent.withLock { $0 }?.perform { $0.close { closed.fulfill() } }
        try await closed.wait()
        await loop.stop()
    }

    @Test func manyAgentsLeaveNoDescriptors() async throws {
        let loop = EventLoop(name: "net-0")
        for _ in 0..<3 { try await Self.openAndClose(20, on: loop) }
        // Each agent has its own sockets; tests that run concurrently open fewer than this.
        let before = Self.openDescriptors()
        for _ in 0..<10 { try await Self.openAndClose(20, on: loop) }
        #expect(Self.openDescriptors() < before + 100)
        await loop.stop()
    }

    private static func openAndClose(_ count: Int, on loop: EventLoop) async throws {
        let closed = Expectation("the end of all")
        let left = Atomic(count)
        try await loop.run {
            for _ in 0..<count {
                let agent = try ICEAgent(
                    loop: loop, configuration: .init(isControlling: true, localAddresses: [], includesLoopback: true),
                    handlers: .init { _ in })
                try agent.gather()
                agent.setRemote(
                    try #require(ICECredentials(usernameFragment: "abcd", password: String(repeating: "x", count: 22))))
                try agent.addRemote(#require(ICECandidate("candidate:1 1 udp 5 127.0.0.1 9 typ host")))
                agent.close { if left.subtract(1, ordering: .relaxed).newValue == 0 { closed.fulfill() } }
            }
        }
        try await closed.wait()
    }

    private static func openDescriptors() -> Int { (0..<4_096).count { fcntl(Int32($0), F_GETFD) >= 0 } }

    @Test func hostileCandidatesAreCountedAndLimited() async throws {
        let loop = EventLoop(name: "net-0")
        let pair = try await AgentPair.connected(on: loop)
        let counters = try await loop.run {
            let agent = pair.agent(.controlling)
            for bad in ["1 2 udp 5 192.0.2.1 9", "1 1 tcp 5 192.0.2.1 9", "1 1 udp 5 a.local 9", "1 1 udp 5 0.0.0.0 9"]
            {
                let candidate = try #require(ICECandidate("candidate:\(bad) typ host"))
                #expect(throws: CandidateRefusal.self) { try agent.addRemote(candidate) }
            }
            for port in 1...100 {
                try? agent.addRemote(#require(ICECandidate("candidate:1 1 udp 5 127.0.0.1 \(port) typ host")))
            }
            #expect(throws: CandidateRefusal.tooMany) {
                try agent.addRemote(#require(ICECandidate("candidate:1 1 udp 5 127.0.0.1 9 typ host")))
            }
            return agent.counters
        }
        #expect(counters.candidatesRefused >= 64)
        // The pair still works.
        let arrived = Expectation("a datagram")
        pair.onDatagram = { _, _ in arrived.fulfill() }
        loop.perform { pair.send([0x80], from: .controlling) }
        try await arrived.wait()
        try await pair.close()
        await loop.stop()
    }

    @Test func aBadConfigurationIsAnError() async throws {
        let loop = EventLoop(name: "net-0")
        for configuration in [
            ICEAgent.Configuration(isControlling: true, localAddresses: ["localhost"]),
            .init(isControlling: true, stunServers: [.init(address: "stun.example.org")]),
            .init(
                isControlling: true,
                turnServers: [.init(address: "turn.example.org", username: "a", password: "b")]),
        ] {
            try await loop.run {
                #expect(throws: ICEFailure.self) {
                    _ = try ICEAgent(loop: loop, configuration: configuration, handlers: .init { _ in })
                }
            }
        }
        await loop.stop()
    }
}
