import EventLoop
import Glibc
import LinuxRuntime
import SessionDescription
import Synchronization
import TestSupport
import Testing

@testable import ICETransport

/// The UDP ports that a firewall lets in.
@Suite(.timeLimit(.minutes(1)))
struct PortRangeTests {
    /// Gathers on loopback until that is complete.
    /// - Returns: the ports of the candidates.
    private func gather(_ ports: ClosedRange<UInt16>) async throws -> [UInt16] {
        let loop = EventLoop(name: "net-0")
        let (gathered, closed) = (Expectation("the end of gathering"), Expectation("the end"))
        let found = Mutex<[UInt16]>([])
        let agent = Mutex<LoopBound<ICEAgent>?>(nil)
        try await loop.run {
            let made = try ICEAgent(
                loop: loop,
                configuration: .init(isControlling: true, localAddresses: [], includesLoopback: true, ports: ports),
                handlers: .init(
                    onCandidate: { candidate in found.withLock { $0.append(candidate.port) } },
                    onGatheringDone: { gathered.fulfill() }, onDatagram: { _ in }))
            agent.withLock { $0 = LoopBound(loop, made) }
            try made.gather()
        }
        try await gathered.wait()
        agent.withLock { $0 }?.perform { $0.close { closed.fulfill() } }
        try await closed.wait()
        await loop.stop()
        return found.withLock { $0 }
    }

    @Test func candidatesHavePortsOfTheRangeAndOthersWhenAllAreTaken() async throws {
        let taken = try LoopbackSocket()
        // Some of the ports beside it are free.
        let range = max(taken.port, 1_100) - 50...min(taken.port, 65_000) + 50
        let found = try await gather(range)
        #expect(found.count == 1 && found.allSatisfy { range.contains($0) && $0 != taken.port }, "\(found)")
        // This one is not.
        let other = try await gather(taken.port...taken.port)
        #expect(other.count == 1 && other.first != taken.port, "\(other)")
    }
}

/// A UDP socket on a free port of 127.0.0.1.
private final class LoopbackSocket {
    private let descriptor: Int32
    let port: UInt16

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let code = withUnsafeMutablePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
            }
        }
        port = UInt16(bigEndian: place.sin_port)
        try #require(code == 0)
    }

    deinit { close(descriptor) }
}
