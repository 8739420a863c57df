import EventLoop
import LinuxRuntime
import MediaCore
import MediaEngine
import OpusCodec
import SFrame
import Signaling
import Synchronization
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

/// A host that is met at a relay sends to its first viewers itself, and over the relay when there are more.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct RelayHandoverTests {
    struct Stage {
        let relay: RelaySession
        let relayEvents = Monitor<[RelayEvent]>([])
        let host: HostSession
        let hostEvents = Monitor<[BroadcastEvent]>([])
        /// The names of those about whom the host was asked.
        let asked = Monitor<[String]>([])
        /// Of the host.
        let identity: Identity
        let link: Link

        init(
            directViewers: Int?, isRelayOnly: Bool = false, calmTime: MediaDuration = HandoverPolicy.calmTime,
            audio: [AudioInput] = [], cluster: ClusterSettings? = nil, streams: StreamPolicy = StreamPolicy(),
            identity: Identity? = nil, messages: MessagePolicy? = nil, isSealed: Bool = true,
            refusesAgain: Bool = false,
            viewerFlows: (@Sendable (Broadcast) -> [SharedBottleneckDetector.Flow])? = nil
        ) async throws {
            let description = try ServiceDescription(
                id: try #require(ServiceID("io.sharekit.relay")), name: "Relay", fields: [])
            let (relayEvents, hostEvents, asked) = (relayEvents, hostEvents, asked)
            var ofRelay = RelaySession.Configuration(
                service: .init(
                    listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", service: .init(description)))
            (ofRelay.cluster, ofRelay.streams) = (cluster, streams)
            relay = RelaySession(
                configuration: ofRelay, identity: try .ephemeral(), decide: { _ in .accepted },
                admit: { _ in .refused("not here") },
                emit: { event in relayEvents.change { $0.append(event) } })
            self.identity = try identity ?? .ephemeral()
            let paired = try await ServicePairing(
                link: try await relay.start(), application: ApplicationInfo(id: "com.example.budget", name: "Budget"),
                identity: self.identity
            ).run { _ in [:] }
            var configuration = HostSession.Configuration(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 60,
                maximumBitrate: .kilobits(4_000), contentHint: nil)
            configuration.tunnel = paired
            configuration.handover.directViewers = directViewers
            configuration.handover.isRelayOnly = isRelayOnly
            configuration.handover.calmTime = calmTime
            configuration.handover.isSealed = isSealed
            configuration.viewers.messages = messages
            if let viewerFlows { configuration.handover.viewerFlows = viewerFlows }
            host = try HostSession(
                configuration: configuration, identity: self.identity, source: TestVideoSource(framesPerSecond: 30),
                encoder: VP8Encoder(), audio: audio,
                decide: { knock in
                    let isKnown = asked.change { asked in
                        defer { asked.append(knock.name) }
                        return asked.contains(knock.name)
                    }
                    return knock.name == "Eve" || refusesAgain && isKnown ? .refused(nil) : .accepted
                },
                emit: { event in hostEvents.change { $0.append(event) } })
            link = try await host.start()
        }

        /// Waits until the viewers are sent to over the relay, or not any more.
        func isRouted(overRelay isOverRelay: Bool) async -> Bool {
            await waiting(hostEvents) { events in
                events.contains { if case .routeChanged(isOverRelay, _, _) = $0 { true } else { false } } ? true : nil
            } ?? false
        }

        /// Those to whom the host itself sends.
        func served() async -> [ViewerSessionInfo] { await host.viewers().filter { !$0.isAtRelay } }

        /// The newest epoch whose keys a newcomer gets.
        func epoch() throws -> UInt32 {
            let encryption = try #require(host.state.with { $0.encryption })
            return try #require(FrameKeys(encryption.keys)).keys.map(\.epoch).max() ?? 0
        }

        /// Removes a viewer at a relay. It is told, the keys change, and the picture goes on for the other one.
        func remove(_ info: ViewerSessionInfo, _ viewer: Watching, whileWatching other: Watching) async throws {
            let (before, known) = (try epoch(), other.seen.state.times.count)
            #expect(await host.remove(viewer: info.id) == 1)
            let reason = await viewer.end.value
            #expect(reason.code == .removed && reason.sentence.contains("removed you"), "\(reason)")
            #expect(await other.seesMore(60))
            #expect(try epoch() == before + 1)
            let gap = other.longestGap(from: known)
            #expect(gap < 300, "\(gap) ms")
        }

        /// The link of the broadcast at the relay.
        func publishedLink(not known: [Link] = []) async throws -> Link {
            try #require(
                await waiting(relayEvents) { events in
                    events.lazy.compactMap { if case .live(_, _, let link) = $0 { link } else { nil } }
                        .first { !known.contains($0) }
                })
        }

        func stop() async {
            await host.stop(EndReason(.stopped, "done"))
            await relay.stop()
        }
    }

    final class Watching: Sendable {
        let seen = RecordedOutput()
        let events = Monitor<[ViewerSessionEvent]>([])
        let session: ViewerSession
        let end: Task<EndReason, Never>

        init(_ link: Link, name: String, identity: Identity? = nil, hears: Bool = false) throws {
            let events = events
            let session = ViewerSession(
                link: link, identity: try identity ?? .ephemeral(), name: name,
                sink: playback(seen, speaker: hears ? seen : nil),
                emit: { event in events.change { $0.append(event) } })
            self.session = session
            end = Task { await session.run() }
        }

        /// Waits until the session has been connected so often.
        func isConnected(times: Int) async -> Bool {
            await waiting(events) { events in
                events.count { if case .connected = $0 { true } else { false } } >= times ? true : nil
            } ?? false
        }

        /// Waits for more frames than there are.
        func seesMore(_ count: Int = 20) async -> Bool {
            let known = seen.state.counters.count
            return await seen.wait { $0.counters.count >= known + count }
        }

        /// The longest time between two frames, from this frame on, in milliseconds.
        func longestGap(from index: Int) -> Double {
            let times = seen.state.times.dropFirst(index)
            return zip(times, times.dropFirst()).map { ($1 - $0).inMilliseconds }.max() ?? .infinity
        }
    }

    @Test func viewersMoveToTheRelayWithoutAGap() async throws {
        let stage = try await Stage(directViewers: 1)
        let one = try Watching(stage.link, name: "Ann")
        #expect(await one.seesMore())
        #expect(stage.relayEvents.with { $0.allSatisfy { if case .live = $0 { false } else { true } } })
        let before = one.seen.state.times.count
        let two = try Watching(stage.link, name: "Bob")
        #expect(await stage.isRouted(overRelay: true))
        for viewer in [one, two] {
            #expect(await viewer.isConnected(times: 2))
            #expect(await viewer.seesMore(60))
        }
        for (viewer, index) in [(one, before), (two, 0)] {
            let gap = viewer.longestGap(from: index)
            #expect(gap < 600, "\(gap) ms")
            let counters = viewer.seen.state.counters
            let back = zip(counters, counters.dropFirst()).map { $0 - $1 }.max() ?? 0
            #expect(back < 6)
        }
        // The host sends once, to the relay, and has asked about each viewer once.
        let haveLeft = await waiting(stage.hostEvents) { events in
            events.count { if case .viewerLeft = $0 { true } else { false } } == 2 ? true : nil
        }
        #expect(haveLeft == true)
        #expect(await stage.served().map(\.description.kind) == ["service"])
        #expect(stage.asked.with { $0 } == ["Ann", "Bob"])
        await stage.host.stop(EndReason(.stopped, "done"))
        #expect(await one.end.value.code == .hostEnded)
        #expect(await two.end.value.code == .hostEnded)
        await stage.relay.stop()
    }

    /// Whoever comes while the relay sends goes there at once, and the host has been asked as always.
    @Test func newcomersGoToTheRelayAtOnce() async throws {
        let stage = try await Stage(directViewers: 0)
        let one = try Watching(stage.link, name: "Ann")
        #expect(await stage.isRouted(overRelay: true))
        #expect(await one.isConnected(times: 2))
        let two = try Watching(stage.link, name: "Bob")
        #expect(await two.seesMore())
        let joined = stage.hostEvents.with { events in
            events.compactMap { if case .viewerJoined(let who, _) = $0 { who.name } else { nil } }
        }
        #expect(joined == ["Ann"])
        // The relay's own link admits nobody whom the host has not admitted: nobody else has the keys.
        let three = try Watching(try await stage.publishedLink(), name: "Zoe")
        let reason = await three.end.value
        #expect(reason.code == .refused && reason.sentence.contains("ask for the host's own link"), "\(reason)")
        #expect(stage.asked.with { $0 } == ["Ann", "Bob"])
        two.session.leave()
        #expect(await two.end.value.code == .stopped)
        one.session.leave()
        #expect(await one.end.value.code == .stopped)
        await stage.stop()
    }

    /// `--route relay`: the broadcast is at the relay before anybody comes, and the host sends to the relay alone.
    @Test func theRelayAloneSendsAndTheHostAdmits() async throws {
        let stage = try await Stage(directViewers: 0, isRelayOnly: true)
        #expect(await stage.isRouted(overRelay: true))
        let viewers = try ["Ann", "Bob"].map { try Watching(stage.link, name: $0) }
        for viewer in viewers { #expect(await viewer.seesMore()) }
        let refused = try Watching(stage.link, name: "Eve")
        #expect(await refused.end.value.code == .refused)
        #expect(stage.asked.with { Set($0) } == ["Ann", "Bob", "Eve"])
        #expect(await stage.served().map(\.description.kind) == ["service"])
        #expect(await stage.host.statistics()?.destination?.isEncrypted == true)
        for viewer in viewers {
            let isTold = viewer.events.with { events in
                events.contains { if case .notice(.viewing(.redirected(_, true))) = $0 { true } else { false } }
            }
            #expect(isTold)
        }
        await stage.stop()
        for viewer in viewers { #expect(await viewer.end.value.code == .hostEnded) }
    }

    /// The publication ends: newcomers wait, viewers come back for the way to the next one, and nobody is asked again.
    @Test func theRelayAloneSendsAgainAfterAPublicationHasEnded() async throws {
        let stage = try await Stage(directViewers: 0, isRelayOnly: true)
        let ann = try Watching(stage.link, name: "Ann")
        #expect(await ann.seesMore())
        let service = try #require(await stage.host.viewers().first)
        await stage.host.core.ifRunning { $0.close(service.id) }
        let bob = try Watching(stage.link, name: "Bob")
        #expect(await ann.isConnected(times: 2), "\(ann.events.with { $0 }), host: \(stage.hostEvents.with { $0 })")
        for viewer in [ann, bob] { #expect(await viewer.seesMore()) }
        #expect(stage.asked.with { $0 } == ["Ann", "Bob"])
        #expect(await stage.served().map(\.description.kind) == ["service"])
        // This host does not send to viewers meanwhile.
        #expect(
            stage.hostEvents.with { !$0.contains { if case .routeChanged(false, _, _) = $0 { true } else { false } } })
        await stage.stop()
        for viewer in [ann, bob] { #expect(await viewer.end.value.code == .hostEnded) }
    }

    /// Viewers at the relay are listed and removed one by one. The keys change, and the picture goes on for the others.
    @Test func aViewerAtTheRelayIsRemovedWithItsKeys() async throws {
        let stage = try await Stage(directViewers: 0, isRelayOnly: true)
        let viewers = try ["Ann", "Bob"].map { try Watching(stage.link, name: $0) }
        for viewer in viewers { #expect(await viewer.seesMore()) }
        let listed = await stage.host.viewers().filter { $0.description.kind != "service" }
        #expect(Set(listed.map(\.description.name)) == ["Ann", "Bob"])
        #expect(listed.allSatisfy { $0.isAtRelay && $0.path == "over the relay" })
        #expect(Set(listed.map(\.number)).count == 2)
        let ann = try #require(listed.first { $0.description.name == "Ann" })
        try await stage.remove(ann, viewers[0], whileWatching: viewers[1])
        let names = await stage.host.viewers().map(\.description.name)
        #expect(names.contains("Bob") && !names.contains("Ann"))
        // What was granted it before gives no keys, whoever asks with it, and makes it no member again.
        let former = Viewer(
            knock: .random(), name: "Ann", kind: "share", address: "192.0.2.1", fingerprint: ann.fingerprint,
            identity: ann.identity)
        #expect(await stage.host.signaling.frameKeys(asMember: former) == nil)
        #expect(await stage.host.viewers().allSatisfy { $0.description.name != "Ann" })
        // It is asked about again.
        let again = try Watching(stage.link, name: "Ann")
        #expect(await again.seesMore())
        #expect(stage.asked.with { $0.count } == 3 && stage.asked.with { $0.last } == "Ann")
        await stage.stop()
        for viewer in [viewers[1], again] { #expect(await viewer.end.value.code == .hostEnded) }
    }

    /// A relay that does not end the session of a viewer whom the host has removed: nothing that comes is shown there.
    @Test func aRelayThatKeepsARemovedViewerShowsItNothing() async throws {
        let stage = try await Stage(directViewers: 0, isRelayOnly: true, refusesAgain: true)
        let viewers = try ["Ann", "Bob"].map { try Watching(stage.link, name: $0) }
        for viewer in viewers { #expect(await viewer.seesMore()) }
        let ann = try #require(await stage.host.viewers().first { $0.description.name == "Ann" })
        let epoch = try stage.epoch()
        // A removal without what the relay is asked to do.
        let handover = try #require(stage.host.state.with { $0.handover })
        handover.members.noteRemoved(ann.fingerprint)
        #expect(await viewers[1].seesMore(60))
        #expect(try stage.epoch() == epoch + 1)
        #expect(viewers[1].session.encryption.withLock { $0.newestEpoch } == epoch + 1)
        let shown = viewers[0].seen.state.counters.count
        #expect(await viewers[1].seesMore(60))
        #expect(viewers[0].seen.state.counters.count == shown)
        viewers[0].session.leave()
        _ = await viewers[0].end.value
        await stage.stop()
        #expect(await viewers[1].end.value.code == .hostEnded)
    }

    @Test func whoHasLeftTheRelayIsNotListed() async throws {
        let stage = try await Stage(directViewers: 0, isRelayOnly: true)
        let viewers = try ["Ann", "Bob"].map { try Watching(stage.link, name: $0) }
        for viewer in viewers { #expect(await viewer.seesMore()) }
        _ = await waiting(stage.hostEvents) { events in
            events.contains { if case .viewerCount(2) = $0 { true } else { false } } ? true : nil
        }
        let known = stage.hostEvents.with { $0.count }
        viewers[0].session.leave()
        // The relay tells who has left before it tells how many are left.
        let isCounted = await waiting(stage.hostEvents) { events in
            events.dropFirst(known).contains { if case .viewerCount(1) = $0 { true } else { false } } ? true : nil
        }
        #expect(isCounted == true)
        let names = await stage.host.viewers().map(\.description.name)
        #expect(names.contains("Bob") && !names.contains("Ann"))
        await stage.stop()
        #expect(await viewers[1].end.value.code == .hostEnded)
    }

    /// A relay that holds back the keys of a new epoch: viewers ask the host, and the picture goes on.
    @Test func keysThatTheRelayHoldsBackAreAskedFor() async throws {
        let stage = try await Stage(directViewers: 0, isRelayOnly: true)
        let viewer = try Watching(stage.link, name: "Ann")
        #expect(await viewer.seesMore())
        let encryption = try #require(stage.host.state.with { $0.encryption })
        for _ in 0..<2 {
            let known = viewer.seen.state.times.count
            _ = encryption.prepareEpoch()
            encryption.beginEpoch()
            #expect(await viewer.seesMore(60))
            let gap = viewer.longestGap(from: known)
            #expect(gap < 2_500, "\(gap) ms")
        }
        // Also if the token has ended meanwhile: the host knows this viewer.
        viewer.session.encryption.withLock { $0.home?.token = "another" }
        _ = encryption.prepareEpoch()
        encryption.beginEpoch()
        #expect(await viewer.seesMore(60))
        #expect(stage.asked.with { $0 } == ["Ann"])
        viewer.session.leave()
        #expect(await viewer.end.value.code == .stopped)
        await stage.stop()
    }

    /// What a viewer might do that does not follow the order: a host whose relay alone sends answers no offer.
    @Test func aHostWhoseRelayAloneSendsAnswersNoOffer() async throws {
        let stage = try await Stage(directViewers: 0, isRelayOnly: true)
        let viewer = Viewer(
            knock: nil, name: "Ann", kind: "share", address: "192.0.2.1", fingerprint: stage.identity.fingerprint)
        do throws(OfferRefusal) {
            _ = try await stage.host.signaling.openSession(offer: "", viewer: viewer)
            Issue.record("the host has answered")
        } catch {
            guard case .elsewhere = error.code else { throw error }
        }
        await stage.stop()
    }

    @Test func viewersWaitAtTheGateUntilItOpensOrTheirTimeIsOver() async throws {
        let gate = AdmissionGate()
        #expect(await !gate.pass(within: .milliseconds(1)))
        let waiting = (0..<3).map { _ in Task { await gate.pass(within: .seconds(60)) } }
        let withdrawn = Task { await gate.pass(within: .seconds(60)) }
        withdrawn.cancel()
        #expect(await !withdrawn.value)
        gate.set(isOpen: true)
        for task in waiting { #expect(await task.value) }
        #expect(await gate.pass(within: .zero))
        gate.set(isOpen: false)
        #expect(await !gate.pass(within: .zero))
    }

    /// They have one address, of which the relay asks about two at once.
    @Test func manyViewersMoveTogether() async throws {
        let stage = try await Stage(directViewers: 5)
        let viewers = try (1...5).map { try Watching(stage.link, name: "viewer \($0)") }
        for viewer in viewers { #expect(await viewer.seesMore()) }
        let frames = viewers.map(\.seen.state.times.count)
        let last = try Watching(stage.link, name: "Zoe")
        for viewer in viewers + [last] {
            #expect(await viewer.isConnected(times: 2))
            #expect(await viewer.seesMore())
        }
        for (viewer, index) in zip(viewers, frames) {
            let gap = viewer.longestGap(from: index)
            #expect(gap < 600, "\(gap) ms")
        }
        #expect(stage.asked.with { $0.count } == 6)
        await stage.stop()
        for viewer in viewers + [last] { #expect(await viewer.end.value.code == .hostEnded) }
    }

    /// What a relay could write into the events of a host that is met there.
    @Test func aViewerGoesNowhereWithoutItsHostsOrder() async throws {
        let stage = try await Stage(directViewers: 3)
        let attacker = try silentHost(TestVideoSource(framesPerSecond: 30))
        let trap = try await attacker.start()
        let identity = try Identity.ephemeral()
        let viewer = try Watching(stage.link, name: "Ann", identity: identity)
        #expect(await viewer.seesMore())
        let session = try #require(await stage.host.viewers().first).id
        let other = try Identity.ephemeral()
        let host = stage.host
        let knock = try #require(await host.core.ifRunning { $0.viewer(of: session)?.0.origin } ?? nil)
        func order(
            of broadcast: BroadcastID? = nil, for viewer: Identity? = nil, knock other: KnockOrigin? = nil,
            by signer: Identity? = nil
        ) throws -> SignedRedirect {
            SignedRedirect(
                to: trap, of: broadcast ?? stage.link.id, viewer: (viewer ?? identity).fingerprint,
                knock: other ?? knock, now: .now, signedBy: signer ?? stage.identity)
        }
        let forged = [
            try order(by: other),
            // The host's own order for another viewer, one of another broadcast, one after another knock.
            try order(for: other), try order(of: .random()), try order(knock: .random(at: .now)),
        ]
        for redirect in forged { stage.host.signaling.send(redirect: redirect, to: session) }
        // A relay may have learned the secret: the host has listed its link there.
        let believable = Link(
            host: trap.host, port: trap.port, id: stage.link.id, secret: stage.link.secret,
            fingerprint: trap.fingerprint)
        stage.host.signaling.send(
            .alternates(
                SignedAlternates([trap.text, believable.text], of: stage.link.id, signedBy: stage.identity)))
        stage.host.signaling.send(.reconnect(nil))
        #expect(await viewer.seesMore(60))
        #expect(await attacker.viewers().isEmpty)
        #expect(await stage.host.viewers().map(\.id) == [session])
        // The real one is followed, but what is not encrypted is not shown.
        stage.host.signaling.send(redirect: try order(), to: session)
        let isTold = await waiting(viewer.events) { events in
            events.contains { if case .notice(.viewing(.framesRefused)) = $0 { true } else { false } } ? true : nil
        }
        #expect(isTold == true)
        #expect(await attacker.viewers().count == 1)
        #expect(await viewer.seesMore())
        #expect(viewer.events.with { events in events.count { if case .connected = $0 { true } else { false } } } == 1)
        viewer.session.leave()
        #expect(await viewer.end.value.code == .stopped)
        await attacker.stop(EndReason(.stopped, "done"))
        await stage.stop()
    }

    /// Picture and sound go over the relay. Who gets what it has, and no keys of the host, sees nothing.
    @Test func theRelayCannotWatch() async throws {
        let stage = try await Stage(directViewers: 0, audio: [.testTone])
        let viewer = try Watching(stage.link, name: "Ann", hears: true)
        #expect(await viewer.isConnected(times: 2))
        #expect(await viewer.seesMore())
        let heard = viewer.seen.state.samples
        #expect(await viewer.seen.wait { $0.samples > heard + 48_000 })
        let identity = try Identity.ephemeral()
        stage.host.signaling.knocks.noteRedirect(
            of: try #require(ViewerIdentity(fingerprint: identity.fingerprint)), records: false)
        let relay = try Watching(try await stage.publishedLink(), name: "Relay", identity: identity)
        #expect(await relay.isConnected(times: 1))
        #expect(await viewer.seesMore(60))
        #expect(relay.seen.state.counters.isEmpty)
        for session in [viewer.session, relay.session] { session.leave() }
        _ = await (viewer.end.value, relay.end.value)
        await stage.stop()
    }

    /// The publication ends, and the tunnel goes on: viewers come back to the host, which does not ask again.
    @Test func viewersComeBackWhenTheRelayDoesNotSendAnyMore() async throws {
        let stage = try await Stage(directViewers: 0)
        let viewer = try Watching(stage.link, name: "Ann")
        #expect(await viewer.isConnected(times: 2))
        #expect(await viewer.seesMore())
        let service = try #require(await stage.host.viewers().first { $0.description.kind == "service" })
        await stage.host.core.ifRunning { $0.close(service.id) }
        #expect(await stage.isRouted(overRelay: false))
        #expect(
            await viewer.isConnected(times: 3),
            "\(viewer.events.with { $0 }), host: \(stage.hostEvents.with { $0 })")
        #expect(await viewer.seesMore())
        #expect(stage.asked.with { $0 } == ["Ann"])
        await stage.stop()
        #expect(await viewer.end.value.code == .hostEnded)
    }

    /// Few viewers are left: the host serves them itself again. The publication ends when they are there.
    @Test func viewersComeBackToTheHostWithoutAGap() async throws {
        let stage = try await Stage(directViewers: 2, calmTime: .seconds(1))
        let ann = try Watching(stage.link, name: "Ann")
        let others = try ["Bob", "Cleo"].map { try Watching(stage.link, name: $0) }
        for viewer in [ann] + others {
            #expect(await viewer.isConnected(times: 2))
            #expect(await viewer.seesMore())
        }
        #expect(
            stage.hostEvents.with { !$0.contains { if case .routeChanged(false, _, _) = $0 { true } else { false } } })
        let before = ann.seen.state.times.count
        for viewer in others {
            viewer.session.leave()
            #expect(await viewer.end.value.code == .stopped)
        }
        #expect(await ann.isConnected(times: 3), "\(ann.events.with { $0 }), host: \(stage.hostEvents.with { $0 })")
        #expect(await stage.isRouted(overRelay: false))
        #expect(await ann.seesMore(60))
        let gap = ann.longestGap(from: before)
        #expect(gap < 600, "\(gap) ms")
        #expect(await stage.served().map(\.description.name) == ["Ann"])
        #expect(stage.asked.with { Set($0) == ["Ann", "Bob", "Cleo"] && $0.count == 3 })
        await stage.stop()
        #expect(await ann.end.value.code == .hostEnded)
    }

    /// Fewer viewers than the host would serve itself fill its line.
    @Test func viewersMoveToTheRelayWhenTheHostsLineIsTheLimit() async throws {
        let stage = try await Stage(directViewers: 5) { broadcast in
            // All viewers of this machine have one address.
            broadcast.watchingViewers.filter { $0.connectedFor != nil && $0.description.kind != "service" }.map { _ in
                SharedBottleneckDetector.Flow(estimate: .kilobits(700), isLimited: true)
            }
        }
        let viewers = try ["Ann", "Bob"].map { try Watching(stage.link, name: $0) }
        for viewer in viewers {
            #expect(await viewer.isConnected(times: 2))
            #expect(await viewer.seesMore())
        }
        let warnings = stage.hostEvents.with { events in
            events.compactMap { if case .notice(let notice) = $0 { notice.words.sentence } else { nil } }
        }
        #expect(warnings == ["this machine's line is too slow for 2 viewers"])
        #expect(await stage.served().map(\.description.kind) == ["service"])
        await stage.stop()
        for viewer in viewers { #expect(await viewer.end.value.code == .hostEnded) }
    }

    /// The relay takes a viewer's knock, and never answers: the viewer is at the host after the time limit, and told.
    @Test func aViewerThatIsSentToAServerThatDoesNotAnswerWatchesAtTheHost() async throws {
        let stage = try await Stage(directViewers: 3)
        let silent = try HostSession(
            configuration: .init(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 30,
                maximumBitrate: .kilobits(4_000), contentHint: nil),
            identity: try .ephemeral(), source: TestVideoSource(framesPerSecond: 30), encoder: VP8Encoder(), audio: [],
            decide: { _ in
                try? await Task.sleep(for: .seconds(50))
                return .unanswered
            }, emit: { _ in })
        let place = try await silent.start()
        let signer = RedirectSigner(of: stage.link.id, identity: stage.identity, now: .now)
        stage.host.signaling.redirect { signer.redirect(of: $0, to: place, now: .now) }
        let viewer = try Watching(stage.link, name: "Ann")
        #expect(await viewer.seesMore())
        let warnings = viewer.events.with { events in
            events.compactMap { if case .notice(let notice) = $0 { notice.words.sentence } else { nil } }
        }
        #expect(warnings.contains { $0.contains("no frame came within 10 s") }, "\(warnings)")
        #expect(await stage.served().map(\.description.name) == ["Ann"])
        viewer.session.leave()
        #expect(await viewer.end.value.code == .stopped)
        await silent.stop(EndReason(.stopped, "done"))
        await stage.stop()
    }

    /// A relay that refuses everybody, or does not answer, costs viewers nothing.
    @Test func viewersStayWhereTheyAreIfTheRelayTakesNobody() async throws {
        let stage = try await Stage(directViewers: 0)
        stage.relay.drain()
        let viewer = try Watching(stage.link, name: "Ann")
        #expect(await viewer.seesMore(60))
        #expect(viewer.longestGap(from: 10) < 600)
        #expect(await stage.served().map(\.description.name) == ["Ann"])
        await stage.stop()
        #expect(await viewer.end.value.code == .hostEnded)
    }

    private static func knock(of identity: ViewerIdentity, records: Bool = false) -> Knock {
        Knock(
            told: .random(), name: "Ann", kind: "share", address: "192.0.2.1", identity: identity, records: records,
            words: ShortAuthenticationString(
                viewer: identity.fingerprint, host: identity.fingerprint, nonce: Array(repeating: 0, count: 16)))
    }

    /// It waited for the relay longer than it may: its next knock is not asked about.
    @Test func whoIsAcceptedWhileTheRelayDoesNotSendIsAskedAboutOnce() async throws {
        let stage = try await Stage(directViewers: 0, isRelayOnly: true)
        #expect(await stage.isRouted(overRelay: true))
        let identity = try #require(ViewerIdentity(fingerprint: Array(repeating: 1, count: 32)))
        let signaling = stage.host.signaling
        func decide() async -> KnockDecision { await signaling.decide(Self.knock(of: identity)) }
        signaling.gate?.set(isOpen: false)
        let knocking = Task { await decide() }
        #expect(await waiting(stage.asked) { $0 == ["Ann"] ? true : nil } == true)
        // As after 15 s.
        knocking.cancel()
        let first = await knocking.value
        #expect(first == .busy("the broadcast is not at its relay at the moment"))
        signaling.gate?.set(isOpen: true)
        #expect(await decide() == .accepted)
        #expect(stage.asked.with { $0 } == ["Ann"])
        await stage.stop()
    }

    @Test func onlyAViewerThatTheHostHasSentIsAcceptedWithoutAQuestion() async throws {
        let asked = Monitor(0)
        let knocks = KnockHandler(
            decideKnock: { _ in
                asked.with { $0 += 1 }
                return .refused(nil)
            }, emit: { _ in })
        let identity = try #require(ViewerIdentity(fingerprint: Array(repeating: 1, count: 32)))
        func isAccepted(_ identity: ViewerIdentity, records: Bool = false) async -> Bool {
            await knocks.decide(Self.knock(of: identity, records: records)) == .accepted
        }
        #expect(await !isAccepted(identity))
        knocks.noteRedirect(of: identity, records: false)
        #expect(await isAccepted(identity))
        #expect(asked.with { $0 } == 1)
        // Another one, one that records now, and one that was removed are asked about.
        let other = try #require(ViewerIdentity(fingerprint: Array(repeating: 2, count: 32)))
        #expect(await !isAccepted(other))
        #expect(await !isAccepted(identity, records: true))
        knocks.noteRemoval(of: identity)
        #expect(await !isAccepted(identity))
        #expect(asked.with { $0 } == 4)
    }
}
