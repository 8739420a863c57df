import ClusterSupport
import HTTP
import LinuxRuntime
import MediaCore
import Signaling
import TestSupport
import Testing

@testable import Admission
@testable import Identifiers
@testable import Identity
@testable import Relay

/// What a relay does about a broadcast that somebody announces on the bus, when a viewer knocks.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct ClusterAnnouncementTests {
    typealias Relay = RelaySessionTests.Relay

    private let id = BroadcastID.random()

    /// A relay, and one that is announced at a port that closes each connection.
    /// - Parameter host: of the relay.
    private func with(
        host: String, announced: String = "127.0.0.1",
        _ body: (ConnectionCounter, _ link: Link) async throws -> Void
    ) async throws {
        let bus = LocalBus()
        let port = try ConnectionCounter()
        let relay = try await Relay(cluster: ClusterSettings(node: "a", bus: bus.connect()), linkHost: host)
        let fingerprint = [UInt8](repeating: 7, count: 32)
        let node = ClusterNode(
            name: "x", host: announced, port: port.port, fingerprint: fingerprint, isWebPKI: false, region: nil)
        let member = ClusterMember(
            node, bus: bus.connect(), directory: nil,
            handlers: .init(decide: { _, _ in .unanswered }, emit: { _ in }))
        member.start()
        let secret = Link.randomSecret()
        let known = Link(host: announced, port: port.port, id: id, secret: secret, fingerprint: fingerprint)
        #expect(
            await relay.wait { if case .cluster(.joined(let node)) = $0, node.name == "x" { true } else { nil } }
                == true)
        member.announce(id, ClusterBroadcast(link: known, path: ["x"], name: "Budget", publisherDecides: false))
        // The relay listens on 127.0.0.1 whatever its links say.
        let link = Link(
            host: "127.0.0.1", port: relay.link.port, id: id, secret: secret, fingerprint: relay.link.fingerprint)
        let client = try SignalingClient(link: link)
        let deadline = ContinuousClock.now + .seconds(30)
        while try await client.pageStatus() != 200, ContinuousClock.now < deadline { await Task.yield() }
        #expect(try await client.pageStatus() == 200)
        await client.close()
        try await body(port, link)
        member.stop()
        await relay.session.stop()
    }

    /// Knocks until the relay has an answer, which is that the broadcast does not come.
    private func knock(_ link: Link) async throws {
        let client = try SignalingClient(link: link)
        await #expect(throws: SignalingError.self) {
            _ = try await admissionToken(for: .ephemeral(), named: "Ann", from: client)
        }
        await client.close()
    }

    /// It is asked again after 0.2, 0.4, 0.8 ... s, for 4 s, and not again in the 4 s after that.
    @Test func aRelayThatCannotBeReachedIsAskedRarely() async throws {
        try await with(host: "127.0.0.1") { port, link in
            try await knock(link)
            let times = port.times
            #expect((2...12).contains(times.count), "\(times.count) connections")
            let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
            // A connection is noted late on a busy machine, so a gap is half of the shortest pause at least.
            #expect(gaps.filter { $0 < .milliseconds(100) }.count <= 1, "\(gaps)")
            let count = port.count
            try await knock(link)
            #expect(port.count == count)
        }
    }

    /// A relay elsewhere connects to no loopback address, whatever name that has.
    @Test(arguments: ["127.0.0.1", "localhost", "127.1"])
    func loopbackIsNotAnnouncedToARelayElsewhere(_ announced: String) async throws {
        try await with(host: "relay.example.net", announced: announced) { port, link in
            try await knock(link)
            #expect(port.count == 0)
        }
    }

    @Test func announcedAddressesHaveToBeReachableByOthers() {
        func permits(_ own: String, _ address: String) -> Bool {
            let node = ClusterNode(
                name: "a", host: own, port: 443, fingerprint: [UInt8](repeating: 1, count: 32), isWebPKI: false,
                region: nil)
            return RelayStreams.permits(node)(address)
        }
        let forbidden = [
            "127.0.0.1", "::1", "169.254.3.4", "169.254.169.254", "fe80::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1",
            "0.0.0.0", "::",
        ]
        for address in forbidden { #expect(!permits("relay.example.net", address), "\(address)") }
        for address in ["203.0.113.5", "10.1.2.3", "192.168.1.5", "2001:db8::1"] {
            #expect(permits("relay.example.net", address), "\(address)")
        }
        #expect(permits("127.0.0.1", "127.0.0.1") && permits("localhost", "::1"))
        #expect(permits("169.254.1.1", "169.254.3.4") && !permits("169.254.1.1", "127.0.0.1"))
        #expect(!permits("127.0.0.1", "169.254.169.254"))
    }
}
