import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// A server that a peer has named, to which a client connects only at addresses that the peer may name.
@Suite(.timeLimit(.minutes(1))) struct NamedServerTests {
    private func client(
        of link: Link, permits: @escaping @Sendable (String) -> Bool
    ) throws -> SignalingClient {
        var settings = SignalingClient.Configuration()
        settings.permits = permits
        return try SignalingClient(link: link, configuration: settings)
    }

    private func link(_ host: String, _ port: Int, like link: Link? = nil) -> Link {
        Link(
            host: host, port: port, id: link?.id ?? .random(), secret: link?.secret ?? Link.randomSecret(),
            fingerprint: link?.fingerprint ?? randomFingerprint())
    }

    /// Every text that ends at this machine is resolved before it is checked.
    @Test(arguments: ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001"])
    func anAddressThatMayNotBeNamedGetsNoConnection(_ host: String) async throws {
        let port = try ConnectionCounter()
        let seen = Mutex<[String]>([])
        let client = try client(of: link(host, port.port)) { address in
            seen.withLock { $0.append(address) }
            return false
        }
        let failure = await #expect(throws: SignalingError.self) { _ = try await client.pageStatus() }
        #expect(failure?.code == .unreachable && failure?.description.contains("may name") == true, "\(failure as Any)")
        #expect(seen.withLock { $0 }.contains("127.0.0.1"))
        await client.close()
        #expect(port.count == 0)
    }

    /// The name is resolved once, and the connection goes to the address of that answer.
    @Test(arguments: ["127.0.0.1", "localhost"])
    func theAddressThatWasCheckedIsConnectedTo(_ host: String) async throws {
        try await SignalingFixture.with { stage in
            let seen = Mutex<[String]>([])
            let client = try client(of: link(host, stage.link.port, like: stage.link)) { address in
                seen.withLock { $0.append(address) }
                return address == "127.0.0.1"
            }
            #expect(try await client.pageStatus() == 200)
            #expect(seen.withLock { $0.count { $0 == "127.0.0.1" } } == 1)
            await client.close()
        }
    }

    /// Each attempt has a handshake of its own.
    @Test func anAddressThatRefusesIsNotTheLast() async throws {
        try await SignalingFixture.with { stage in
            // Its server listens at 127.0.0.1 alone.
            let connector = try PinnedConnector(
                to: PinnedServer(stage.link), group: MultiThreadedEventLoopGroup.singleton, timeout: .seconds(20),
                permits: { $0.hasPrefix("127.") }, lookup: { _, _ in ["127.0.0.2", "192.0.2.1", "127.0.0.1"] })
            let channel = try await connector.connect()
            #expect(channel.remoteAddress?.ipAddress == "127.0.0.1")
            try await channel.close()
        }
    }

    @Test func aNameWithoutAnAddressIsSaidToBeUnknown() async throws {
        let client = try client(of: link("no-such-computer.invalid", 443)) { _ in true }
        let failure = await #expect(throws: SignalingError.self) { _ = try await client.pageStatus() }
        #expect(failure?.code == .unknownHost)
        await client.close()
    }
}
