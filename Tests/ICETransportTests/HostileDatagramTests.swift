import EventLoop
import Glibc
import MediaCore
import SessionDescription
import Synchronization
import TestSupport
import Testing

@testable import ICETransport

@Suite struct HostileDatagramTests {
    /// A stranger sends STUN and garbage to both ports of a working pair. The pair keeps working and delivers none of
    /// it.
    @Test func strangersNeitherEndTheProcessNorReachTheMedia() async throws {
        let loop = EventLoop(name: "net-0")
        let pair = try await AgentPair.connected(on: loop)
        let arrived = Expectation("a datagram after the storm")
        let strange = Mutex(0)
        pair.onDatagram = { _, datagram in
            if datagram == [0x80, 1, 2] { arrived.fulfill() } else { strange.withLock { $0 += 1 } }
        }
        let ports = try await loop.run {
            [AgentPair.Side.controlling, .controlled].compactMap { pair.agent($0).selectedPair?.local }
                .compactMap { $0.split(separator: ":").last.flatMap { UInt16($0) } }
        }
        #expect(ports.count == 2)
        let username = try await loop.run {
            pair.agent(.controlling).credentials.usernameFragment + ":"
                + pair.agent(.controlled).credentials.usernameFragment
        }
        var generator = SeededGenerator(seed: 3)
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { Glibc.close(descriptor) }
        for round in 0..<3_000 {
            var bytes = Self.stun(username: username, using: &generator)
            switch round % 3 {
            case 0: break
            case 1:
                for _ in 0..<4 where !bytes.isEmpty {
                    bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
                }
            default: bytes = Array(bytes.prefix(.random(in: 0...bytes.count, using: &generator)))
            }
            for port in ports { Self.send(bytes, to: port, over: descriptor) }
            // The sockets' buffers would overflow; an iteration of the loop empties them.
            if round % 50 == 0 { try await loop.run {} }
        }
        loop.perform { pair.send([0x80, 1, 2], from: .controlling) }
        try await arrived.wait()
        #expect(strange.withLock { $0 } == 0)
        try await pair.close()
        await loop.stop()
    }

    /// The same at a port that peers share, with the name of a session.
    @Test func strangersAtASharedPortGetNoAnswer() async throws {
        let loop = EventLoop(name: "net-0")
        let made = try await loop.run { () -> (LoopBound<ICELiteSocket>, LoopBound<ICELiteAgent>) in
            let port = try ICELiteSocket(loop: loop, addresses: ["127.0.0.1"])
            let session = ICELiteAgent(
                port,
                handlers: .init(
                    willSelect: {}, onSelection: { _ in Issue.record("selected") },
                    onDatagram: { _, _ in Issue.record("delivered") }))
            return (LoopBound(loop, port), LoopBound(loop, session))
        }
        let name = made.1.read(\.credentials).usernameFragment + ":peer"
        var generator = SeededGenerator(seed: 4)
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { Glibc.close(descriptor) }
        for round in 0..<3_000 {
            var bytes = Self.stun(username: name, using: &generator)
            if round % 3 == 1 { bytes = Array(bytes.prefix(.random(in: 0...bytes.count, using: &generator))) }
            if round % 3 == 2, !bytes.isEmpty { bytes[0] = .random(in: 0...255, using: &generator) }
            Self.send(bytes, to: made.0.read(\.port), over: descriptor)
            if round % 50 == 0 { try await loop.run {} }
        }
        try await loop.run {}
        var answer = [UInt8](repeating: 0, count: 2_048)
        #expect(recv(descriptor, &answer, answer.count, Int32(MSG_DONTWAIT)) < 0)
        #expect(try await loop.run { made.0.read { $0.counters.datagrams } } > 2_000)
        try await loop.run {
            made.1.assumeIsolated { $0.close() }
            made.0.assumeIsolated { $0.close() }
        }
        await loop.stop()
    }

    /// A STUN message (RFC 8489 section 5) with random attributes, some with wrong lengths.
    private static func stun(username: String, using generator: inout SeededGenerator) -> [UInt8] {
        let kinds: [UInt16] = [0x0001, 0x0101, 0x0111, 0x0011, 0x0003, 0x0016, 0x3fff]
        let attributes: [UInt16] = [
            0x0001, 0x0006, 0x0008, 0x0009, 0x000a, 0x0020, 0x0024, 0x0025, 0x8022, 0x8028, 0x8029, 0x802a, 0x7777,
        ]
        func two(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 255)] }
        var body: [UInt8] = []
        for _ in 0..<Int.random(in: 0...6, using: &generator) {
            let kind = attributes.randomElement(using: &generator) ?? 6
            var value = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            if kind == 6 { value = Array(username.utf8) }
            let lies = Int.random(in: 0..<8, using: &generator) == 0
            body += two(kind) + two(lies ? .random(in: 0...65_535, using: &generator) : UInt16(value.count)) + value
            while body.count % 4 != 0 { body.append(0) }
        }
        return two(kinds.randomElement(using: &generator) ?? 1) + two(UInt16(body.count)) + [0x21, 0x12, 0xa4, 0x42]
            + (0..<12).map { _ in UInt8.random(in: 0...255, using: &generator) } + body
    }

    private static func send(_ bytes: [UInt8], to port: UInt16, over descriptor: Int32) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = sendto(descriptor, bytes, bytes.count, 0, address, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
