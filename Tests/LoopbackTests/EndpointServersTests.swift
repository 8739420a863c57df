import HTTP
import LinuxRuntime
import MediaCore
import TestSupport
import Testing
import WaitSupport

@testable import Admission
@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Service
@testable import Signaling
@testable import Viewer

/// A WHIP endpoint that cannot be reached directly, and names a TURN server with its answer (RFC 9725 section 4.6).
@Suite(.serialized, .timeLimit(.minutes(1)))
struct EndpointServersTests {
    /// Stands before a service: nobody reaches the other without the server.
    private final class Endpoint: PublishingEndpoint {
        private let link: ServiceLink
        private let token: String
        private let takesRestart: Bool
        private let isReachable: Bool
        private let session: Monitor<TokenEndpoint>
        let grantedServers: GrantedServers
        /// The offers and restarts that came.
        let offers = Monitor<[String]>([])
        let restarts = Monitor<[String]>([])
        /// A restart that is refused is answered when this is fulfilled.
        let refusal = OneShot<Void>()

        init(_ link: ServiceLink, token: String, servers: [ICEServer], takesRestart: Bool, isReachable: Bool) throws {
            (self.link, self.token) = (link, token)
            (self.takesRestart, self.isReachable) = (takesRestart, isReachable)
            grantedServers = GrantedServers(servers, by: "127.0.0.1")
            session = Monitor(try TokenEndpoint(link, token: token))
        }

        var name: String { "endpoint" }
        var host: String { "127.0.0.1" }
        var fingerprint: [UInt8]? { link.fingerprint }
        var takesLateCandidates: Bool { false }

        /// Keeps the lines of relayed candidates, and all that are none.
        private func relayed(_ text: String) -> String {
            guard !isReachable else { return text }
            return text.split(separator: "\r\n").filter { !$0.hasPrefix("a=candidate") || $0.contains("typ relay") }
                .joined(separator: "\r\n") + "\r\n"
        }

        func publish(_ sdp: String) async throws(SignalingError) -> OfferAnswer {
            let isFirst = offers.with { offers in
                defer { offers.append(sdp) }
                return offers.isEmpty
            }
            if !isFirst {
                await session.with { $0 }.close()
                let next = try TokenEndpoint(link, token: token)
                session.with { $0 = next }
            }
            let inner = session.with { $0 }
            let answer = try await inner.publish(relayed(sdp))
            guard isFirst else { return answer }
            return OfferAnswer(sdp: relayed(answer.sdp), resource: answer.resource, etag: answer.etag)
        }

        func trickle(_ fragment: String) async throws(SignalingError) {}

        func restart(_ fragment: String, timeout: Duration) async throws(SignalingError) -> RestartAnswer {
            restarts.change { $0.append(fragment) }
            guard takesRestart else {
                await refusal.value
                throw SignalingError(.offerRefused, "it cannot restart ICE")
            }
            return try await session.with { $0 }.restart(relayed(fragment), timeout: timeout)
        }

        func events() async throws(SignalingError) -> AsyncThrowingStream<ServiceEvent, any Error>? { nil }
        func close() async { await session.with { $0 }.close() }
    }

    /// A service behind an endpoint that names coturn, and a publication to it.
    /// - Parameter holdsRefusal: the body answers a restart that is refused.
    @discardableResult
    private func with(
        takesRestart: Bool = false, isReachable: Bool = false, holdsRefusal: Bool = false,
        _ body: (Endpoint, ServicePublication, RecordedOutput) async throws -> Void
    ) async throws -> Endpoint {
        let relay = try LoopbackTURNServer(password: "secret")
        let server = ICEServer(
            urls: ["turn:127.0.0.1:\(relay.port)"], username: LoopbackTURNServer.user, credential: "secret")
        let token = "a-token-for-foreign-clients"
        let description = try ServiceDescription(
            id: try #require(ServiceID("com.example.conference")), name: "Conference", fields: [])
        let seen = RecordedOutput()
        let service = ServiceSession(
            configuration: .init(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1",
                service: ServiceConfiguration(description, fixedToken: token)),
            identity: try .ephemeral(), decide: { _ in .accepted }, makeSink: { _, _ in playback(seen, speaker: nil) },
            emit: { _ in })
        let endpoint = try Endpoint(
            try await service.start(), token: token, servers: [server], takesRestart: takesRestart,
            isReachable: isReachable)
        if !holdsRefusal { endpoint.refusal.fulfil(()) }
        let publisher = try PublicationTests.Publisher()
        let publication = ServicePublication(
            core: publisher.core, service: endpoint, onEvent: { _ in }, report: { _ in })
        try await publication.open()
        let end = Task { await publication.run() }
        try await body(endpoint, publication, seen)
        await publication.close(EndReason(.stopped, "done"))
        #expect(await end.value.code == .stopped)
        await publisher.close()
        await service.stop()
        return endpoint
    }

    @Test(arguments: [true, false])
    func serversOfTheEndpointAreUsedWhereNothingElseConnects(takesRestart: Bool) async throws {
        try await with(takesRestart: takesRestart) { endpoint, _, seen in
            #expect(await seen.wait { $0.counters.count >= 10 })
            let (offers, restarts) = (endpoint.offers.with { $0 }, endpoint.restarts.with { $0 })
            #expect(offers.first?.contains("typ relay") == false && restarts.count == 1)
            #expect(restarts.first?.contains("typ relay") == true)
            #expect(offers.count == (takesRestart ? 1 : 2))
            #expect(takesRestart || offers.last?.contains("typ relay") == true)
        }
    }

    @Test func aConnectionWithoutTheServersStays() async throws {
        try await with(isReachable: true) { endpoint, _, seen in
            // 3 s and more.
            #expect(await seen.wait { $0.counters.count >= 95 })
            #expect(endpoint.offers.with { $0.count } == 1 && endpoint.restarts.with { $0.isEmpty })
        }
    }

    /// The end comes while the endpoint refuses to restart ICE: no session is opened after it.
    @Test func nothingIsOpenedAfterTheEnd() async throws {
        let endpoint = try await with(holdsRefusal: true) { endpoint, publication, _ in
            let isRestarting = await waiting(endpoint.restarts) { $0.isEmpty ? nil : true }
            #expect(isRestarting == true)
            await publication.close(EndReason(.stopped, "done"))
            endpoint.refusal.fulfil(())
        }
        #expect(endpoint.offers.with { $0.count } == 1)
    }
}
