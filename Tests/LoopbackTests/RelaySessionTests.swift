import HTTP
import LinuxRuntime
import MediaCore
import OpusCodec
import Signaling
import TestSource
import Testing
import VPXCodec
import WaitSupport
import Wording

@testable import Admission
@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Relay
@testable import Service
@testable import Viewer

/// Hosts publish to a relay, and viewers watch there, over real HTTPS, ICE, DTLS and SRTP on loopback.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct RelaySessionTests {
    final class Relay: Sendable {
        let events = Monitor<[RelayEvent]>([])
        let session: RelaySession
        let link: ServiceLink

        init(
            maximumViewers: Int = 8, maximumTotalViewers: Int? = nil,
            admit: @escaping HostSession.KnockPolicy = { _ in .accepted },
            viewerLimit: (@Sendable (ViewerDescription) -> Bitrate?)? = nil,
            maximumBitrate: Bitrate = .kilobits(20_000),
            threads: Int = 1, cluster: ClusterSettings? = nil, servers: [ICEServer] = [], secret: TURNSecret? = nil,
            directoryCapacity: Int? = nil, linkHost: String = "127.0.0.1"
        ) async throws {
            let description = try ServiceDescription(
                id: try #require(ServiceID("io.sharekit.relay")), name: "Relay", fields: [])
            let events = events
            var service = ServiceConfiguration(description)
            (service.iceServers, service.turnSecret) = (servers, secret)
            var configuration = RelaySession.Configuration(
                service: .init(listenHost: "127.0.0.1", listenPort: 0, linkHost: linkHost, service: service))
            configuration.maximumViewers = maximumViewers
            configuration.maximumTotalViewers = maximumTotalViewers
            configuration.viewerLimit = viewerLimit
            configuration.maximumBitrate = maximumBitrate
            configuration.sendingThreads = threads
            configuration.cluster = cluster
            if let directoryCapacity { configuration.directory?.capacity = directoryCapacity }
            // Also for the few viewers of a test.
            configuration.sharing.leastViewers = 2
            configuration.sharing.run = 1
            session = RelaySession(
                configuration: configuration, identity: try .ephemeral(), decide: { _ in .accepted }, admit: admit,
                emit: { event in events.change { $0.append(event) } })
            link = try await session.start()
        }

        /// Waits for an event, 20 s at most.
        func wait<Value: Sendable>(_ find: @escaping @Sendable (RelayEvent) -> Value?) async -> Value? {
            await waiting(events) { events in events.lazy.compactMap(find).first }
        }

        /// The link of a broadcast that is none of these.
        func live(not known: [Link] = []) async throws -> Link {
            try #require(
                await wait { if case .live(_, _, let link) = $0, !known.contains(link) { link } else { nil } })
        }
    }

    /// A host that publishes to the relay, and what it was told.
    struct PublishingHost {
        let session: HostSession
        let told = Monitor<[ServiceEvent]>([])
        let warnings = Monitor<[String]>([])

        /// - Parameters:
        ///   - servers: its own, beside the relay's.
        ///   - title: has the relay list the broadcast.
        init(
            to relay: Relay, name: String = "Budget", withAudio: Bool = false,
            size: PixelSize = TestVideoSource.defaultSize, servers: [ICEServer] = [],
            title: String? = nil
        ) async throws {
            let identity = try Identity.ephemeral()
            var paired = try await ServicePairing(
                link: relay.link, application: ApplicationInfo(id: "com.example.budget", name: name),
                identity: identity
            ).run { _ in [:] }
            paired.title = title
            let warnings = warnings
            var configuration = HostSession.Configuration(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil,
                framesPerSecond: 60, maximumBitrate: .kilobits(4_000), contentHint: nil)
            configuration.ice.servers = servers
            configuration.ice.grantedServers = paired.grantedServers
            session = try HostSession(
                configuration: configuration, identity: identity,
                source: TestVideoSource(size: size, framesPerSecond: 30), encoder: VP8Encoder(),
                audio: withAudio ? [.testTone] : [], decide: { _ in .refused(nil) },
                emit: { event in
                    if case .notice(let notice) = event { warnings.change { $0.append(notice.words.sentence) } }
                })
            let told = told
            try await session.start(publishingTo: paired) { event in told.change { $0.append(event) } }
        }

        /// Where the relay says that the broadcast can be watched.
        func url() async -> String? {
            await waiting(told) { events in
                events.lazy.compactMap { if case .broadcastURL(let url) = $0 { url } else { nil } }.first
            }
        }

        func stop() async { await session.stop(EndReason(.stopped, "done")) }
    }

    /// A viewer of a link, and how its session ends.
    func watch(
        _ link: Link, _ seen: RecordedOutput, name: String = "viewer", names: Monitor<[String]> = Monitor([]),
        warnings: Monitor<[String]> = Monitor([])
    ) throws -> (session: ViewerSession, end: Task<EndReason, Never>) {
        let session = ViewerSession(
            link: link, identity: try .ephemeral(), name: name, sink: playback(seen, speaker: nil),
            emit: { event in
                if case .named(let name) = event { names.change { $0.append(name) } }
                if case .notice(let notice) = event { warnings.change { $0.append(notice.words.sentence) } }
            })
        return (session, Task { await session.run() })
    }

    /// A relay that is full says when to ask again.
    @Test func aViewerAsksABusyRelayAgain() async throws {
        let relay = try await Relay(maximumViewers: 1)
        let host = try await PublishingHost(to: relay)
        let link = try await relay.live()
        let (first, second, warnings) = (RecordedOutput(), RecordedOutput(), Monitor<[String]>([]))
        let ann = try watch(link, first)
        #expect(await first.wait { $0.counters.count >= 10 })
        let bob = try watch(link, second, warnings: warnings)
        let warning = await waiting(warnings) { $0.first { $0.contains("is busy") } }
        #expect(warning?.contains("asking again in 5 s") == true, "\(warning ?? "nothing was said")")
        ann.session.leave()
        #expect(await ann.end.value.code == .stopped)
        #expect(await second.wait { $0.counters.count >= 10 })
        bob.session.leave()
        #expect(await bob.end.value.code == .stopped)
        await host.stop()
        await relay.session.stop()
    }

    /// The viewers of all broadcasts have a limit of their own.
    @Test func aRelayIsFullWithViewersOfSeveralBroadcasts() async throws {
        let relay = try await Relay(maximumTotalViewers: 1)
        let one = try await PublishingHost(to: relay, name: "One")
        let first = try await relay.live()
        let two = try await PublishingHost(to: relay, name: "Two")
        let second = try await relay.live(not: [first])
        let (seen, seenToo, warnings) = (RecordedOutput(), RecordedOutput(), Monitor<[String]>([]))
        let ann = try watch(first, seen)
        #expect(await seen.wait { $0.counters.count >= 10 })
        let bob = try watch(second, RecordedOutput(), warnings: warnings)
        #expect(await waiting(warnings) { $0.first { $0.contains("is busy") } } != nil)
        // `aViewerAsksABusyRelayAgain` has the viewer that waits.
        bob.session.leave()
        #expect(await bob.end.value.code == .stopped)
        ann.session.leave()
        #expect(await ann.end.value.code == .stopped)
        let carl = try watch(second, seenToo)
        #expect(await seenToo.wait { $0.counters.count >= 10 })
        carl.session.leave()
        #expect(await carl.end.value.code == .stopped)
        for host in [one, two] { await host.stop() }
        await relay.session.stop()
    }

    /// So does one that too many knock at.
    @Test func aViewerKnocksAgainWhereTooManyKnock() async throws {
        let relay = try await Relay()
        let host = try await PublishingHost(to: relay)
        let link = try await relay.live()
        // An address has 20 knocks, and two more a second, which this one uses up.
        let crowd = try SignalingClient(link: link)
        let (refusals, isCalm) = (Monitor(0), Monitor(false))
        let knocking = Task {
            let identity = try Identity.ephemeral()
            while !isCalm.with({ $0 }) {
                do throws(SignalingError) {
                    _ = try await crowd.knock(name: "crowd", identity: identity)
                } catch {
                    refusals.change { $0 += error.code == .tooMany ? 1 : 0 }
                }
            }
            await crowd.close()
        }
        #expect(await waiting(refusals) { $0 > 0 ? true : nil } == true)
        var first: String?
        // A viewer that knocks just when there is another one is taken at once.
        for _ in 0..<20 where first?.contains("is busy") != true {
            let (seen, said) = (RecordedOutput(), Monitor<[String]>([]))
            let ann = try watch(link, seen, names: said, warnings: said)
            first = await waiting(said) { $0.first }
            if first?.contains("is busy") == true {
                isCalm.with { $0 = true }
                #expect(await seen.wait { $0.counters.count >= 10 })
            }
            ann.session.leave()
            #expect(await ann.end.value.code == .stopped)
        }
        #expect(first?.contains("asking again in 1 s") == true, "\(first ?? "nothing was said")")
        isCalm.with { $0 = true }
        try await knocking.value
        await host.stop()
        await relay.session.stop()
    }

    @Test func viewersWatchABroadcastAtTheRelay() async throws {
        let relay = try await Relay()
        let host = try await PublishingHost(to: relay, withAudio: true)
        let link = try await relay.live()
        // The publisher learns the same link.
        #expect(await host.url() == link.text)
        let (first, second) = (RecordedOutput(), RecordedOutput())
        let names = Monitor<[String]>([])
        let one = try watch(link, first, names: names)
        #expect(await first.wait { $0.counters.count >= 20 })
        // The second one comes in the middle of the stream.
        let two = try watch(link, second)
        #expect(await second.wait { $0.counters.count >= 20 })
        #expect(names.with { $0 } == ["Budget"])
        for counters in [first.state.counters, second.state.counters] {
            #expect(zip(counters, counters.dropFirst()).allSatisfy { $0 <= $1 }, "\(counters)")
        }
        // The publisher is told how many watch.
        let count = await waiting(host.told) { events in
            events.lazy.compactMap { event -> Int? in
                if case .serviceInfo(let info) = event, info.viewers == 2 { 2 } else { nil }
            }.first
        }
        #expect(count == 2)
        one.session.leave()
        #expect(await one.end.value.code == .stopped)
        // The end of the publisher is the end of the broadcast.
        await host.stop()
        #expect(await two.end.value.code == .hostEnded)
        await relay.session.stop()
    }

    @Test func threadsShareTheViewersAndEachGetsTheWholeStream() async throws {
        let relay = try await Relay(threads: 3)
        let host = try await PublishingHost(to: relay, withAudio: true)
        let link = try await relay.live()
        let seen = (0..<6).map { _ in RecordedOutput() }
        let viewers = try seen.map { try watch(link, $0) }
        for output in seen { #expect(await output.wait { $0.counters.count >= 90 }) }
        // A busy host leaves frames out, but for all viewers, and a busy viewer shows a late one not at all.
        let counters = seen.map { $0.state.counters }
        let first = counters.compactMap { $0.dropFirst(30).first }.max() ?? 0
        let last = counters.compactMap(\.last).min() ?? 0
        let common = counters.map { Set($0.filter { (first...max(last, first)).contains($0) }) }
        let all = common.reduce(Set()) { $0.union($1) }.count
        #expect(all > 30 && common.allSatisfy { $0.count * 10 >= all * 9 }, "\(common.map(\.count)) of \(all)")
        for viewer in viewers {
            viewer.session.leave()
            #expect(await viewer.end.value.code == .stopped)
        }
        await host.stop()
        await relay.session.stop()
    }

    /// The host makes temporal layers for the slower viewer of the relay, and stops when that viewer has left.
    @Test func theHostLearnsHowSlowTheSlowestViewerIs() async throws {
        let relay = try await Relay(viewerLimit: { .kilobits($0.name == "slow" ? 200 : 550) })
        let host = try await PublishingHost(to: relay)
        let link = try await relay.live()
        let (fast, slow) = (RecordedOutput(), RecordedOutput())
        let one = try watch(link, fast, name: "fast")
        #expect(await fast.wait { $0.counters.count >= 10 })
        let two = try watch(link, slow, name: "slow")
        #expect(await slow.wait { $0.counters.count >= 10 })
        let told = await waiting(host.told) { events in
            events.lazy.compactMap { if case .slowestBitrate(let rate?) = $0 { rate } else { nil } }.first
        }
        #expect((1...200).contains(told?.kilobitsPerSecond ?? 0))
        // The encoder makes frames of layer 1 once the base layer has used up its bitrate.
        var layers = 0
        for _ in 0..<20 where layers == 0 {
            let count = fast.state.counters.count
            #expect(await fast.wait { $0.counters.count >= count + 10 })
            layers = try #require(await host.session.statistics()).video.upperLayerFrames
        }
        #expect(layers > 0)
        let count = slow.state.counters.count
        #expect(await slow.wait { $0.counters.count >= count + 10 })
        two.session.leave()
        let last = await waiting(host.told) { events in
            events.last { if case .slowestBitrate = $0 { true } else { false } } == .slowestBitrate(nil) ? true : nil
        }
        #expect(last == true)
        await host.stop()
        #expect(await one.end.value.code == .hostEnded)
        await relay.session.stop()
    }

    /// A viewer that asks for the base layer gets that alone, and the others all; both are told which layers there are.
    @Test func aViewerSelectsItsLayers() async throws {
        let relay = try await Relay(viewerLimit: { .kilobits($0.name == "slow" ? 200 : 550) })
        let host = try await PublishingHost(to: relay, size: PixelSize(width: 1920, height: 1080))
        let link = try await relay.live()
        let slow = try watch(link, RecordedOutput(), name: "slow")
        let (all, base) = (RecordingSink(), RecordingSink())
        let told = Monitor<[[VideoLayer]]>([])
        func session(_ sink: RecordingSink, _ name: String) throws -> ViewerSession {
            ViewerSession(
                link: link, identity: try .ephemeral(), name: name, sink: sink,
                emit: { event in
                    if case .hostEvent(.layers(let found)) = event { told.change { $0.append(found.layers) } }
                })
        }
        let (whole, thrifty) = (try session(all, "all"), try session(base, "base"))
        thrifty.limitLayers(to: 0)
        let ends = [whole, thrifty].map { session in Task { await session.run() } }
        // Some frames may come before the selection.
        let isSelected = await waiting(base.state) { state in
            state.frames.count >= 20 && state.frames.suffix(20).allSatisfy { $0.layer == 0 } ? true : nil
        }
        #expect(isSelected == true)
        let (before, upper) = (
            base.state.with { $0.frames.count }, all.state.with { $0.frames.count { $0.layer == 1 } }
        )
        let found = await waiting(all.state) { $0.frames.count { $0.layer == 1 } >= upper + 20 ? true : nil }
        #expect(found == true)
        #expect(base.state.with { $0.frames.dropFirst(before).allSatisfy { $0.layer == 0 } })
        let layers = await waiting(told) { events in events.last { $0.count == 2 } }
        #expect(layers?.allSatisfy { $0.size == PixelSize(width: 1920, height: 1080) } == true)
        #expect(layers.map { $0[0].bitrate <= $0[1].bitrate } == true)
        for session in [whole, thrifty, slow.session] { session.leave() }
        for end in ends + [slow.end] { #expect(await end.value.code == .stopped) }
        await host.stop()
        await relay.session.stop()
    }

    /// No video fits into 1 kbit/s, so this host cannot keep to the limit.
    @Test func aPublisherThatSendsTooMuchIsEndedWithAReason() async throws {
        let relay = try await Relay(maximumBitrate: .kilobits(1))
        let host = try await PublishingHost(to: relay)
        _ = try await relay.live()
        let reason = await waiting(host.told) { events in
            events.lazy.compactMap { if case .finished(let reason, _) = $0 { reason } else { nil } }.first
        }
        #expect(reason == "it sent more than twice the relay's limit for 10 s")
        await host.stop()
        await relay.session.stop()
    }

    @Test func twoBroadcastsHaveOnePortAndLinksOfTheirOwn() async throws {
        let relay = try await Relay()
        let one = try await PublishingHost(to: relay, name: "One")
        let first = try await relay.live()
        let two = try await PublishingHost(to: relay, name: "Two")
        let second = try await relay.live(not: [first])
        #expect(first.port == second.port && first.id != second.id && first.secret != second.secret)
        // The secret of one link does not open the other broadcast.
        let wrong = Link(
            host: first.host, port: first.port, id: second.id, secret: first.secret, fingerprint: first.fingerprint)
        #expect(try await watch(wrong, RecordedOutput()).end.value.code == .wrongSecret)
        let seen = RecordedOutput()
        let viewer = try watch(second, seen)
        #expect(await seen.wait { $0.counters.count >= 5 })
        // The end of one broadcast leaves the other.
        await one.stop()
        _ = await relay.wait { if case .service(.closed(_, _, let reason)) = $0 { reason } else { nil } }
        let count = seen.state.counters.count
        #expect(await seen.wait { $0.counters.count >= count + 10 })
        #expect(try await watch(first, RecordedOutput()).end.value.code != .stopped)
        await relay.session.stop()
        #expect(await viewer.end.value.code == .hostEnded)
        await two.stop()
    }

    @Test func aViewerThatIsNotAdmittedSeesNothing() async throws {
        let relay = try await Relay(admit: { _ in .refused("not today") })
        let host = try await PublishingHost(to: relay)
        let seen = RecordedOutput()
        #expect(try await watch(try await relay.live(), seen).end.value.code == .refused)
        #expect(seen.state.counters.isEmpty)
        await host.stop()
        await relay.session.stop()
    }

    /// A viewer that joins gets what came since the last key frame, so that joining costs the others nothing.
    @Test func viewersThatJoinNeedNoKeyFrameOfTheirOwn() async throws {
        let relay = try await Relay()
        let host = try await PublishingHost(to: relay, size: TestPattern.smallestSize)
        let link = try await relay.live()
        var keyframes: Int?
        var ends: [Task<EndReason, Never>] = []
        for _ in 0..<6 {
            let sink = RecordingSink()
            let session = ViewerSession(
                link: link, identity: try .ephemeral(), name: "viewer", sink: sink, emit: { _ in })
            ends.append(Task { await session.run() })
            try #require(await waiting(sink.state) { $0.frames.count >= 5 ? true : nil } == true)
            #expect(sink.state.with { $0.frames.first?.isKeyframe } == true)
            let now = try #require(await host.session.statistics()).video.keyframes
            // The first viewer may have needed one.
            #expect(now == keyframes ?? now)
            keyframes = now
        }
        await host.stop()
        for end in ends { #expect(await end.value.code == .hostEnded) }
        await relay.session.stop()
    }
}
