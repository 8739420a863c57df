import LinuxRuntime
import MediaCore
import Signaling
import TestSource
import Testing
import VPXCodec
import WaitSupport

@testable import Admission
@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Service
@testable import Viewer

/// A host that is paired with a service and publishes to it, over real HTTPS, ICE, DTLS and SRTP on loopback.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct ServiceSessionTests {
    /// A service, and what it has received and reported.
    private final class Service: Sendable {
        let seen = RecordedOutput()
        let events = Monitor<[ServiceSessionEvent]>([])
        let session: ServiceSession
        let link: ServiceLink

        init(decide: @escaping @Sendable (PairingRequest) async -> PairingDecision) async throws {
            let description = try ServiceDescription(
                id: try #require(ServiceID("com.example.conference")), name: "Conference",
                fields: [SetupField(name: "title", label: "Title")])
            let (seen, events) = (seen, events)
            session = ServiceSession(
                configuration: .init(
                    listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", service: .init(description)),
                identity: try .ephemeral(), decide: decide,
                makeSink: { _, _ in playback(seen, speaker: nil) },
                emit: { event in events.change { $0.append(event) } })
            link = try await session.start()
        }

        /// Waits for an event, 20 s at most.
        func wait<Value: Sendable>(_ find: @escaping @Sendable (ServiceSessionEvent) -> Value?) async -> Value? {
            await waiting(events) { events in events.lazy.compactMap(find).first }
        }

        func end() async -> EndReason? {
            await wait { if case .closed(_, _, let reason) = $0 { reason } else { nil } }
        }
    }

    private func pair(
        _ service: Service, _ identity: Identity, ask: @escaping @Sendable (ServiceDescription) -> [String: String]?
    ) async throws -> PairedService {
        try await ServicePairing(
            link: service.link, application: ApplicationInfo(id: "com.example.budget", name: "Budget"),
            identity: identity
        ).run { ask($0.service) }
    }

    private func host(
        _ identity: Identity, _ ended: Monitor<EndReason?> = Monitor(nil)
    ) throws -> HostSession {
        try HostSession(
            configuration: .init(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 60,
                maximumBitrate: .kilobits(8_000), contentHint: nil),
            identity: identity, source: TestVideoSource(framesPerSecond: 30), encoder: VP8Encoder(), audio: [],
            decide: { _ in .refused(nil) },
            emit: { event in
                if case .ended(let reason) = event { ended.change { $0 = reason } }
            })
    }

    @Test func aPairedHostPublishesToTheServiceAndHearsWhatItSays() async throws {
        let requests = Monitor<[PairingRequest]>([])
        let service = try await Service { request in
            requests.change { $0.append(request) }
            return .accepted
        }
        let identity = try Identity.ephemeral()
        let asked = Monitor<[ServiceDescription]>([])
        let paired = try await pair(service, identity) { description in
            asked.change { $0.append(description) }
            return ["title": "Accounts"]
        }
        #expect(asked.with { $0.map(\.name) } == ["Conference"])
        #expect(requests.with { $0.map(\.setup) } == [["title": "Accounts"]])
        let told = Monitor<[ServiceEvent]>([])
        let host = try host(identity)
        try await host.start(publishingTo: paired) { event in told.change { $0.append(event) } }
        #expect(await service.seen.wait { $0.counters.count >= 20 })
        service.session.send(ServiceInfo(viewers: 3, comment: BroadcastComment(from: "Ann", "hello")))
        let info = await waiting(told) { events in
            events.lazy.compactMap { if case .serviceInfo(let info) = $0 { info } else { nil } }.first
        }
        #expect(info == ServiceInfo(viewers: 3, comment: BroadcastComment(from: "Ann", "hello")))
        await host.stop(EndReason(.stopped, "done"))
        #expect(await service.end()?.code == .hostEnded)
        await service.session.stop()
    }

    /// An app may broadcast again and again.
    @Test func aPublicationThatHasEndedIsReleased() async throws {
        let service = try await Service { _ in .accepted }
        let identity = try Identity.ephemeral()
        let paired = try await pair(service, identity) { _ in ["title": "Accounts"] }
        weak var publication: ServicePublication?
        do {
            let host = try host(identity)
            try await host.start(publishingTo: paired) { _ in }
            publication = host.state.with { $0.publication?.client }
            #expect(publication != nil)
            await host.stop(EndReason(.stopped, "done"))
        }
        // The task that ran it may be about to end.
        let deadline = ContinuousClock.now + .seconds(30)
        while publication != nil, ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(5)) }
        #expect(publication == nil)
        await service.session.stop()
    }

    @Test func theServiceEndsABroadcastWithAReasonAndANextStep() async throws {
        let service = try await Service { _ in .accepted }
        let identity = try Identity.ephemeral()
        let ended = Monitor<EndReason?>(nil)
        let host = try host(identity, ended)
        let paired = try await pair(service, identity) { _ in ["title": "Accounts"] }
        try await host.start(publishingTo: paired) { _ in }
        #expect(await service.seen.wait { !$0.counters.isEmpty })
        service.session.finish(reason: "the hall is closed", nextStep: "come again tomorrow")
        let reason = await waiting(ended) { $0 }
        #expect(reason?.code == .serviceEnded && reason?.remedy == "come again tomorrow")
        #expect(reason?.sentence.contains("the hall is closed") == true)
        await service.session.stop()
    }

    @Test func nobodyPublishesWithoutBothUsers() async throws {
        let service = try await Service { _ in .refused("not today") }
        let identity = try Identity.ephemeral()
        await #expect(throws: PairingFailure.declined) { _ = try await pair(service, identity) { _ in nil } }
        await #expect(throws: PairingFailure.self) {
            _ = try await pair(service, identity) { _ in ["title": "Accounts"] }
        }
        #expect(
            await service.wait { if case .pairingRefused(_, let reason) = $0 { reason } else { nil } } == "not today")
        #expect(service.seen.state.counters.isEmpty)
        await service.session.stop()
    }

    /// Both learn it from each other, and not by a time limit of their own.
    @Test func aServiceThatStopsEndsTheHostsBroadcast() async throws {
        let service = try await Service { _ in .accepted }
        let identity = try Identity.ephemeral()
        let ended = Monitor<EndReason?>(nil)
        let host = try host(identity, ended)
        let paired = try await pair(service, identity) { _ in ["title": "Accounts"] }
        try await host.start(publishingTo: paired) { _ in }
        #expect(await service.seen.wait { !$0.counters.isEmpty })
        await service.session.stop(reason: "closing time")
        // The end of each broadcast has been reported by then.
        #expect(service.events.with { $0.contains { if case .closed = $0 { true } else { false } } })
        let reason = await waiting(ended) { $0 }
        #expect(reason?.code == .serviceEnded && reason?.sentence.contains("closing time") == true)
    }
}

/// What a publisher can make a service do.
@Suite struct PublisherAllowanceTests {
    @Test func restartsAndCandidatesAreLimitedAndComeBackWithTime() {
        let now = MonotonicClock.now
        let allowance = ViewerAllowance(.viewer, now: now)
        #expect((0..<100).count { _ in allowance.takeAgent(now: now) } == 12)
        #expect((0..<100).count { _ in allowance.takeCandidate(now: now) } == 60)
        #expect(allowance.takeAgent(now: now + .seconds(4)) && !allowance.takeAgent(now: now + .seconds(4)))
        #expect(allowance.takeCandidate(now: now + .seconds(4)))
    }
}
