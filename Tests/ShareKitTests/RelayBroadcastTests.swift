import Extensions
import Foundation
import LinuxRuntime
import MediaCore
import Relay
import Signaling
import Testing

@testable import Admission
@testable import Identifiers
@testable import Identity
@testable import Service
@testable import ShareKit

/// An app that broadcasts over a relay, and viewers there, over real HTTPS, ICE, DTLS and SRTP on loopback.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct RelayBroadcastTests {
    private struct Relay {
        let session: RelaySession
        let link: ServiceLink
        private let events = Monitor<[RelayEvent]>([])

        /// It takes every app, and lets every viewer in about whom it decides.
        init(takesApps: Bool = true) async throws {
            let description = try ServiceDescription(id: try #require(ServiceID("io.sharekit.relay")), name: "Relay")
            let events = events
            session = RelaySession(
                configuration: .init(
                    service: .init(
                        listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", service: .init(description))),
                identity: try .ephemeral(), decide: { _ in takesApps ? .accepted : .refused("not today") },
                admit: { _ in .accepted }, emit: { event in events.change { $0.append(event) } })
            link = try await session.start()
        }

        /// The relay's own link of the broadcast.
        func ownLink() async throws -> Link {
            try #require(
                await wait(events) { events in
                    events.lazy.compactMap { if case .live(_, _, let link) = $0 { link } else { nil } }.first
                })
        }
    }

    /// A viewer, and what it gets.
    private struct Watching {
        let viewer: PeerViewer
        /// The luma of the last frame.
        let luma = Monitor<UInt8?>(nil)
        let events = Monitor<[PeerViewer.Event]>([])
        /// How the session has ended; nil: without an error.
        private let end = Monitor<ShareKitError.Code??>(nil)

        init(_ link: String, name: String) throws {
            let (luma, events, end) = (luma, events, end)
            let viewer = try PeerViewer(
                link: link, name: name, identity: .ephemeral(),
                onFrame: { frame in
                    let value = frame.y[frame.strideY * 100 + 100]
                    luma.change { $0 = value }
                }, onAudio: nil)
            self.viewer = viewer
            Task { for await event in viewer.events { events.change { $0.append(event) } } }
            Task {
                do throws(ShareKitError) {
                    try await viewer.run()
                    end.change { $0 = .some(nil) }
                } catch {
                    end.change { $0 = .some(error.code) }
                }
            }
        }

        /// The session has ended for this reason; nil: by either side.
        func hasEnded(_ code: ShareKitError.Code?) async -> Bool {
            await wait(end) { $0.map { $0 == code } } == true
        }

        /// The newest frame is as bright as this.
        func sees(_ level: ClosedRange<UInt8>) async -> Bool {
            await wait(luma) { luma in luma.map { level.contains($0) } == true ? true : nil } == true
        }

        func isTold(_ event: PeerViewer.Event) async -> Bool {
            await wait(events) { $0.contains(event) ? true : nil } == true
        }
    }

    private func source() throws -> ApplicationSource {
        let source = try ApplicationSource(name: "Budget", width: 320, height: 240)
        try source.draw(width: 320, height: 240) { pixels, stride in
            pixels.initializeMemory(as: UInt8.self, repeating: 255, count: stride * 240)
            return nil
        }
        return source
    }

    private let white: ClosedRange<UInt8> = 228...255
    private let place = { (link: ServiceLink, mayWatch: Bool) in
        var relay = PeerBroadcast.Relay(link: link.text, applicationID: "com.example.budget")
        relay.mayWatch = mayWatch
        return relay
    }

    private func events(of broadcast: PeerBroadcast) -> Monitor<[PeerBroadcast.Event]> {
        let events = Monitor<[PeerBroadcast.Event]>([])
        Task { for await event in broadcast.events { events.change { $0.append(event) } } }
        return events
    }

    @Test func whatGoesOverARelayIsEncryptedForTheViewersWhomTheAppLetsIn() async throws {
        let relay = try await Relay()
        let asked = Monitor<[String]>([])
        let broadcast = try await PeerBroadcast(
            try source(), over: place(relay.link, false), options: .init(), identity: .ephemeral(),
            accept: { request in
                asked.change { $0.append(request.name) }
                return request.name != "Eve"
            })
        #expect(broadcast.isEncrypted)
        let events = events(of: broadcast)
        let link = try await broadcast.start()
        #expect(try Link(parsing: link).relay == relay.link.fingerprint)

        let ann = try Watching(link, name: "Ann")
        #expect(await ann.sees(white))
        let route = PeerViewer.Route(relay: relay.link.authority, isEncrypted: true)
        #expect(await ann.isTold(.routeChanged(route)))
        #expect(ann.viewer.route == route)
        #expect(await wait(events) { $0.contains(.viewersChanged(count: 1)) ? true : nil } == true)
        #expect(events.with { $0.contains(.routeChanged(isOverRelay: true, isEncrypted: true)) })
        let watching = try #require(await broadcast.viewers().first)
        #expect(watching.name == "Ann" && watching.isAtRelay)
        #expect(await broadcast.viewers().count == 1)

        // Nobody gets in without the app, and nothing can be opened without it.
        let eve = try Watching(link, name: "Eve")
        #expect(await eve.hasEnded(.refused))
        let guest = try Watching(try await relay.ownLink().text, name: "Guest")
        #expect(await guest.hasEnded(.refused))
        #expect(eve.luma.with { $0 } == nil && guest.luma.with { $0 } == nil)
        #expect(asked.with { $0 } == ["Ann", "Eve"])

        let isRemoved = await broadcast.remove(watching)
        #expect(isRemoved)
        #expect(await ann.hasEnded(.refused))
        await broadcast.finish()
        #expect(await wait(events) { $0.last == .ended(nil) ? true : nil } == true)
        await relay.session.stop()
    }

    @Test func anAppMayLetTheRelayWatch() async throws {
        let relay = try await Relay()
        let asked = Monitor<[String]>([])
        let broadcast = try await PeerBroadcast(
            try source(), over: place(relay.link, true), options: .init(), identity: .ephemeral(),
            accept: { request in
                asked.change { $0.append(request.name) }
                return true
            })
        #expect(!broadcast.isEncrypted)
        let ann = try Watching(try await broadcast.start(), name: "Ann")
        #expect(await ann.sees(white))
        let route = PeerViewer.Route(relay: relay.link.authority, isEncrypted: false)
        #expect(await ann.isTold(.routeChanged(route)))
        #expect(ann.viewer.route == route)
        // Also by the link of the relay, as a player that knows nothing of encryption.
        let guest = try Watching(try await relay.ownLink().text, name: "Guest")
        #expect(await guest.sees(white))
        #expect(guest.viewer.route == PeerViewer.Route(relay: nil, isEncrypted: false))
        #expect(asked.with { $0 } == ["Ann", "Guest"])
        await broadcast.finish()
        #expect(await ann.hasEnded(nil))
        await relay.session.stop()
    }

    /// The first viewers get it from the app itself, if it says so.
    @Test func theAppSendsToTheFirstViewersItself() async throws {
        let relay = try await Relay()
        var place = place(relay.link, false)
        place.directViewers = 1
        let broadcast = try await PeerBroadcast(
            try source(), over: place, options: .init(), identity: .ephemeral(), accept: { _ in true })
        let link = try await broadcast.start()
        let ann = try Watching(link, name: "Ann")
        #expect(await ann.sees(white))
        #expect(ann.viewer.route == PeerViewer.Route(relay: nil, isEncrypted: true))
        let bob = try Watching(link, name: "Bob")
        #expect(await ann.isTold(.routeChanged(.init(relay: relay.link.authority, isEncrypted: true))))
        #expect(await bob.sees(white))
        await broadcast.finish()
        await relay.session.stop()
    }

    /// As to a service, and so in clear.
    @Test func aControllerTakesARelayOnlyIfTheAppLetsItWatch() async throws {
        let relay = try await Relay()
        let alerts = Monitor<[BroadcastActivity.Alert]>([])
        func load(_ source: ApplicationSource, relayMayWatch: Bool) async throws -> BroadcastController {
            try await BroadcastActivity.load(
                ExtensionManifest(ofPeer: relay.link), source: source, applicationID: "com.example.budget",
                identity: .ephemeral(), relayMayWatch: relayMayWatch
            ) { alert in
                alerts.change { $0.append(alert) }
                return [:]
            }
        }
        let source = try source()
        let refused = await #expect(throws: ShareKitError.self) { try await load(source, relayMayWatch: false) }
        #expect(refused?.code == .relayCouldWatch && refused?.message.contains("Relay") == true)
        #expect(alerts.with { $0.isEmpty } && !source.isCaptured)

        let controller = try await load(source, relayMayWatch: true)
        #expect(alerts.with { $0.map(\.service.isRelay) } == [true] && controller.service.isRelay)
        try await controller.startBroadcast()
        let link = try await relay.ownLink().text
        let ann = try Watching(link, name: "Ann")
        #expect(await ann.sees(white))
        #expect(ann.viewer.route == PeerViewer.Route(relay: nil, isEncrypted: false))
        #expect(controller.broadcastURL == link)
        await controller.finishBroadcast()
        await relay.session.stop()
    }

    @Test func whatIsNoRelayAndARelayThatRefusesAreErrors() async throws {
        func code(_ link: String) async -> ShareKitError.Code? {
            do {
                let relay = PeerBroadcast.Relay(link: link, applicationID: "com.example.budget")
                _ = try await PeerBroadcast(
                    try source(), over: relay, options: .init(), identity: .ephemeral(), accept: { _ in true })
                return nil
            } catch {
                return (error as? ShareKitError)?.code
            }
        }
        let relay = try await Relay(takesApps: false)
        #expect(await code(relay.link.text) == .refused)
        await relay.session.stop()
        #expect(await code(relay.link.text) == .unreachable)
        #expect(await code("https://relay.example/") == .badLink)
        let requests = Monitor(0)
        let service = ServiceSession(
            configuration: .init(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1",
                service: .init(
                    try ServiceDescription(id: try #require(ServiceID("com.example.recorder")), name: "Recorder"))),
            identity: try .ephemeral(),
            decide: { _ in
                requests.change { $0 += 1 }
                return .accepted
            }, makeSink: { _, _ in nil }, emit: { _ in })
        #expect(await code(try await service.start().text) == .unknownService)
        #expect(requests.with { $0 } == 0)
        await service.stop()
    }

    @Test func aBroadcastThatIsNotStartedGivesThePairingUp() async throws {
        let relay = try await Relay()
        let (source, identity) = (try source(), try Identity.ephemeral())
        for _ in 0..<2 {
            let broadcast = try await PeerBroadcast(
                source, over: place(relay.link, false), options: .init(), identity: identity, accept: { _ in true })
            await broadcast.finish()
            await #expect { _ = try await broadcast.start() } throws: { $0 is ShareKitError }
        }
        #expect(!source.isCaptured)
        await relay.session.stop()
    }

    /// What is installed says it, before anybody is reached.
    @Test func aDescriptionSaysThatItIsOfARelay() throws {
        var description = try ServiceDescription(id: try #require(ServiceID("io.sharekit.relay")), name: "Relay")
        for isRelay in [false, true] {
            description.isRelay = isRelay
            let read = try JSONDecoder().decode(ServiceDescription.self, from: JSONEncoder().encode(description))
            #expect(read == description && read.isRelay == isRelay)
        }
        let other = #"{"id": "com.example.x", "name": "X", "kind": "another"}"#
        #expect(try !JSONDecoder().decode(ServiceDescription.self, from: Data(other.utf8)).isRelay)
    }
}

/// Waits 30 s at most, on a thread of its own.
private func wait<State: Sendable, Value: Sendable>(
    _ monitor: Monitor<State>, _ find: @escaping @Sendable (inout State) -> Value?
) async -> Value? {
    await withCheckedContinuation { continuation in
        _ = NamedThread("wait") {
            continuation.resume(returning: monitor.wait(until: MonotonicClock.now + .seconds(30), find))
        }
    }
}
