import HTTPTypes
import LinuxRuntime
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// A tunnel at which nobody is makes room when another host wants its place, and ends by itself some time.
@Suite(.timeLimit(.minutes(1))) struct IdleTunnelTests {
    /// Runs `body` while the only place is that of a tunnel, with the reason of its end.
    private func with(
        idleAfter idle: Duration, _ body: (TunnelFixture, OneShot<String>) async throws -> Void
    ) async throws {
        try await TunnelFixture.with(configure: {
            $0.sessionCapacity = 1
            $0.idleTunnelTimeout = idle
        }) { stage in
            let end = OneShot<String>()
            let note: @Sendable (TunnelClient.Event) -> Void = { event in
                if case .ended(let reason, _) = event { end.fulfil(reason) }
            }
            try await stage.open(note) { try await body(stage, end) }
        }
    }

    /// Has another host pair, and expects this failure; nil: it gets the place.
    private func pair(_ stage: TunnelFixture, expecting expected: PairingFailure?) async throws {
        try await stage.relay.client { client in
            let identity = try Identity.ephemeral()
            let failure = await failure { _ = try await stage.relay.pair(client, identity) }
            #expect(failure == expected)
        }
    }

    @Test func anEmptyTunnelEnds() async throws {
        try await with(idleAfter: .zero) { stage, end in
            try await pair(stage, expecting: nil)
            let reason = await end.value
            #expect(reason.contains("nobody came"))
        }
    }

    @Test func aTunnelThatIsNotIdleYetStays() async throws {
        try await with(idleAfter: .seconds(600)) { stage, _ in
            try await pair(stage, expecting: .busy(PairingTable.full(1)))
        }
    }

    @Test func aTunnelWithAViewerStays() async throws {
        try await with(idleAfter: .zero) { stage, _ in
            try await stage.host.client(stage.link) { viewer in
                let identity = try Identity.ephemeral()
                _ = try await viewer.offer(
                    description(identity.fingerprint), token: try await viewer.admissionToken(for: identity))
                let events = try await viewer.events()
                try await pair(stage, expecting: .busy(PairingTable.full(1)))
                _ = events
            }
        }
    }

    /// Its viewers are at the relay.
    @Test func aTunnelWhoseHostPublishesStays() async throws {
        try await with(idleAfter: .zero) { stage, _ in
            _ = try await stage.client.publish(description(stage.identity.fingerprint), decidesOnViewers: true)
            try await pair(stage, expecting: .busy(PairingTable.full(1)))
        }
    }

    /// Runs `body` with a tunnel at which nobody may be for long; nobody else wants its place.
    private func withShortPatience(
        _ decision: PairingDecision, _ body: (TunnelFixture, OneShot<String>) async throws -> Void
    ) async throws {
        try await TunnelFixture.with(
            pairing: { _ in decision }, configure: { $0.emptyTunnelTimeout = .milliseconds(500) }
        ) { stage in
            let end = OneShot<String>()
            let note: @Sendable (TunnelClient.Event) -> Void = { event in
                if case .ended(let reason, _) = event { end.fulfil(reason) }
            }
            try await stage.open(note) { try await body(stage, end) }
        }
    }

    @Test func anEmptyTunnelEndsByItself() async throws {
        try await withShortPatience(.acceptedByRule) { stage, end in
            #expect(await end.value == "nobody came to this broadcast for a long time")
            // Its place is free, and its token is worth nothing.
            await #expect(throws: SignalingError.self) { _ = try await stage.client.iceServers() }
        }
    }

    /// A viewer has come; after it has left, the time begins anew. What a person has accepted stays.
    @Test func aTunnelWithAViewerOrOfAnAcceptedHostDoesNotEndByItself() async throws {
        async let accepted: Void = withShortPatience(.accepted) { stage, _ in try await stays(stage) }
        try await withShortPatience(.acceptedByRule) { stage, end in
            try await stage.host.client(stage.link) { viewer in
                let identity = try Identity.ephemeral()
                _ = try await viewer.offer(
                    description(identity.fingerprint), token: try await viewer.admissionToken(for: identity))
                let events = try await viewer.events()
                try await self.stays(stage)
                _ = events
            }
            _ = await end.value
        }
        try await accepted
    }

    /// Over the next look at the tunnel, which comes 5 s after the first, and ends an empty one.
    private func stays(_ stage: TunnelFixture) async throws {
        let clock = ContinuousClock(), end = clock.now + .seconds(8)
        while clock.now < end {
            _ = try await stage.client.iceServers()
            try await clock.sleep(for: .milliseconds(500))
        }
    }

    /// Viewers hold their event streams for hours: after an outage of the host, the time begins at its begin.
    @Test func viewersWhoseHostIsLostWereHereUntilThen() async throws {
        let id = BroadcastID.random()
        let tunnel = ReverseTunnel(.broadcast(id), owner: TokenHash(of: "t"), session: .random())
        let (number, events) = tunnel.open()
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let closed = loop.makePromise(of: Void.self)
        let request = RouteRequest(
            method: .get, path: ["\(id)", "events"], headers: [:], body: ByteBuffer(),
            address: PeerAddress("192.0.2.1"),
            connection: RouteConnection(eventLoop: loop, closed: closed.futureResult))
        let response = Task { await tunnel.forward(request) }
        for await event in events where event.number != nil { break }
        let here = ContinuousClock.now
        tunnel.closed(number)
        #expect(await response.value.status == .serviceUnavailable)
        #expect(try #require(tunnel.idleSince) >= here)
        #expect(!tunnel.closeIfIdle(for: .seconds(60)))
        #expect(tunnel.closeIfIdle(for: .zero))
        #expect(await tunnel.forward(request).status == .gone)
        closed.succeed()
    }

    @Test func aTunnelOfAHostWithTheLinksSecretDoesNotEndByItself() async throws {
        try await TunnelFixture.with(
            pairing: { _ in .acceptedByRule }, linkSecret: [UInt8](repeating: 9, count: 16),
            configure: { $0.emptyTunnelTimeout = .milliseconds(500) }
        ) { stage in
            try await stage.open({ _ in }) { try await stays(stage) }
        }
    }
}
