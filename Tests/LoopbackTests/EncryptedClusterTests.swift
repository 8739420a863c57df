import Admission
import ClusterSupport
import LinuxRuntime
import MediaCore
import Signaling
import Synchronization
import Testing
import WaitSupport

@testable import Host
@testable import Identifiers
@testable import PeerConnection
@testable import Relay
@testable import Viewer

/// An encrypted broadcast whose viewers are at two relays of a cluster.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct EncryptedClusterTests {
    private typealias Stage = RelayHandoverTests.Stage
    private typealias Watching = RelayHandoverTests.Watching
    private typealias Relay = RelaySessionTests.Relay

    /// The broadcast at relay a, and viewers of it at relay b.
    private struct Scene {
        let bus = LocalBus()
        let connection: LocalBus.Connection
        let stage: Stage
        let other: Relay
        let viewers: [Watching]

        init(_ names: [String], graceTime: MediaDuration = StreamPolicy().viewerGraceTime) async throws {
            connection = bus.connect()
            var streams = StreamPolicy()
            streams.viewerGraceTime = graceTime
            stage = try await Stage(
                directViewers: 0, isRelayOnly: true, cluster: ClusterSettings(node: "a", bus: connection),
                streams: streams)
            other = try await Relay(cluster: ClusterSettings(node: "b", bus: bus.connect()))
            let knowsOther = await waiting(stage.relayEvents) { events in
                events.contains { if case .cluster(.joined(_)) = $0 { true } else { false } } ? true : nil
            }
            #expect(knowsOther == true)
            let link = stage.link
            viewers = try names.map { try Watching(link, name: $0) }
            for viewer in viewers { #expect(await viewer.seesMore()) }
            // Their relay has them go on at the other one.
            for broadcast in stage.relay.streams.broadcasts { broadcast.send(.reconnect(nil)) }
            let isFetched = await other.wait { if case .cluster(.fetched(_, "a")) = $0 { true } else { nil } }
            #expect(isFetched == true)
            for viewer in viewers { #expect(await viewer.isConnected(times: 2)) }
            for viewer in viewers { #expect(await viewer.seesMore()) }
            #expect(stage.asked.with { $0.count } == names.count)
        }

        func names() async -> Set<String> {
            Set(await stage.host.viewers().filter { $0.description.kind != "service" }.map(\.description.name))
        }

        /// Waits until the host lists these viewers and no others.
        func lists(_ expected: Set<String>) async throws -> Bool {
            for _ in 0..<200 {
                if await names() == expected { return true }
                try await Task.sleep(for: .milliseconds(50))
            }
            return false
        }

        /// Waits until the publisher's relay knows so many viewers of the other one.
        func knows(_ count: Int) async throws -> Bool {
            let broadcast = try #require(stage.relay.streams.broadcasts.first)
            for _ in 0..<200 {
                if broadcast.viewerRelays.read({ $0.relays["b"]?.viewers.count }) == count { return true }
                try await Task.sleep(for: .milliseconds(50))
            }
            return false
        }

        /// What the relays of a cluster that cannot hear each other do after some seconds.
        func forgetOther() throws {
            let member = try #require(stage.relay.streams.member)
            member.perform(member.state.withLock { $0.cluster.expire(now: .now + ClusterState.lease + .seconds(1)) })
        }
    }

    /// Viewers at the other relay are listed and removed one by one, get the keys of the next epoch before it begins,
    /// and are missed when they leave.
    @Test func viewersOfAnotherRelayAreMembersToo() async throws {
        let scene = try await Scene(["Ann", "Bob", "Cleo"])
        let (stage, viewers) = (scene.stage, scene.viewers)
        // Each has left the first one before it has come to the other one, or after that.
        #expect(try await scene.lists(["Ann", "Bob", "Cleo"]))
        #expect(try await scene.knows(3))
        let liar = try await Liar(scene)
        let bob = try #require(await stage.host.viewers().first { $0.description.name == "Bob" })
        liar.member.tell(.removed(bob.fingerprint), of: liar.id, to: "b")
        let ann = try #require(await stage.host.viewers().first { $0.description.name == "Ann" })
        try await stage.remove(ann, viewers[0], whileWatching: viewers[1])
        let epoch = try stage.epoch()
        for viewer in viewers.dropFirst() {
            #expect(viewer.session.encryption.withLock { $0.newestEpoch } == epoch)
        }
        try await liar.leave(scene)

        // The relay tells who has left before it tells how many are left.
        let told = stage.hostEvents.with { $0.count }
        viewers[2].session.leave()
        #expect(await viewers[2].end.value.code == .stopped)
        let isMissed = await waiting(stage.hostEvents) { events in
            events.dropFirst(told).contains { if case .viewerCount(1) = $0 { true } else { false } } ? true : nil
        }
        #expect(isMissed == true)
        #expect(try await scene.lists(["Bob"]))
        await stage.host.stop(EndReason(.stopped, "done"))
        #expect(await stage.host.viewers().isEmpty)
        #expect(await stage.host.remove(viewer: bob.id) == nil)
        #expect(await viewers[1].end.value.code == .hostEnded)
        await stage.relay.stop()
        await scene.other.session.stop()
    }

    /// Somebody on the bus who says that the broadcast is published to it, too.
    private struct Liar {
        let member: ClusterMember
        /// Of the broadcast at the relays, which is not that of the host's own link.
        let id: BroadcastID

        /// - Parameter path: of what it announces.
        init(_ scene: Scene, path: [String] = ["x"]) async throws {
            let node = ClusterNode(
                name: "x", host: "x.example", port: 443, fingerprint: [UInt8](repeating: 1, count: 32), isWebPKI: false,
                region: nil)
            member = ClusterMember(
                node, bus: scene.bus.connect(), directory: nil,
                handlers: .init(decide: { _, _ in .unanswered }, emit: { _ in }))
            member.start()
            let link = try #require(scene.stage.relay.streams.broadcasts.first?.link)
            let own = try #require(node.link(of: link))
            id = link.id
            member.announce(link.id, ClusterBroadcast(link: own, path: path, name: "", publisherDecides: true))
            try await waitUntil(scene, knowsIt: true)
        }

        private func waitUntil(_ scene: Scene, knowsIt: Bool) async throws {
            let other = try #require(scene.other.session.streams.member)
            for _ in 0..<200 {
                let isKnown = other.sources(of: id).contains { $0.node.name == "x" }
                if isKnown == knowsIt { return }
                try await Task.sleep(for: .milliseconds(50))
            }
            Issue.record("the other relay \(knowsIt ? "does not hear of it" : "goes on to know it")")
        }

        func leave(_ scene: Scene) async throws {
            member.stop()
            try await waitUntil(scene, knowsIt: false)
        }
    }

    /// It has a copy of the broadcast, and tells of viewers whom it has made up: the publisher's relay stores few of
    /// them, and those of the honest relay stay members.
    @Test func aRelayThatMakesUpViewersIsLimited() async throws {
        let scene = try await Scene(["Ann"])
        #expect(try await scene.knows(1))
        let liar = try await Liar(scene, path: ["a", "x"])
        let broadcast = try #require(scene.stage.relay.streams.broadcasts.first)
        for _ in 0..<200 where broadcast.viewerRelays.read({ $0.relays["x"]?.path.isEmpty ?? true }) {
            try await Task.sleep(for: .milliseconds(50))
        }
        let invented = (0..<4_000).map { number in (0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 4))) }
        }
        for viewer in invented { liar.member.tell(.joined(viewer), of: liar.id, to: "a") }
        liar.member.tell(viewers: invented, of: liar.id, to: "a")
        // The bus keeps the order of messages.
        let last = [UInt8](repeating: 77, count: 32)
        let other = try #require(scene.other.session.streams.member)
        other.tell(.joined(last), of: liar.id, to: "a")
        #expect(try await scene.knows(2))
        let stored = broadcast.viewerRelays.read { $0.relays["x"]?.viewers.count }
        #expect(stored.map { (1...ViewerRelays.leastMemberLimit).contains($0) } == true)
        other.tell(.left(last), of: liar.id, to: "a")
        #expect(try await scene.lists(["Ann"]))
        #expect(await scene.viewers[0].seesMore(30))
        try await liar.leave(scene)
        await scene.stage.stop()
        await scene.other.session.stop()
    }

    /// The relays do not hear each other for longer than they remember each other. Who stays is a member all the time,
    /// and who leaves meanwhile is missed afterwards.
    @Test func whoLeavesDuringAnOutageOfTheBusIsMissed() async throws {
        let scene = try await Scene(["Ann", "Bob"], graceTime: .seconds(3))
        let viewers = scene.viewers
        #expect(try await scene.knows(2))
        scene.connection.cut(true)
        try scene.forgetOther()
        viewers[1].session.leave()
        #expect(await viewers[1].end.value.code == .stopped)
        #expect(await scene.names() == ["Ann", "Bob"])
        scene.connection.cut(false)
        scene.stage.relay.clusterIsConnected()
        scene.other.session.clusterIsConnected()
        #expect(try await scene.knows(1))
        #expect(try await scene.lists(["Ann"]))
        #expect(await viewers[0].seesMore(30))
        #expect(await scene.names() == ["Ann"])
        await scene.stage.stop()
        #expect(await viewers[0].end.value.code == .hostEnded)
        await scene.other.session.stop()
    }
}
