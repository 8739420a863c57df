import EventLoop
import Glibc
import LinuxRuntime
import SessionDescription
import Synchronization
import TestSupport
import Testing

@testable import ICETransport

/// TURN servers that misbehave: gathering ends, and the agent keeps working.
@Suite(.timeLimit(.minutes(2)))
struct HostileRelayTests {
    /// Gathers with a server that answers each request by `answer`, until gathering is complete.
    /// - Returns: the kinds of the candidates found, and the number of requests.
    private func gather(_ answer: @escaping @Sendable ([UInt8]) -> [UInt8]) async throws -> ([String], Int) {
        let server = try FakeRelay(answer)
        let loop = EventLoop(name: "net-0")
        let (gathered, closed) = (Expectation("the end of gathering"), Expectation("the end"))
        let kinds = Mutex<[String]>([])
        let agent = Mutex<LoopBound<ICEAgent>?>(nil)
        try await loop.run {
            let made = try ICEAgent(
                loop: loop,
                configuration: .init(
                    isControlling: true,
                    turnServers: [.init(address: "127.0.0.1", port: server.port, username: "alice", password: "x")],
                    localAddresses: [], includesLoopback: true),
                handlers: .init(
                    onCandidate: { candidate in kinds.withLock { $0.append(candidate.kind.rawValue) } },
                    onGatheringDone: { gathered.fulfill() }, onDatagram: { _ in }))
            agent.withLock { $0 = LoopBound(loop, made) }
            try made.gather()
        }
        try await gathered.wait()
        agent.withLock { $0 }?.perform { $0.close { closed.fulfill() } }
        try await closed.wait()
        await loop.stop()
        return (kinds.withLock { $0 }, server.requests)
    }

    @Test func oneThatNeverAcceptsTheCredentialIsGivenUp() async throws {
        let (kinds, requests) = try await gather { refusal(of: $0, 401) }
        #expect(kinds == ["host"])
        #expect((1...4).contains(requests))
    }

    @Test(arguments: [403, 437, 442, 486, 500, 508])
    func oneThatRefusesIsGivenUp(_ code: Int) async throws {
        let (kinds, requests) = try await gather { refusal(of: $0, code) }
        #expect(kinds == ["host"])
        #expect((1...4).contains(requests))
    }
}

/// An error response with realm and nonce. RFC 8489 section 14.8.
private func refusal(of request: [UInt8], _ code: Int) -> [UInt8] {
    func attribute(_ type: UInt8, _ value: [UInt8]) -> [UInt8] {
        [0, type, 0, UInt8(value.count)] + value + Array(repeating: 0, count: (4 - value.count % 4) % 4)
    }
    let attributes =
        attribute(9, [0, 0, UInt8(code / 100), UInt8(code % 100)] + Array("no".utf8))
        + attribute(0x14, Array("realm".utf8)) + attribute(0x15, Array("nonce".utf8))
    return [1, 0x13, 0, UInt8(attributes.count)] + request[4..<20] + attributes
}

/// A UDP socket on loopback that answers every datagram; closed with the value.
private final class FakeRelay: Sendable {
    let port: UInt16
    private let socket: Int32
    private let count = Atomic(0)

    var requests: Int { count.load(ordering: .relaxed) }

    init(_ answer: @escaping @Sendable ([UInt8]) -> [UInt8]) throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        self.socket = socket
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        try #require(isBound)
        port = UInt16(bigEndian: address.sin_port)
        _ = NamedThread("relay") { [weak self] in
            Self.serve(socket, { self?.count.add(1, ordering: .relaxed) }, answer)
        }
    }

    /// Ends the thread, which closes the socket.
    deinit { shutdown(socket, Int32(SHUT_RDWR)) }

    private static func serve(_ socket: Int32, _ counted: () -> Void, _ answer: ([UInt8]) -> [UInt8]) {
        var bytes = [UInt8](repeating: 0, count: 2_048)
        var from = sockaddr()
        while true {
            var length = socklen_t(MemoryLayout<sockaddr>.size)
            let got = recvfrom(socket, &bytes, bytes.count, 0, &from, &length)
            guard got > 0 else { break }
            guard got >= 20 else { continue }
            counted()
            let reply = answer(Array(bytes[..<got]))
            sendto(socket, reply, reply.count, 0, &from, length)
        }
        close(socket)
    }
}
