import Host
import Identifiers
import LinuxRuntime
import MediaCore
import PeerConnection
import Signaling
import TestSource
import TestSupport
import Testing
import VPXCodec
import Viewer
import WaitSupport
import Wording

@testable import Admission
@testable import Identity

/// Sessions over coturn.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct RelayTests {
    private func server(_ relay: LoopbackTURNServer, _ transport: String, password: String = "secret") -> ICEServer {
        ICEServer(
            urls: ["turn:127.0.0.1:\(relay.port)?transport=\(transport)"], username: LoopbackTURNServer.user,
            credential: password)
    }

    private func host(
        _ servers: [ICEServer], relaysOnly: Bool = false, token: String? = nil,
        emit: @escaping @Sendable (BroadcastEvent) -> Void = { _ in }
    ) async throws -> (HostSession, Link) {
        var configuration = HostSession.Configuration(
            listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: token, framesPerSecond: 60,
            maximumBitrate: .kilobits(8_000), contentHint: nil)
        configuration.ice.servers = servers
        configuration.ice.usesOnlyRelays = relaysOnly
        let session = try HostSession(
            configuration: configuration, identity: try .ephemeral(), source: TestVideoSource(), encoder: VP8Encoder(),
            audio: [], decide: { _ in .accepted }, emit: emit)
        return (session, try await session.start())
    }

    private func watch(
        _ link: Link, _ seen: RecordedOutput, servers: [ICEServer] = [], relaysOnly: Bool = false
    ) throws -> (ViewerSession, Monitor<String?>, Task<EndReason, Never>) {
        let path = Monitor<String?>(nil)
        let viewer = try watcher(link, seen, servers: servers, relaysOnly: relaysOnly) { event in
            if case .connected(let text) = event { path.change { $0 = text } }
        }
        return (viewer, path, Task { await viewer.run() })
    }

    /// The host sends through TURN only, and gives the viewer the same server.
    @Test(arguments: ["udp", "tcp"])
    func theHostsRelayCarriesTheSession(_ transport: String) async throws {
        let relay = try LoopbackTURNServer(password: "secret")
        let (host, link) = try await host([server(relay, transport)], relaysOnly: true)
        let seen = RecordedOutput()
        let (viewer, path, running) = try watch(link, seen)
        #expect(await seen.wait { $0.counters.count >= 20 })
        #expect(path.with { $0 }?.hasPrefix("relayed") == true)
        #expect(await host.statistics()?.routes.first?.hasPrefix("relayed") == true)
        viewer.leave()
        #expect(await running.value.code == .stopped)
        await host.stop(EndReason(.stopped, "done"))
    }

    /// The viewer's relayed candidate is found after the offer, or with it; in both cases the host gets it.
    @Test(arguments: ["udp", "tcp"])
    func theViewersOwnRelayCarriesTheSession(_ transport: String) async throws {
        let relay = try LoopbackTURNServer(password: "secret")
        let (host, link) = try await host([])
        let seen = RecordedOutput()
        let (viewer, path, running) = try watch(link, seen, servers: [server(relay, transport)], relaysOnly: true)
        #expect(await seen.wait { $0.counters.count >= 20 })
        #expect(path.with { $0 }?.hasPrefix("relayed") == true)
        viewer.leave()
        #expect(await running.value.code == .stopped)
        await host.stop(EndReason(.stopped, "done"))
    }

    @Test func aRelayThatRefusesIsReportedAndEndsNoSession() async throws {
        let relay = try LoopbackTURNServer(password: "another")
        let warnings = Monitor<[String]>([])
        let (host, link) = try await host([server(relay, "udp"), server(relay, "tcp")]) { event in
            if case .notice(let notice) = event { warnings.change { $0.append(notice.words.sentence) } }
        }
        try await watchDirectly(link)
        let told = await waiting(warnings) { $0.count == 2 ? $0 : nil }
        #expect(told?.allSatisfy { $0.contains("does not accept the user name") } == true, "\(told ?? [])")
        #expect(told?.contains { $0.contains("secret") } == false)
        await host.stop(EndReason(.stopped, "done"))
    }

    @Test func aRelayThatHasDiedEndsNoSession() async throws {
        let relay = try LoopbackTURNServer(password: "secret")
        let (host, link) = try await host([server(relay, "udp"), server(relay, "tcp")])
        relay.kill()
        try await watchDirectly(link)
        await host.stop(EndReason(.stopped, "done"))
    }

    /// A viewer gets video over a direct pair, and leaves.
    private func watchDirectly(_ link: Link) async throws {
        let seen = RecordedOutput()
        let (viewer, path, running) = try watch(link, seen)
        #expect(await seen.wait { $0.counters.count >= 5 })
        #expect(path.with { $0 }?.hasPrefix("direct") == true)
        viewer.leave()
        #expect(await running.value.code == .stopped)
    }
}
