import LinuxRuntime
import MediaCore
import Testing
import WaitSupport

@testable import Admission
@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Relay
@testable import Service
@testable import Signaling
@testable import Viewer

/// A publisher with the fixed token of a relay crashes, and comes again.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct RepublishingTests {
    private static let token = "a-token-for-tools-of-others"

    private struct Relay {
        let session: RelaySession
        let link: ServiceLink
        let events = Monitor<[RelayEvent]>([])

        init(places: Int) async throws {
            let description = try ServiceDescription(
                id: try #require(ServiceID("io.sharekit.relay")), name: "Relay", fields: [])
            var service = ServiceConfiguration(description, fixedToken: token)
            service.serve(broadcasts: places)
            let events = events
            session = RelaySession(
                configuration: .init(
                    service: .init(listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", service: service)),
                identity: try .ephemeral(), decide: { _ in .accepted }, admit: { _ in .accepted },
                emit: { event in events.change { $0.append(event) } })
            link = try await session.start()
        }

        /// The links of the broadcasts that have begun, when there are so many.
        func links(_ count: Int) async -> [Link]? {
            await waiting(events) { events in
                let links = events.compactMap { if case .live(_, _, let link) = $0 { link } else { nil } }
                return links.count >= count ? links : nil
            }
        }
    }

    private func publish(
        _ publisher: PublicationTests.Publisher, to relay: Relay
    ) async throws -> (ServicePublication, Task<EndReason, Never>) {
        let publication = ServicePublication(
            core: publisher.core, service: try TokenEndpoint(relay.link, token: Self.token), onEvent: { _ in },
            report: { _ in })
        try await publication.open()
        return (publication, Task { await publication.run() })
    }

    /// One address may have one of four places: the dead session must not keep it.
    @Test(arguments: [4, 16]) func aPublisherThatHasCrashedGoesOnUnderTheSameLink(places: Int) async throws {
        let relay = try await Relay(places: places)
        let crashed = try PublicationTests.Publisher()
        let (dead, deadEnd) = try await publish(crashed, to: relay)
        let link = try #require(await relay.links(1)?.first)
        let seen = RecordedOutput()
        let viewer = ViewerSession(
            link: link, identity: try .ephemeral(), name: "viewer", sink: playback(seen, speaker: nil), emit: { _ in })
        let end = Task { await viewer.run() }
        #expect(await seen.wait { $0.counters.count >= 10 })
        await crashed.crash()
        let again = try PublicationTests.Publisher()
        let (publication, running) = try await publish(again, to: relay)
        let links = try #require(await relay.links(2))
        #expect(links == [link, link])
        let before = seen.state.counters.count
        #expect(await seen.wait { $0.counters.count >= before + 30 })
        viewer.leave()
        #expect(await end.value.code == .stopped)
        await publication.close(EndReason(.stopped, "done"))
        _ = await running.value
        await again.close()
        await relay.session.stop()
        _ = (dead, deadEnd)
    }

    /// Two publishers at one address that both run have a broadcast each.
    @Test func aPublisherThatIsHeardKeepsItsPlace() async throws {
        let relay = try await Relay(places: 16)
        let (one, other) = (try PublicationTests.Publisher(), try PublicationTests.Publisher())
        let (first, firstEnd) = try await publish(one, to: relay)
        _ = try #require(await relay.links(1))
        let (second, secondEnd) = try await publish(other, to: relay)
        let links = try #require(await relay.links(2))
        #expect(Set(links.map(\.id)).count == 2)
        for publication in [first, second] { await publication.close(EndReason(.stopped, "done")) }
        _ = (await firstEnd.value, await secondEnd.value)
        await one.close()
        await other.close()
        await relay.session.stop()
    }
}
