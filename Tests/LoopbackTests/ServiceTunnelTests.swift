import Foundation
import HTTPTypes
import LinuxRuntime
import MediaCore
import NIOCore
import SessionDescription
import TestSource
import Testing
import VPXCodec
import WaitSupport
import Wording

@testable import Admission
@testable import HTTP
@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Relay
@testable import Service
@testable import Signaling
@testable import Viewer

/// A relay without media of its own here, on loopback.
private final class TunnelRelay: Sendable {
    let events = Monitor<[RelayEvent]>([])
    let session: RelaySession
    let identity: Identity

    /// - Parameters:
    ///   - secret: of a TURN server that is not there.
    ///   - decide: answers services and hosts that pair.
    init(
        _ identity: Identity, port: Int = 0, secret: TURNSecret? = nil,
        decide: @escaping @Sendable (PairingRequest) async -> PairingDecision = { _ in .accepted }
    ) throws {
        self.identity = identity
        let description = try ServiceDescription(
            id: try #require(ServiceID("io.sharekit.relay")), name: "Relay", fields: [])
        let events = events
        var service = ServiceConfiguration(description)
        if secret != nil { service.iceServers = [ICEServer(urls: ["turn:127.0.0.1:9"])] }
        service.turnSecret = secret
        session = RelaySession(
            configuration: RelaySession.Configuration(
                service: .init(
                    listenHost: "127.0.0.1", listenPort: port, linkHost: "127.0.0.1", service: service)),
            identity: identity, decide: decide, admit: { _ in .accepted },
            emit: { event in events.change { $0.append(event) } })
    }

    /// Whether a broadcast was published to it, or any media came.
    var hasMedia: Bool {
        events.with { events in
            events.contains {
                switch $0 {
                case .live, .service(.opened), .service(.connected): true
                default: false
                }
            }
        }
    }
}

/// A service, and what it has received and reported.
private final class MetService: Sendable {
    let seen = RecordedOutput()
    let events = Monitor<[ServiceSessionEvent]>([])
    let session: ServiceSession
    let identity: Identity

    /// - Parameters:
    ///   - relay: where hosts meet it; nil: they reach it.
    ///   - sink: gets the media in the place of `seen`.
    init(_ relay: ServiceLink?, identity: Identity, sink: RecordingSink? = nil) throws {
        self.identity = identity
        let description = try ServiceDescription(
            id: try #require(ServiceID("com.example.conference")), name: "Conference",
            fields: [SetupField(name: "title", label: "Title")])
        let (seen, events) = (seen, events)
        var configuration = ServiceSession.Configuration(
            listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", service: .init(description))
        configuration.relay = relay
        session = ServiceSession(
            configuration: configuration, identity: identity, decide: { _ in .accepted },
            makeSink: { _, _ -> any EncodedMediaSink in
                if let sink { return sink }
                return playback(seen, speaker: nil)
            },
            emit: { event in events.change { $0.append(event) } })
    }

    /// Waits for an event, 20 s at most.
    func wait<Value: Sendable>(_ find: @escaping @Sendable (ServiceSessionEvent) -> Value?) async -> Value? {
        await waiting(events) { events in events.lazy.compactMap(find).first }
    }

    /// Waits until the service does not try to register again any more, 20 s at most.
    func hasGivenUp() async throws -> Bool {
        let registration = try #require(session.state.with { $0.registration })
        let deadline = ContinuousClock.now + .seconds(20)
        while await registration.renewal != nil, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(50))
        }
        return await registration.renewal == nil
    }

    /// Waits for a warning that begins so.
    func warning(_ begin: String) async -> Bool {
        await wait { if case .notice(let notice) = $0, notice.words.sentence.hasPrefix(begin) { true } else { nil } }
            == true
    }
}

/// A host that publishes, and how it has ended.
private struct TunnelHost {
    let session: HostSession
    let identity: Identity
    let ended = Monitor<EndReason?>(nil)
    let told = Monitor<[ServiceEvent]>([])

    init() throws {
        let (identity, ended) = (try Identity.ephemeral(), ended)
        self.identity = identity
        session = try HostSession(
            configuration: .init(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 60,
                maximumBitrate: .kilobits(8_000), contentHint: nil),
            identity: identity, source: TestVideoSource(framesPerSecond: 30), encoder: VP8Encoder(), audio: [],
            decide: { _ in .refused(nil) },
            emit: { event in
                if case .ended(let reason) = event { ended.change { $0 = reason } }
            })
    }

    func pair(_ link: ServiceLink) async throws -> PairedService {
        try await ServicePairing(
            link: link, application: ApplicationInfo(id: "com.example.budget", name: "Budget"), identity: identity
        ).run { _ in ["title": "Accounts"] }
    }

    func publish(to link: ServiceLink) async throws {
        let (paired, told) = (try await pair(link), told)
        try await session.start(publishingTo: paired) { event in told.change { $0.append(event) } }
    }

    func stop() async { await session.stop(EndReason(.stopped, "done")) }
}

/// Services that are met at a relay, over real HTTPS, ICE, DTLS and SRTP on loopback.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct MetServiceTests {
    @Test func aHostPublishesToAServiceThatIsMetAtARelay() async throws {
        let relay = try TunnelRelay(.ephemeral())
        let place = try await relay.session.start()
        let service = try MetService(place, identity: .ephemeral())
        let link = try await service.session.start()
        #expect(link.authority == place.authority && link.relay == place.fingerprint)
        #expect(link.fingerprint == service.identity.fingerprint)
        let host = try TunnelHost()
        try await host.publish(to: link)
        #expect(await service.seen.wait { $0.counters.count >= 20 })
        let path = await service.wait { if case .connected(_, let path) = $0 { path } else { nil } }
        #expect(path?.hasPrefix("direct") == true, "\(String(describing: path))")
        service.session.send(ServiceInfo(viewers: 3, comment: BroadcastComment(from: "Ann", "hello")))
        let info = await waiting(host.told) { events in
            events.lazy.compactMap { if case .serviceInfo(let info) = $0 { info } else { nil } }.first
        }
        #expect(info == ServiceInfo(viewers: 3, comment: BroadcastComment(from: "Ann", "hello")))
        // The relay has had nothing of it, and a relay that drains does not wait for services.
        #expect(!relay.hasMedia && relay.session.isIdle)
        await host.stop()
        let end = await service.wait { if case .closed(_, _, let reason) = $0 { reason } else { nil } }
        #expect(end?.code == .hostEnded)
        // The place at the relay is free again when the service stops.
        await service.session.stop()
        let closed = await waiting(relay.events) { events in
            events.lazy.compactMap { if case .service(.tunnelClosed(_, let id)) = $0 { id } else { nil } }.first
        }
        #expect(closed == .service(link.id))
        await relay.session.stop()
    }

    @Test func theServicesEndReachesTheHost() async throws {
        let relay = try TunnelRelay(.ephemeral())
        let service = try MetService(try await relay.session.start(), identity: .ephemeral())
        let link = try await service.session.start()
        let host = try TunnelHost()
        try await host.publish(to: link)
        #expect(await service.seen.wait { !$0.counters.isEmpty })
        await service.session.stop(reason: "closing time")
        let reason = await waiting(host.ended) { $0 }
        #expect(reason?.code == .serviceEnded && reason?.sentence.contains("closing time") == true)
        await relay.session.stop()
    }

    /// The broadcast that runs goes on without the relay. The service registers at the relay that has started anew, and
    /// others can broadcast to it again, under the same link.
    @Test func theEndOfTheRelayEndsNoBroadcast() async throws {
        let identity = try Identity.ephemeral()
        let relay = try TunnelRelay(identity)
        let place = try await relay.session.start()
        let service = try MetService(place, identity: .ephemeral())
        let link = try await service.session.start()
        let host = try TunnelHost()
        try await host.publish(to: link)
        #expect(await service.seen.wait { !$0.counters.isEmpty })
        await relay.session.stop()
        #expect(await service.warning("no host can pair now"))
        let count = service.seen.state.counters.count
        // Longer than two attempts of the host to open its stream of events again.
        #expect(await service.seen.wait { $0.counters.count >= count + 90 })
        #expect(host.ended.with { $0 } == nil)
        let again = try TunnelRelay(identity, port: place.port)
        #expect(try await again.session.start() == place)
        #expect(await service.warning("registered at the relay again"))
        // What the service says reaches the host again.
        let info = Monitor(false)
        let telling = Task {
            var viewers = 0
            while !Task.isCancelled, !info.with({ $0 }) {
                viewers += 1
                service.session.send(ServiceInfo(viewers: viewers))
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
        let heard = await waiting(host.told) { events in
            events.contains { if case .serviceInfo = $0 { true } else { false } } ? true : nil
        }
        info.change { $0 = true }
        await telling.value
        #expect(heard == true)
        let second = try TunnelHost()
        let paired = try await second.pair(link)
        await paired.close()
        await second.stop()
        await host.stop()
        await service.session.stop()
        await again.session.stop()
    }

    /// One identity has one place at a relay. The program that came first says so, and does not fight for it.
    @Test func aSecondServiceOfTheSameIdentityTakesThePlace() async throws {
        let relay = try TunnelRelay(.ephemeral())
        let place = try await relay.session.start()
        let identity = try Identity.ephemeral()
        let (first, second) = (try MetService(place, identity: identity), try MetService(place, identity: identity))
        _ = try await first.session.start()
        let link = try await second.session.start()
        #expect(await first.warning("no host can pair any more: another program with the same identity"))
        let host = try TunnelHost()
        await (try host.pair(link)).close()
        await host.stop()
        await first.session.stop()
        // The end of the first one is not the second one's.
        let another = try TunnelHost()
        await (try another.pair(link)).close()
        await another.stop()
        await second.session.stop()
        await relay.session.stop()
    }

    /// The credentials of the relay's TURN server are valid for some seconds here: hosts that come later get other
    /// ones.
    @Test func theRelaysCredentialsAreRenewedBeforeTheyExpire() async throws {
        let relay = try TunnelRelay(.ephemeral(), secret: TURNSecret("north", lifetime: 6))
        let service = try MetService(try await relay.session.start(), identity: .ephemeral())
        let link = try await service.session.start()
        let host = try TunnelHost()
        func expiry() async throws -> Date {
            let paired = try await host.pair(link)
            await paired.close()
            return try #require(paired.iceServers.expiry)
        }
        let first = try await expiry()
        var last = first
        let deadline = ContinuousClock.now + .seconds(20)
        while last == first, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(500))
            last = try await expiry()
        }
        #expect(last > first && last > .now)
        await host.stop()
        await service.session.stop()
        await relay.session.stop()
    }

    private static let isRefused = "no host can pair any more: the relay does not take this service: "

    /// The operator of a relay that has started anew does not want the service any more (403): it asks once.
    @Test func aServiceThatTheRelayRefusesDoesNotAskAgain() async throws {
        let identity = try Identity.ephemeral()
        let relay = try TunnelRelay(identity)
        let place = try await relay.session.start()
        let service = try MetService(place, identity: .ephemeral())
        _ = try await service.session.start()
        await relay.session.stop()
        #expect(await service.warning("no host can pair now"))
        let asked = Monitor(0)
        let again = try TunnelRelay(identity, port: place.port) { _ in
            asked.change { $0 += 1 }
            return .refused("no services here")
        }
        _ = try await again.session.start()
        #expect(await service.warning(Self.isRefused))
        let said = await service.wait {
            if case .notice(let notice) = $0, notice.words.sentence.hasPrefix(Self.isRefused) {
                notice.words.sentence
            } else {
                nil
            }
        }
        #expect(said?.contains("no services here") == true, "\(said ?? "nothing")")
        #expect(try await service.hasGivenUp())
        #expect(asked.with { $0 } == 1)
        // A new start says it at once.
        let error = await #expect(throws: EndReason.self) {
            _ = try await MetService(place, identity: .ephemeral()).session.start()
        }
        #expect(error?.code == .refused && error?.sentence.contains("no services here") == true)
        await service.session.stop()
        await again.session.stop()
    }

    /// While the relay was away, its list of identifiers was lost, and another certificate has taken this one (403).
    @Test func aServiceWhoseIdentifierIsAnothersDoesNotAskAgain() async throws {
        let identity = try Identity.ephemeral()
        let relay = try TunnelRelay(identity)
        let place = try await relay.session.start()
        let (own, anothers) = (try Identity.ephemeral(), try Identity.ephemeral())
        let service = try MetService(place, identity: own)
        _ = try await service.session.start()
        await relay.session.stop()
        #expect(await service.warning("no host can pair now"))
        let isTaken = Monitor(false)
        let again = try TunnelRelay(identity, port: place.port) { request in
            request.fingerprint == own.fingerprint && !isTaken.with { $0 } ? .unanswered : .accepted
        }
        _ = try await again.session.start()
        let other = try MetService(place, identity: anothers)
        let link = try await other.session.start()
        isTaken.with { $0 = true }
        #expect(await service.warning(Self.isRefused + "the identifier is another certificate's there"))
        #expect(try await service.hasGivenUp())
        // The other one is still met.
        let host = try TunnelHost()
        await (try host.pair(link)).close()
        await host.stop()
        let error = await #expect(throws: EndReason.self) {
            _ = try await MetService(place, identity: own).session.start()
        }
        #expect(error?.code == .refused && error?.sentence.contains("another certificate's") == true)
        for session in [service.session, other.session] { await session.stop() }
        await again.session.stop()
    }

    /// The relay has ended the tunnel, and something there has the identifier for a while: the service goes on asking.
    @Test func aRegistrationSurvivesAnIdentifierInUse() async throws {
        let opened = Monitor<[SessionID]>([])
        let configuration = RelaySession.Configuration(
            service: .init(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1",
                service: .init(
                    try ServiceDescription(
                        id: try #require(ServiceID("io.sharekit.relay")), name: "Relay", fields: []))))
        let relay = RelaySession(
            configuration: configuration, identity: try .ephemeral(), decide: { _ in .accepted },
            admit: { _ in .accepted },
            emit: { event in
                if case .service(.tunnelOpened(let id, _, _)) = event { opened.change { $0.append(id) } }
            })
        let place = try await relay.start()
        let service = try MetService(place, identity: .ephemeral())
        let link = try await service.session.start()
        let tunnel = try #require(await waiting(opened) { $0.first })
        let server = try #require(relay.session.state.with { $0.server })
        let handle = try #require(relay.session.state.with { $0.handle })
        let other = try server.add(
            ServiceConfiguration(try ServiceDescription(id: link.id, name: "Other", fields: [])),
            delegate: relay.session)
        handle.finish(tunnel, reason: "of the test")
        #expect(await service.warning("no host can pair now"))
        let refused = await service.wait {
            if case .notice(let notice) = $0, notice.words.sentence.hasPrefix("not registered yet") {
                notice.words.sentence
            } else {
                nil
            }
        }
        #expect(refused?.contains("in use") == true, "\(refused ?? "no warning")")
        await other.remove(reason: "of the test")
        #expect(await service.warning("registered at the relay again"))
        #expect(opened.with { $0.count } == 2)
        await service.session.stop()
        await relay.stop()
    }

    @Test func aServiceThatTheRelayDoesNotTakeDoesNotStart() async throws {
        let relay = try TunnelRelay(.ephemeral())
        let place = try await relay.session.start()
        let forged = ServiceLink(
            host: place.host, port: place.port, id: place.id, fingerprint: Array(repeating: 7, count: 32))
        let service = try MetService(forged, identity: .ephemeral())
        let error = await #expect(throws: EndReason.self) { _ = try await service.session.start() }
        #expect(error?.code == .untrusted)
        await service.session.stop()
        await relay.session.stop()
        let late = try MetService(place, identity: .ephemeral())
        let refused = await #expect(throws: EndReason.self) { _ = try await late.session.start() }
        #expect(refused?.code == .unreachable)
        await late.session.stop()
    }
}

/// A relay that lies about the media: it must not get any.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct LyingRelayMediaTests {
    /// A service whose requests go through a relay of the test's own.
    private struct Stage {
        let service: MetService
        let link: ServiceLink
        let relay: TunnelRelay
        let client: ServiceClient
        let serving: Task<Void, Never>

        /// - Parameter change: what the relay does with the service's response to a request.
        init(
            changing change: @escaping @Sendable (ForwardedRequest, ForwardedResponse) async -> ForwardedResponse
        ) async throws {
            let relay = try TunnelRelay(.ephemeral())
            let place = try await relay.session.start()
            let service = try MetService(nil, identity: .ephemeral())
            _ = try await service.session.start()
            let client = try ServiceClient(link: place)
            _ = try await client.pair(
                application: ApplicationInfo(id: "com.example.conference", name: "Conference"),
                identity: service.identity)
            _ = try await client.accept(setup: [:])
            _ = try await client.waitForGrant()
            let id = TunnelID.service(service.session.id)
            let events = try await client.tunnel(id)
            let server = try #require(service.session.state.with { $0.server })
            serving = Task {
                await withTaskGroup(of: Void.self) { group in
                    do {
                        for try await event in events {
                            guard case .request(let request) = event else { continue }
                            group.addTask {
                                guard let answer = await Self.answer(request, server, id) else { return }
                                let part = await change(request, answer)
                                _ = try? await client.respond(part, to: request.number, of: id)
                            }
                        }
                    } catch {}
                }
            }
            (self.relay, self.service, self.client) = (relay, service, client)
            link = ServiceLink(
                host: place.host, port: place.port, id: service.session.id,
                fingerprint: service.identity.fingerprint, relay: place.fingerprint)
        }

        private static func answer(
            _ request: ForwardedRequest, _ server: SignalingServer, _ id: TunnelID
        ) async -> ForwardedResponse? {
            guard !request.path.hasSuffix("/events") else { return nil }
            guard let eventLoop = await server.eventLoop else { return nil }
            let closed = eventLoop.makePromise(of: Void.self)
            defer { closed.succeed(()) }
            let response = await server.respond(to: request, for: id, on: eventLoop, closed: closed.futureResult)
            let body = BodyCollector()
            try? await response.body.write(body)
            return ForwardedResponse(
                status: Int(response.status.code),
                headers: response.headers.map { [$0.name.canonicalName, $0.value] }, body: body.text)
        }

        func stop() async {
            serving.cancel()
            await client.close()
            await service.session.stop()
            await relay.session.stop()
        }
    }

    /// The relay answers the offer with a peer of its own, under the fingerprint of the service, so that ICE leads to
    /// it.
    @Test func aPeerOfTheRelayGetsNoMedia() async throws {
        let stolen = RecordingSink()
        let thief = try MetService(nil, identity: .ephemeral(), sink: stolen)
        _ = try await thief.session.start()
        let offers = Monitor(0)
        let stage = try await Stage { request, answer in
            guard request.path.hasSuffix("/whip"), answer.status == 201,
                let real = CertificateFingerprints.sha256(in: answer.body ?? ""),
                let host = CertificateFingerprints.sha256(in: request.body)
            else { return answer }
            offers.change { $0 += 1 }
            let publisher = Publisher(
                pairing: nil, application: nil, setup: [:], kind: "thief", address: request.address, fingerprint: host)
            guard let opened = try? await thief.session.openSession(offer: request.body, publisher: publisher) else {
                return answer
            }
            var answer = answer
            let own = thief.identity.fingerprint
            answer.body = opened.answer.replacing(Fingerprint.colons(own), with: Fingerprint.colons(real))
            return answer
        }
        let host = try TunnelHost()
        // The answer looks right, so the host tries. DTLS shows whose certificate it is.
        try? await host.publish(to: stage.link)
        let reason = await waiting(host.ended) { $0 }
        #expect(reason != nil && reason?.code != .stopped, "\(String(describing: reason))")
        #expect(offers.with { $0 } == 1)
        #expect(stolen.state.with { $0.frames.isEmpty } && stage.service.seen.state.counters.isEmpty)
        await host.stop()
        await stage.stop()
        await thief.session.stop()
    }

    /// A relay that says that there is no such service ends no broadcast: it may have started anew.
    @Test func aRelayThatDoesNotKnowTheServiceEndsNoBroadcast() async throws {
        let stage = try await Stage { _, answer in answer }
        let host = try TunnelHost()
        try await host.publish(to: stage.link)
        #expect(await stage.service.seen.wait { !$0.counters.isEmpty })
        await stage.client.leave(.service(stage.link.id))
        let publication = try #require(host.session.state.with { $0.publication?.client })
        let viewer = ViewerDescription(name: "Conference", kind: "service", address: "127.0.0.1", words: "")
        publication.handle(.event(.interrupted(viewer)))
        let count = stage.service.seen.state.counters.count
        #expect(await stage.service.seen.wait { $0.counters.count >= count + 60 })
        #expect(host.ended.with { $0 } == nil)
        publication.handle(.event(.resumed(viewer, path: "", after: .zero)))
        await host.stop()
        await stage.stop()
    }

    /// Events that a relay makes up do not move a broadcast to another service of the same identifier.
    @Test func theRelayCannotSendTheBroadcastElsewhere() async throws {
        let thief = try MetService(nil, identity: .ephemeral())
        let other = try await thief.session.start()
        let stage = try await Stage { _, answer in answer }
        let host = try TunnelHost()
        try await host.publish(to: stage.link)
        let publication = try #require(host.session.state.with { $0.publication?.client })
        for event: ServiceEvent in [
            .broadcastURL(
                Link(
                    host: "127.0.0.1", port: 1, id: .random(), secret: Link.randomSecret(),
                    fingerprint: other.fingerprint
                ).text), .alternates([other.text]), .reconnect,
        ] { publication.handle(.told(0, event)) }
        #expect(publication.logic.read { $0.presentNumber == 0 && $0.relays.isEmpty })
        await host.stop()
        #expect(thief.events.with { $0.isEmpty })
        await stage.stop()
        await thief.session.stop()
    }
}

/// Collects a body.
private final class BodyCollector: ResponseBodyWriter, @unchecked Sendable {
    private(set) var text = ""

    func write(_ buffer: ByteBuffer) async throws { text += String(buffer: buffer) }
    func finish() async throws {}
}
