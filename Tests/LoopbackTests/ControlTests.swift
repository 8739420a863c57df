import HTTP
import LinuxRuntime
import MediaCore
import OpusCodec
import Signaling
import TestSource
import Testing
import VPXCodec
import WaitSupport

@testable import Admission
@testable import Control
@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Viewer

/// Pause, mute and removal while real viewers watch.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ControlTests {
    private func host(
        fixedToken: String? = nil, decide: @escaping HostSession.KnockPolicy = { _ in .accepted },
        emit: @escaping @Sendable (BroadcastEvent) -> Void = { _ in }
    ) async throws -> (HostSession, Link) {
        func tone(_ kind: MediaTrackKind) -> AudioInput {
            AudioInput(kind: kind, source: TestTone(), hasSilenceSuppression: false) { () throws(CodecFailure) in
                try OpusFrameEncoder(.systemAudio)
            }
        }
        let session = try HostSession(
            configuration: .init(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: fixedToken,
                framesPerSecond: 60, maximumBitrate: .kilobits(8_000), contentHint: nil, name: "loopback"),
            identity: try .ephemeral(), source: TestVideoSource(framesPerSecond: 30), encoder: VP8Encoder(),
            audio: [tone(.applicationAudio)], decide: decide, emit: emit)
        return (session, try await session.start())
    }

    private func viewer(
        _ link: Link, _ seen: RecordedOutput, name: String = "Ann", identity: Identity? = nil,
        emit: @escaping @Sendable (ViewerSessionEvent) -> Void = { _ in }
    ) throws -> ViewerSession {
        ViewerSession(
            link: link, identity: try identity ?? .ephemeral(), name: name, sink: playback(seen, speaker: seen),
            emit: emit)
    }

    private func control(_ session: HostSession, _ link: Link) -> BroadcastControl {
        BroadcastControl(
            session, .init(id: link.id, name: "loopback", source: "a test", service: nil, readmission: "Ask again."),
            stop: { _ in })
    }

    // MARK: Pause

    @Test func aPauseKeepsTheSessionAndTheLastFrame() async throws {
        let hostEvents = Monitor<[String]>([])
        let (host, link) = try await host(decide: { _ in .accepted }) { event in
            switch event {
            case .holdChanged(let change):
                let isLong = change.duration.map { $0 > .zero } ?? true
                hostEvents.change { $0.append(change.hasBegun ? "paused" : isLong ? "resumed" : "at once") }
            case .interrupted: hostEvents.change { $0.append("interrupted") }
            default: break
            }
        }
        let seen = RecordedOutput()
        let events = Monitor<[String]>([])
        let viewer = try viewer(link, seen) { event in
            switch event {
            case .broadcastHeld(.pause): events.change { $0.append("paused") }
            case .broadcastResumed: events.change { $0.append("resumed") }
            case .interrupted: events.change { $0.append("interrupted") }
            default: break
            }
        }
        let watching = Task { await viewer.run() }
        #expect(await seen.wait { $0.counters.count >= 20 && $0.samples > 9_600 })

        let before = try #require(await host.statistics())
        #expect(await host.pause())
        let isPausedTwice = await host.pause()
        #expect(!isPausedTwice)
        let paused = MonotonicClock.now
        #expect(await waiting(events) { $0 == ["paused"] ? true : nil } == true)
        // The viewer's reports go on, and so do the host's: longer than the silence that is an interruption.
        let packets = try #require(await viewer.statistics()).packetsReceived
        var statistics = try #require(await host.statistics())
        #expect(statistics.isPaused && statistics.connected == 1)
        await wait(until: paused + .milliseconds(4_500))
        statistics = try #require(await host.statistics())
        #expect(events.with { $0 } == ["paused"])
        // Only what was on its way comes after the pause.
        let late = seen.state.times.filter { $0 > paused + .milliseconds(500) }
        #expect(late.isEmpty)
        #expect(try #require(await viewer.statistics()).packetsReceived < packets + 100)
        let encoded = statistics.video.frames

        let count = seen.state.counters.count
        #expect(await host.resume())
        let isResumedTwice = await host.resume()
        #expect(!isResumedTwice)
        #expect(await seen.wait { $0.counters.count >= count + 20 })
        #expect(await waiting(events) { $0 == ["paused", "resumed"] ? true : nil } == true)
        #expect(hostEvents.with { $0 } == ["paused", "resumed"])
        let after = try #require(await host.statistics())
        #expect(!after.isPaused && after.video.frames > encoded)
        // The pause counts as no freeze, and the viewer did not have to ask for a key frame.
        #expect(after.sent.freezeTime - before.sent.freezeTime < .seconds(1))
        #expect(after.sent.keyframeRequests == before.sent.keyframeRequests)
        #expect(try #require(await viewer.statistics()).freezeTime < .seconds(1))
        let counters = seen.state.counters
        #expect(zip(counters, counters.dropFirst()).allSatisfy { $0 < $1 }, "frames came twice or out of order")
        viewer.leave()
        #expect(await watching.value.code == .stopped)
        await host.stop(EndReason(.stopped, "done"))
    }

    @Test func aViewerThatJoinsDuringAPauseIsToldAndSeesTheFirstFrameAfterIt() async throws {
        let (host, link) = try await host()
        #expect(await host.pause())
        let seen = RecordedOutput()
        let events = Monitor<[String]>([])
        let viewer = try viewer(link, seen) { event in
            switch event {
            case .broadcastHeld(.pause): events.change { $0.append("paused") }
            case .broadcastResumed: events.change { $0.append("resumed") }
            case .connected: events.change { $0.append("connected") }
            default: break
            }
        }
        let watching = Task { await viewer.run() }
        #expect(await waiting(events) { Set($0) == ["connected", "paused"] ? true : nil } == true)
        #expect(seen.state.counters.isEmpty)
        #expect(await host.statistics()?.video.frames == 0)
        #expect(await host.resume())
        #expect(await seen.wait { $0.counters.count >= 5 })
        #expect(await waiting(events) { $0.last == "resumed" ? true : nil } == true)
        viewer.leave()
        _ = await watching.value
        await host.stop(EndReason(.stopped, "done"))
    }

    // MARK: Audio

    @Test func aMutedTrackSendsNothingAndComesBackWithoutANegotiation() async throws {
        let events = Monitor<[String]>([])
        let (host, link) = try await host(decide: { _ in .accepted }) { event in
            if case .audioMuted(let kind, let isMuted) = event {
                events.change { $0.append("\(kind.rawValue) \(isMuted)") }
            }
        }
        let seen = RecordedOutput()
        let viewer = try viewer(link, seen)
        let watching = Task { await viewer.run() }
        #expect(await seen.wait { $0.samples > 48_000 / 2 && $0.counters.count >= 5 })
        #expect(host.setAudioMuted(.applicationAudio, true) && host.setAudioMuted(.applicationAudio, true))
        #expect(!host.setAudioMuted(.microphoneAudio, true))
        let track = try #require(host.audioTracks.first)
        #expect(host.audioTracks.count == 1 && track.kind == .applicationAudio && track.isMuted && track.isCaptured)
        // The test tone is heard by its owner.
        #expect(track.level.map { $0 > -40 } ?? true)
        // What was on its way has been played after another 30 frames.
        let muted = seen.state.counters.count
        #expect(await seen.wait { $0.counters.count >= muted + 30 })
        let samples = seen.state.samples
        #expect(await seen.wait { $0.counters.count >= muted + 60 })
        #expect(seen.state.samples == samples)
        #expect(host.setAudioMuted(.applicationAudio, false))
        #expect(await seen.wait { $0.samples > samples + 48_000 / 2 })
        #expect(events.with { $0 } == ["system true", "system false"])
        viewer.leave()
        _ = await watching.value
        await host.stop(EndReason(.stopped, "done"))
    }

    // MARK: Viewers

    @Test func aRemovedViewerIsToldAndItsNextKnockSaysSo() async throws {
        let knocks = Monitor<[Bool]>([])
        let events = Monitor<[String]>([])
        let (host, link) = try await host { knock in
            knocks.change { $0.append(knock.wasRemoved) }
            return knock.wasRemoved && knocks.with { $0.count } < 4 ? .refused("the host removed you") : .accepted
        } emit: { event in
            switch event {
            case .viewerRemoved(let who, let sessions): events.change { $0.append("removed \(who.name) \(sessions)") }
            case .viewerLeft(let who, let reason, _): events.change { $0.append("left \(who.name) \(reason.code)") }
            default: break
            }
        }
        let (annSeen, bobSeen) = (RecordedOutput(), RecordedOutput())
        let annIdentity = try Identity.ephemeral()
        let ann = try viewer(link, annSeen, identity: annIdentity)
        let bob = try viewer(link, bobSeen, name: "Bob")
        let tasks = [ann, bob].map { viewer in Task { await viewer.run() } }
        #expect(await annSeen.wait { $0.counters.count >= 5 })
        #expect(await bobSeen.wait { $0.counters.count >= 5 })
        let control = control(host, link)
        let listed = try await control.answer(ControlRequest(.viewers)).viewers ?? []
        #expect(Set(listed.map(\.name)) == ["Ann", "Bob"] && Set(listed.map(\.number)) == [1, 2])
        #expect(listed.allSatisfy { $0.kilobits > 0 && $0.connectedSeconds != nil && !$0.words.isEmpty })

        let answer = try await control.answer(ControlRequest(.remove("Ann")))
        #expect(answer.removed?.sessions == 1 && answer.removed?.readmission == "Ask again.")
        #expect(answer.broadcast?.viewers == 1)
        let reason = await tasks[0].value
        #expect(reason.code == .removed && reason.sentence == "the host removed you")
        #expect(await waiting(events) { $0.count >= 2 ? $0 : nil } == ["left Ann removed", "removed Ann 1"])

        // The token is gone: without a knock, nothing.
        let again = await (try viewer(link, RecordedOutput(), identity: annIdentity)).run()
        #expect(again.code == .refused && again.sentence.contains("the host removed you"))
        #expect(knocks.with { $0 } == [false, false, true])
        // The others go on.
        let count = bobSeen.state.counters.count
        #expect(await bobSeen.wait { $0.counters.count >= count + 10 })
        await #expect(throws: ControlError(.unknown, "nobody watches as \"Ann\"")) {
            try await control.answer(ControlRequest(.remove("Ann")))
        }
        bob.leave()
        _ = await tasks[1].value
        await host.stop(EndReason(.stopped, "done"))
    }

    @Test func allSessionsOfAnIdentityAreRemovedAndItsTokensAreWithdrawn() async throws {
        let (host, link) = try await host()
        let identity = try Identity.ephemeral()
        let idle = try SignalingClient(link: link)
        let token = try await admissionToken(for: identity, named: "Ann", from: idle)
        let seen = [RecordedOutput(), RecordedOutput()]
        let viewers = try seen.map { try viewer(link, $0, identity: identity) }
        var tasks: [Task<EndReason, Never>] = []
        // One after the other, as an identity has one knock at a time.
        for (one, viewer) in zip(seen, viewers) {
            tasks.append(Task { await viewer.run() })
            #expect(await one.wait { $0.counters.count >= 5 })
        }
        let sessions = await host.viewers()
        #expect(sessions.count == 2)
        #expect(await host.remove(viewer: try #require(sessions.first).id) == 2)
        for task in tasks { #expect(await task.value.code == .removed) }
        await #expect(throws: SignalingError.self) { try await idle.offer("v=0\r\n", token: token) }
        await idle.close()
        #expect(await host.viewers().isEmpty)
        #expect(await host.remove(viewer: .random()) == nil)
        await host.stop(EndReason(.stopped, "done"))
    }

    @Test func aBroadcastThatHasEndedAnswersSo() async throws {
        let (host, link) = try await host()
        let control = control(host, link)
        #expect(ControlAnswer(parsing: await control.answer(ControlRequest(.status).text))?.broadcast?.viewers == 0)
        await host.stop(EndReason(.stopped, "done"))
        for command: ControlRequest.Command in [.status, .hold(.pause, true), .viewers] {
            #expect(ControlAnswer(parsing: await control.answer(ControlRequest(command).text))?.error == .ended)
        }
    }
}

/// Waits for an instant, on a thread of its own.
private func wait(until instant: MediaInstant) async {
    await withCheckedContinuation { continuation in
        _ = NamedThread("wait") {
            _ = Monitor(0).wait(until: instant) { _ in nil as Int? }
            continuation.resume()
        }
    }
}
