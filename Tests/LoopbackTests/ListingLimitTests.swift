import LinuxRuntime
import MediaCore
import Testing
import WaitSupport

@testable import Admission
@testable import HTTP
@testable import Host
@testable import Identity
@testable import PeerConnection
@testable import Relay
@testable import Service
@testable import Signaling
@testable import Viewer

/// How many broadcasts a relay lists, and how often a host asks for it.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct ListingLimitTests {
    typealias Relay = RelaySessionTests.Relay
    typealias PublishingHost = RelaySessionTests.PublishingHost

    /// Who is listed stays listed. The other one is watched all the same, and its host learns why nobody finds it.
    @Test func aFullDirectoryListsNoOther() async throws {
        let relay = try await Relay(directoryCapacity: 1)
        let first = try await PublishingHost(to: relay, title: "First")
        let listed = await relay.wait { if case .service(.listed(_, let entry)) = $0 { entry.title } else { nil } }
        #expect(listed == "First")
        let known = try await relay.live()
        let second = try await PublishingHost(to: relay, title: "Second")
        let link = try await relay.live(not: [known])
        let warning = await waiting(second.warnings) { $0.first { $0.contains("does not list this broadcast") } }
        #expect(warning?.contains("the directory is full") == true, "\(warning ?? "nothing was said")")
        let seen = RecordedOutput()
        let viewer = try RelaySessionTests().watch(link, seen)
        #expect(await seen.wait { $0.counters.count >= 5 })
        viewer.session.leave()
        #expect(await viewer.end.value.code == .stopped)
        let titles = relay.events.with { events in
            events.compactMap { if case .service(.listed(_, let entry)) = $0 { entry.title } else { nil } }
        }
        #expect(titles == ["First"] && first.warnings.with { $0.isEmpty })
        await second.stop()
        await first.stop()
        await relay.session.stop()
    }

    /// Takes a broadcast, tells the viewers' link a hundred times, and counts the requests to be listed.
    private struct ListingEndpoint: PublishingEndpoint {
        let receiver: PublicationTests.Receiver
        let requests = Monitor<[ContinuousClock.Instant]>([])

        var name: String { "Relay" }
        var host: String { "127.0.0.1" }
        var fingerprint: [UInt8]? { nil }
        var takesLateCandidates: Bool { false }

        func list() async throws(SignalingError) { requests.change { $0.append(.now) } }
        func publish(_ sdp: String) async throws(SignalingError) -> OfferAnswer {
            guard let answer = try? await receiver.answer(sdp) else { throw SignalingError(.gone, "none") }
            return OfferAnswer(sdp: answer, resource: "", etag: "")
        }
        func trickle(_ fragment: String) async throws(SignalingError) {}
        func restart(_ fragment: String, timeout: Duration) async throws(SignalingError) -> RestartAnswer {
            throw SignalingError(.gone, "none")
        }
        func events() async throws(SignalingError) -> AsyncThrowingStream<ServiceEvent, any Error>? {
            let (stream, continuation) = AsyncThrowingStream<ServiceEvent, any Error>.makeStream(
                bufferingPolicy: .bufferingOldest(128))
            for _ in 0..<100 { continuation.yield(.broadcastURL("https://relay.example/x")) }
            return stream
        }
        func close() async {}
    }

    /// A relay may tell the viewers' link as often as it likes: the host asks it at most once in five seconds.
    @Test func aHostAsksToBeListedOnceInFiveSeconds() async throws {
        let (publisher, receiver) = (try PublicationTests.Publisher(), try PublicationTests.Receiver())
        let endpoint = ListingEndpoint(receiver: receiver)
        let told = Monitor(0)
        let publication = ServicePublication(
            core: publisher.core, service: endpoint, onEvent: { _ in }, report: { _ in told.change { $0 += 1 } })
        try await publication.open()
        let times = try #require(await waiting(endpoint.requests) { $0.count >= 2 ? $0 : nil })
        #expect(told.with { $0 } == 100 && times[1] - times[0] >= .seconds(5))
        // No third one follows from the hundred links.
        await publication.close(EndReason(.stopped, "done"))
        #expect(endpoint.requests.with { $0.count } == 2)
        await publisher.close()
        await receiver.close()
    }
}
