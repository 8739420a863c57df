import EventLoop
import LinuxRuntime
import MediaCore
import PeerEngine
import Testing

@testable import Admission
@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Signaling

/// Who makes room where all places are taken.
@Suite struct ViewerPlacesTests {
    /// Notes the viewers that have lost their place.
    private final class Observer: BroadcastDelegate, Sendable {
        let displaced = Monitor<[String]>([])

        func handle(_ report: BroadcastReport) {
            if case .displaced(let viewer) = report { displaced.change { $0.append(viewer.name) } }
        }
    }

    private struct Newcomer: Sendable {
        let name: String
        let address: String
        var byRule = true
        var isRefused = false
    }

    /// Opens a session for each, one after the other.
    private func expect(_ newcomers: [Newcomer], places: Int, displaces expected: [String]) async throws {
        let stage = try GatheringTests.Stage(maximumViewers: places)
        let observer = Observer()
        let refused = Monitor<[String]>([])
        await stage.core.performAndWait { broadcast, done in
            broadcast.delegate = observer
            for (number, newcomer) in newcomers.enumerated() {
                let identity = ViewerIdentity(
                    fingerprint: stage.viewer.fingerprint, key: [4] + [UInt8](repeating: UInt8(number), count: 64))
                var viewer = Viewer(
                    knock: .random(), name: newcomer.name, kind: "share", address: newcomer.address,
                    fingerprint: stage.viewer.fingerprint, identity: identity)
                viewer.isAdmittedByRule = newcomer.byRule
                broadcast.open(offer: stage.offer, viewer: viewer, words: "") { result in
                    if case .failure = result { refused.change { $0.append(newcomer.name) } }
                }
            }
            #expect(observer.displaced.with { $0 } == expected)
            #expect(refused.with { $0 } == newcomers.filter(\.isRefused).map(\.name))
            broadcast.end(done)
        }
        await stage.loop.stop()
    }

    @Test func theNewestOfTheAddressWithMostMakesRoomForOthers() async throws {
        try await expect(
            [
                .init(name: "a1", address: "192.0.2.1"), .init(name: "a2", address: "192.0.2.1"),
                .init(name: "a3", address: "192.0.2.1"), .init(name: "a4", address: "192.0.2.1"),
                .init(name: "b1", address: "192.0.2.2"), .init(name: "b2", address: "192.0.2.2"),
                .init(name: "b3", address: "192.0.2.2", isRefused: true),
                .init(name: "a5", address: "192.0.2.1", isRefused: true), .init(name: "c1", address: "192.0.2.3"),
            ], places: 4, displaces: ["a4", "a3", "b2"])
    }

    @Test func whomAPersonHasAdmittedStays() async throws {
        try await expect(
            [
                .init(name: "a1", address: "192.0.2.1"), .init(name: "a2", address: "192.0.2.1", byRule: false),
                .init(name: "a3", address: "192.0.2.1", byRule: false), .init(name: "b", address: "192.0.2.2"),
                .init(name: "c", address: "192.0.2.3", isRefused: true),
            ], places: 3, displaces: ["a1"])
    }

    @Test func aSiteOfManyAddressesCountsAsSixteen() async throws {
        let site = (0..<32).map { Newcomer(name: "\($0)", address: "2001:db8:7:\(String($0, radix: 16))00::1") }
        // 32 viewers of a /48 are two for each of its shares: more than a newcomer's one.
        try await expect(site + [.init(name: "b", address: "192.0.2.1")], places: 32, displaces: ["31"])
        let campus = (0..<16).map { Newcomer(name: "\($0)", address: "2001:db8:7:\(String($0, radix: 16))00::1") }
        try await expect(
            campus + [.init(name: "b", address: "192.0.2.1", isRefused: true)], places: 16, displaces: [])
    }

    /// The viewers of several broadcasts have common places.
    @Test func theHogMayWatchAnotherBroadcast() {
        let places = ViewerPlaces(2)
        var ended: [Int] = []
        for number in 1...2 {
            let id = SessionID.random()
            places.add(id, at: PeerAddress("192.0.2.1").key) {
                ended.append(number)
                places.remove(id)
            }
        }
        places.makeRoom(for: PeerAddress("192.0.2.1").key)
        #expect(ended.isEmpty && places.isFull)
        places.makeRoom(for: PeerAddress("192.0.2.2").key)
        #expect(ended == [2] && !places.isFull)
    }
}
