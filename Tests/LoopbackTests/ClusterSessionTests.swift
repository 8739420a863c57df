import ClusterSupport
import EventLoop
import LinuxRuntime
import MediaCore
import Signaling
import Testing
import WaitSupport

@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Relay
@testable import Viewer

/// Relays of one cluster get a broadcast from each other, over real HTTPS, ICE, DTLS and SRTP on loopback.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct ClusterSessionTests {
    typealias Relay = RelaySessionTests.Relay
    typealias PublishingHost = RelaySessionTests.PublishingHost

    /// What each viewer can get, relays among them.
    private static func limit(_ viewer: ViewerDescription) -> Bitrate? { .kilobits(viewer.name == "slow" ? 200 : 550) }

    private func relay(
        _ name: String, _ bus: LocalBus.Connection, servers: [ICEServer] = []
    ) async throws -> Relay {
        try await Relay(
            viewerLimit: Self.limit, cluster: ClusterSettings(node: name, bus: bus), servers: servers,
            secret: TURNSecret("north"))
    }

    private func has(_ relay: Relay, _ name: String) async -> Bool {
        await relay.wait { if case .cluster(.joined(let node)) = $0, node.name == name { true } else { nil } } == true
    }

    /// The relays a and b, which know each other.
    /// - Parameter ofA: the URLs of a's TURN servers; `ofB` those of b's.
    private func twoRelays(servers ofA: [String] = [], _ ofB: [String] = []) async throws -> (a: Relay, b: Relay) {
        let bus = LocalBus()
        let a = try await relay("a", bus.connect(), servers: ofA.map { ICEServer(urls: [$0]) })
        let b = try await relay("b", bus.connect(), servers: ofB.map { ICEServer(urls: [$0]) })
        #expect(await has(a, "b"))
        #expect(await has(b, "a"))
        return (a, b)
    }

    /// The link of a broadcast at another relay.
    private func link(_ known: Link, at relay: Relay) -> Link {
        Link(
            host: relay.link.host, port: relay.link.port, id: known.id, secret: known.secret,
            fingerprint: relay.link.fingerprint, flags: relay.link.flags)
    }

    private func source(of relay: Relay) async -> String? {
        await relay.wait { if case .cluster(.fetched(_, let name)) = $0 { name } else { nil } }
    }

    /// A fast and a slow viewer watch at one relay: their host learns how slow the slow one is, until that has left.
    private func hostLearnsOfTheSlowViewer(_ host: PublishingHost, _ link: Link) async throws {
        let (fast, slow) = (RecordedOutput(), RecordedOutput())
        let one = try RelaySessionTests().watch(link, fast, name: "fast")
        #expect(await fast.wait { $0.counters.count >= 10 })
        #expect(!host.told.with { $0 }.contains { if case .slowestBitrate(_?) = $0 { true } else { false } })
        let two = try RelaySessionTests().watch(link, slow, name: "slow")
        #expect(await slow.wait { $0.counters.count >= 10 })
        let told = await waiting(host.told) { events in
            events.lazy.compactMap { if case .slowestBitrate(let rate?) = $0 { rate } else { nil } }.first
        }
        #expect((184...200).contains(told?.kilobitsPerSecond ?? 0), "\(String(describing: told))")
        two.session.leave()
        let last = await waiting(host.told) { events in
            events.last { if case .slowestBitrate = $0 { true } else { false } } == .slowestBitrate(nil) ? true : nil
        }
        #expect(last == true)
        one.session.leave()
        #expect(await one.end.value.code == .stopped)
    }

    @Test func theHostLearnsHowSlowTheSlowestViewerOfAnotherRelayIs() async throws {
        let (a, b) = try await twoRelays()
        let host = try await PublishingHost(to: a)
        try await hostLearnsOfTheSlowViewer(host, link(try await a.live(), at: b))
        #expect(await source(of: b) == "a")
        await host.stop()
        await b.session.stop()
        await a.session.stop()
    }

    /// A host that serves few viewers itself again calls them back from all relays.
    @Test func aHostCallsBackTheViewersOfAnotherRelay() async throws {
        let (a, b) = try await twoRelays()
        let host = try await PublishingHost(to: a)
        let elsewhere = link(try await a.live(), at: b)
        let seen = RecordedOutput()
        let ann = try RelaySessionTests().watch(elsewhere, seen)
        #expect(await seen.wait { $0.counters.count >= 10 })
        let client = try SignalingClient(link: elsewhere)
        _ = try await admissionToken(for: .ephemeral(), named: "bob", from: client)
        let events = try await client.events()
        let publication = try #require(host.session.state.with { $0.publication?.client })
        #expect(await publication.send(.returnViewers))
        var isCalledBack = false
        for try await event in events where event == .returnToHost {
            isCalledBack = true
            break
        }
        #expect(isCalledBack)
        ann.session.leave()
        #expect(await ann.end.value.code == .stopped)
        await client.leave()
        await client.close()
        await host.stop()
        await b.session.stop()
        await a.session.stop()
    }

    /// Of the relay that it publishes to, beside those of its own.
    @Test func aHostThatGoesOnAtAnotherRelayUsesThatOnesServers() async throws {
        // Nothing answers there.
        let (a, b) = try await twoRelays(servers: ["turn:127.0.0.1:9"], ["turn:127.0.0.2:9"])
        let host = try await PublishingHost(to: a, servers: [ICEServer(urls: ["stun:127.0.0.3:9"])])
        let core = host.session.core
        func urls() async -> [String] { await core.ifRunning { $0.servers.urls } ?? [] }
        #expect(await urls() == ["stun:127.0.0.3:9", "turn:127.0.0.1:9?transport=udp"])
        _ = try await a.live()
        // The host has to know of the other relay.
        let known = await waiting(host.told) { events in
            events.contains { if case .alternates(let links) = $0 { !links.isEmpty } else { false } } ? true : nil
        }
        #expect(known == true)
        let other = "turn:127.0.0.2:9?transport=udp"
        a.session.drain()
        _ = try await b.live()
        for _ in 0..<200 where await urls().last != other { try await Task.sleep(for: .milliseconds(50)) }
        #expect(await urls() == ["stun:127.0.0.3:9", other])
        await host.stop()
        await b.session.stop()
        await a.session.stop()
    }

    /// The third relay knows the second one alone, and gets the broadcast from there.
    @Test func theHostLearnsHowSlowTheSlowestViewerOfAThirdRelayIs() async throws {
        let bus = LocalBus()
        let (toA, toB, toC) = (bus.connect(), bus.connect(), bus.connect())
        toC.ignore(toA)
        let a = try await relay("a", toA)
        let b = try await relay("b", toB)
        let c = try await relay("c", toC)
        #expect(await has(a, "b"))
        #expect(await has(b, "a"))
        #expect(await has(b, "c"))
        #expect(await has(c, "b"))
        let host = try await PublishingHost(to: a)
        let live = try await a.live()
        // The third one can get what the second one has.
        let seen = RecordedOutput()
        let first = try RelaySessionTests().watch(link(live, at: b), seen, name: "first")
        #expect(await seen.wait { $0.counters.count >= 10 })
        try await hostLearnsOfTheSlowViewer(host, link(live, at: c))
        let sources = [await source(of: b), await source(of: c)]
        #expect(sources == ["a", "b"])
        first.session.leave()
        #expect(await first.end.value.code == .stopped)
        await host.stop()
        for relay in [c, b, a] { await relay.session.stop() }
    }
}
