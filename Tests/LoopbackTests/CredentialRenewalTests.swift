import EventLoop
import Foundation
import ICETransport
import LinuxRuntime
import MediaCore
import Signaling
import Synchronization
import TestSource
import Testing
import VPXCodec

@testable import Admission
@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Relay
@testable import Viewer

/// Hosts and viewers get the TURN credentials of their relay anew before they expire. They are valid for some seconds
/// here.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct CredentialRenewalTests {
    typealias Relay = RelaySessionTests.Relay
    typealias PublishingHost = RelaySessionTests.PublishingHost

    private let own = ICEServer(urls: ["turn:127.0.0.2:9"], username: "own", credential: "always")

    /// Nothing answers at the TURN server's address.
    private func relay() async throws -> Relay {
        try await Relay(
            servers: [ICEServer(urls: ["turn:127.0.0.1:9"])], secret: TURNSecret("north", lifetime: 6))
    }

    /// Waits until another credential of the relay's server is used, 20 s at most.
    /// - Parameter names: the user names of the TURN servers, the host's own first.
    private func areRenewed(_ names: () async throws -> [String]) async throws {
        let first = try await names()
        #expect(first.count == 2 && first.first == "own")
        let deadline = ContinuousClock.now + .seconds(20)
        var last = first
        while last == first, ContinuousClock.now < deadline {
            try await Task.sleep(for: .seconds(1))
            last = try await names()
        }
        #expect(last.count == 2 && last.first == "own" && last != first, "\(last)")
        func expiry(_ name: String?) -> Date? {
            ICEServer(urls: ["turn:127.0.0.1:9"], username: name, credential: "x").expiry
        }
        #expect(try #require(expiry(last.last)) > (try #require(expiry(first.last))))
    }

    private func names(_ session: HostSession) async -> [String] {
        await session.core.ifRunning { $0.servers.turn.map(\.username) } ?? []
    }

    private func names(_ session: ViewerSession) -> [String] {
        session.present?.state.withLock { $0.addresses.turn.map(\.username) } ?? []
    }

    @Test func aHostThatPublishesRenewsThem() async throws {
        let relay = try await relay()
        let host = try await PublishingHost(to: relay, servers: [own])
        try await areRenewed { await names(host.session) }
        await host.stop()
        await relay.session.stop()
    }

    /// For sessions and restarts of ICE that come.
    @Test func aViewerOfARelayRenewsThem() async throws {
        let relay = try await relay()
        let host = try await PublishingHost(to: relay)
        let viewer = ViewerSession(
            link: try await relay.live(), identity: try .ephemeral(), name: "Ann", servers: [own],
            sink: playback(RecordedOutput(), speaker: nil), emit: { _ in })
        let end = Task { await viewer.run() }
        let deadline = ContinuousClock.now + .seconds(30)
        while names(viewer).isEmpty, ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(20)) }
        try await areRenewed { names(viewer) }
        viewer.leave()
        #expect(await end.value.code == .stopped)
        await host.stop()
        await relay.session.stop()
    }

    /// One that was under way when the session went on at another place, whichever of its values is replaced already.
    @Test func aRenewalThatIsLateDoesNotReachTheNextPlace() async throws {
        let link = Link(
            host: "127.0.0.1", port: 9, id: .random(), secret: Link.randomSecret(),
            fingerprint: [UInt8](repeating: 7, count: 32))
        let session = ViewerSession(
            link: link, identity: try .ephemeral(), name: "Ann", sink: playback(RecordedOutput(), speaker: nil),
            emit: { _ in })
        func connection(_ number: Int) async throws -> ViewerConnection {
            let media = try #require(await session.makeMedia(number))
            return ViewerConnection(number, at: link, of: session, media)
        }
        let (former, next) = (try await connection(1), try await connection(2))
        func urls(_ connection: ViewerConnection) -> [String] { connection.state.withLock { $0.addresses.urls } }
        former.use(.init(urls: ["renewed"]))
        next.use(.init(urls: ["next"]))
        #expect(urls(former) == ["renewed"] && urls(next) == ["next"])
        former.retire()
        former.use(.init(urls: ["late"]))
        #expect(urls(former) == ["renewed"] && urls(next) == ["next"])
        // The next connection has the media of the former one.
        let moved = try await connection(3)
        await moved.media.ifRunning { $0.moveOn(to: 4) }
        #expect(await moved.media.ifRunning { $0.owner } == 4)
        for connection in [next, moved] { await connection.close() }
        session.leave()
        #expect(await session.run().code == .stopped)
    }

    /// Its viewers get them as well.
    @Test func aHostThatIsMetRenewsThem() async throws {
        let relay = try await relay()
        let identity = try Identity.ephemeral()
        let paired = try await ServicePairing(
            link: relay.link, application: ApplicationInfo(id: "com.example.budget", name: "Budget"),
            identity: identity
        ).run { _ in [:] }
        var configuration = HostSession.Configuration(
            listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 60,
            maximumBitrate: .kilobits(4_000), contentHint: nil)
        configuration.tunnel = paired
        configuration.ice.servers = [own]
        configuration.ice.grantedServers = paired.grantedServers
        let host = try HostSession(
            configuration: configuration, identity: identity, source: TestVideoSource(framesPerSecond: 30),
            encoder: VP8Encoder(), audio: [], decide: { _ in .accepted }, emit: { _ in })
        let link = try await host.start()
        try await areRenewed { await names(host) }
        try await areRenewed {
            let viewer = ViewerSession(
                link: link, identity: try .ephemeral(), name: "Ann", sink: playback(RecordedOutput(), speaker: nil),
                emit: { _ in })
            let end = Task { await viewer.run() }
            let deadline = ContinuousClock.now + .seconds(30)
            while names(viewer).isEmpty, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(20))
            }
            let names = names(viewer)
            viewer.leave()
            _ = await end.value
            return names
        }
        await host.stop(EndReason(.stopped, "done"))
        await relay.session.stop()
    }
}
