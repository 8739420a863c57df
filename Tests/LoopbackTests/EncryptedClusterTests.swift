import ClusterSupport
import LinuxRuntime
import MediaCore
import Signaling
import Synchronization
import Testing

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

    /// Viewers at the other relay are listed and removed one by one, get the keys of the next epoch before it begins,
    /// and are missed when they leave.
    @Test func viewersOfAnotherRelayAreMembersToo() async throws {
        let bus = LocalBus()
        let stage = try await Stage(
            directViewers: 0, isRelayOnly: true, cluster: ClusterSettings(node: "a", bus: bus.connect()))
        let other = try await Relay(cluster: ClusterSettings(node: "b", bus: bus.connect()))
        let knowsOther = await waiting(stage.relayEvents) { events in
            events.contains { if case .cluster(.joined(_)) = $0 { true } else { false } } ? true : nil
        }
        #expect(knowsOther == true)
        let viewers = try ["Ann", "Bob", "Cleo"].map { try Watching(stage.link, name: $0) }
        for viewer in viewers { #expect(await viewer.seesMore()) }
        // Their relay has them go on at the other one.
        for broadcast in stage.relay.streams.broadcasts { broadcast.send(.reconnect(nil)) }
        let isFetched = await other.wait { if case .cluster(.fetched(_, "a")) = $0 { true } else { nil } }
        #expect(isFetched == true)
        for viewer in viewers { #expect(await viewer.isConnected(times: 2)) }
        for viewer in viewers { #expect(await viewer.seesMore()) }
        #expect(stage.asked.with { $0.count } == 3)

        // Each has left the first one before it has come to the other one, or after that.
        func names() async -> Set<String> {
            Set(await stage.host.viewers().filter { $0.description.kind != "service" }.map(\.description.name))
        }
        for _ in 0..<200 where await names().count < 3 { try await Task.sleep(for: .milliseconds(50)) }
        #expect(await names() == ["Ann", "Bob", "Cleo"])
        let ann = try #require(await stage.host.viewers().first { $0.description.name == "Ann" })
        try await stage.remove(ann, viewers[0], whileWatching: viewers[1])
        let epoch = try stage.epoch()
        for viewer in viewers.dropFirst() {
            #expect(viewer.session.encryption.withLock { $0.newestEpoch } == epoch)
        }

        // The relay tells who has left before it tells how many are left.
        let told = stage.hostEvents.with { $0.count }
        viewers[2].session.leave()
        #expect(await viewers[2].end.value.code == .stopped)
        let isMissed = await waiting(stage.hostEvents) { events in
            events.dropFirst(told).contains { if case .viewerCount(1) = $0 { true } else { false } } ? true : nil
        }
        #expect(isMissed == true)
        #expect(await names() == ["Bob"])
        await stage.stop()
        #expect(await viewers[1].end.value.code == .hostEnded)
        await other.session.stop()
    }
}
