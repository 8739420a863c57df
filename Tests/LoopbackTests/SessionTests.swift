import Foundation
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
@testable import Viewer

/// A host and viewers in one process, over real HTTPS, ICE, DTLS, SRTP and threads on loopback.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct SessionTests {
    private func host(
        decide: @escaping HostSession.KnockPolicy,
        limit: (@Sendable (ViewerDescription) -> Bitrate?)? = nil, framesPerSecond: Int = 30,
        emit: @escaping @Sendable (BroadcastEvent) -> Void = { _ in }
    ) async throws -> (HostSession, Link) {
        var configuration = HostSession.Configuration(
            listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 60,
            maximumBitrate: .kilobits(8_000), contentHint: nil, name: "loopback")
        configuration.viewers.bitrateLimit = limit
        let session = try HostSession(
            configuration: configuration,
            identity: try .ephemeral(), source: TestVideoSource(framesPerSecond: framesPerSecond),
            encoder: VP8Encoder(),
            audio: [.testTone], decide: decide,
            emit: emit)
        return (session, try await session.start())
    }

    private func viewer(
        _ link: Link, _ seen: RecordedOutput, name: String = "viewer",
        emit: @escaping @Sendable (ViewerSessionEvent) -> Void = { _ in }
    ) throws -> ViewerSession {
        ViewerSession(
            link: link, identity: try .ephemeral(), name: name, sink: playback(seen, speaker: seen), emit: emit)
    }

    @Test func videoAndAudioArriveAndTheHostsEndIsReported() async throws {
        let (host, link) = try await host(decide: { _ in .accepted })
        let seen = RecordedOutput()
        let names = Monitor<[String]>([])
        let viewer = try viewer(link, seen) { event in
            if case .named(let name) = event { names.change { $0.append(name) } }
        }
        let watching = Task { await viewer.run() }
        #expect(await seen.wait { $0.counters.count >= 20 && $0.samples > 48_000 / 2 })
        let counters = seen.state.counters
        #expect(zip(counters, counters.dropFirst()).allSatisfy { $0 < $1 }, "frames came twice or out of order")
        #expect(names.with { $0 } == ["loopback"])
        await host.stop(EndReason(.stopped, "done"))
        let reason = await watching.value
        #expect(reason.code == .hostEnded)
    }

    @Test func aRefusedViewerGetsNoPacket() async throws {
        let (host, link) = try await host(decide: { _ in .refused("not today") })
        let seen = RecordedOutput()
        let reason = await (try viewer(link, seen)).run()
        #expect(reason.code == .refused)
        #expect(reason.sentence.contains("not today"))
        #expect(await host.statistics()?.sent.packets == 0)
        #expect(seen.state.counters.isEmpty)
        await host.stop(EndReason(.stopped, "done"))
    }

    /// The timeout of 60 s is tested by KnockTableTests and JoiningTests.
    @Test func aViewerThatNobodyAnswersIsToldSo() async throws {
        let refusals = Monitor<[String]>([])
        let (host, link) = try await host(
            decide: { _ in .unanswered },
            emit: { event in
                if case .refused(_, let reason) = event { refusals.change { $0.append(reason) } }
            })
        let seen = RecordedOutput()
        let reason = await (try viewer(link, seen)).run()
        #expect(reason.code == .unanswered && reason.sentence.contains("nobody answered"))
        #expect(refusals.with { $0 } == ["nobody answered"])
        #expect(await host.statistics()?.sent.packets == 0)
        await host.stop(EndReason(.stopped, "done"))
    }

    /// At most two questions of one address wait at a time.
    @Test func theThirdKnockOfAnAddressWaitsForRoomInTheQueue() async throws {
        let hasAnswered = Monitor(false)
        let questions = Monitor(0)
        let (host, link) = try await host(decide: { _ in
            questions.change { $0 += 1 }
            _ = await waiting(hasAnswered) { $0 ? true : nil }
            return .accepted
        })
        var others: [(ViewerSession, Task<EndReason, Never>)] = []
        for _ in 0..<2 {
            let viewer = try viewer(link, RecordedOutput())
            others.append((viewer, Task { await viewer.run() }))
        }
        #expect(await waiting(questions) { $0 == 2 ? true : nil } == true)
        let warnings = Monitor<[String]>([])
        let seen = RecordedOutput()
        let third = try viewer(link, seen) { event in
            if case .notice(let notice) = event { warnings.change { $0.append(notice.words.sentence) } }
        }
        let watching = Task { await third.run() }
        #expect(await waiting(warnings) { $0.isEmpty ? nil : true } == true)
        #expect(questions.with { $0 } == 2)
        hasAnswered.change { $0 = true }
        #expect(await seen.wait { $0.counters.count >= 5 })
        #expect(warnings.with { $0.count } == 1)
        for (viewer, running) in others + [(third, watching)] {
            viewer.leave()
            #expect(await running.value.code == .stopped)
        }
        await host.stop(EndReason(.stopped, "done"))
    }

    @Test func aHostThatIsGoneIsUnreachable() async throws {
        let (host, link) = try await host(decide: { _ in .accepted })
        await host.stop(EndReason(.stopped, "done"))
        let reason = await (try viewer(link, RecordedOutput())).run()
        #expect(reason.code == .unreachable)
    }

    @Test func aSecondViewerGetsTheSameEncoding() async throws {
        let (host, link) = try await host(decide: { _ in .accepted })
        let seen = [RecordedOutput(), RecordedOutput()]
        let viewers = try seen.map { try viewer(link, $0) }
        let tasks = viewers.map { viewer in Task { await viewer.run() } }
        for one in seen { #expect(await one.wait { $0.counters.count >= 20 }) }
        let statistics = try #require(await host.statistics())
        #expect(statistics.connected == 2)
        #expect(statistics.layers == [.all, .all])
        // Both get the same frames: about as many were encoded as one viewer got, except for frames in flight.
        #expect(statistics.video.frames < seen[0].state.counters.count + seen[1].state.counters.count)
        for viewer in viewers { viewer.leave() }
        for task in tasks { #expect(await task.value.code == .stopped) }
        await host.stop(EndReason(.stopped, "done"))
    }

    @Test func aSomewhatSlowerViewerGetsOnlyTheBaseLayer() async throws {
        let (host, link) = try await host(
            decide: { _ in .accepted }, limit: { .kilobits($0.name == "slow" ? 160 : 320) }, framesPerSecond: 60)
        let (fast, slow) = (RecordedOutput(), RecordedOutput())
        let viewers = [try viewer(link, fast, name: "fast"), try viewer(link, slow, name: "slow")]
        let tasks = viewers.map { viewer in Task { await viewer.run() } }
        for one in [fast, slow] { #expect(await one.wait { $0.counters.count >= 5 }) }
        var statistics = try #require(await host.statistics())
        for _ in 0..<400 where statistics.video.upperLayerFrames < 30 || statistics.baseViewers != 1 {
            let count = fast.state.counters.count
            #expect(await fast.wait { $0.counters.count > count })
            statistics = try #require(await host.statistics())
        }
        #expect(statistics.video.upperLayerFrames >= 30)
        #expect(statistics.baseViewers == 1)
        #expect(statistics.lowViewers == 0)
        #expect(Set(statistics.layers) == [.all, .base])
        // A machine that is too busy for all frames leaves none out for a while.
        var ahead = 0
        for _ in 0..<20 where ahead <= 0 {
            let before = (fast: fast.state.counters.count, slow: slow.state.counters.count)
            #expect(await slow.wait { $0.counters.count >= before.slow + 40 })
            ahead = fast.state.counters.count - before.fast - (slow.state.counters.count - before.slow)
        }
        #expect(ahead > 0)
        // The counters increase, and no viewer had to request a key frame.
        for numbers in [fast.state.counters, slow.state.counters] {
            for (one, next) in zip(numbers, numbers.dropFirst()) { #expect(next >= one) }
        }
        #expect(try #require(await host.statistics()).video.keyframes <= 5)
        for viewer in viewers { viewer.leave() }
        for task in tasks { #expect(await task.value.code == .stopped) }
        await host.stop(EndReason(.stopped, "done"))
    }

    @Test func aMuchSlowerViewerGetsItsOwnEncodingAndDelaysNoOther() async throws {
        let (host, link) = try await host(
            decide: { _ in .accepted }, limit: { $0.name == "slow" ? .kilobits(100) : nil })
        let (fast, slow) = (RecordedOutput(), RecordedOutput())
        let viewers = [try viewer(link, fast, name: "fast"), try viewer(link, slow, name: "slow")]
        let tasks = viewers.map { viewer in Task { await viewer.run() } }
        for one in [fast, slow] { #expect(await one.wait { $0.counters.count >= 5 }) }
        var statistics = try #require(await host.statistics())
        for _ in 0..<400 where statistics.video.lowFrames < 5 {
            let count = fast.state.counters.count
            #expect(await fast.wait { $0.counters.count > count })
            statistics = try #require(await host.statistics())
        }
        #expect(statistics.video.lowFrames >= 5)
        #expect(statistics.lowViewers == 1)
        #expect(statistics.layers.contains(.low))
        // Both continue, and the fast viewer gets more frames.
        let before = (fast: fast.state.counters.count, slow: slow.state.counters.count)
        #expect(await slow.wait { $0.counters.count >= before.slow + 10 })
        #expect(await fast.wait { $0.counters.count >= before.fast + 20 })
        let numbers = slow.state.counters
        for (one, next) in zip(numbers, numbers.dropFirst()) { #expect(next >= one) }
        // A slow viewer on its own is the fastest one, and gets the main encoding again.
        viewers[0].leave()
        let last = slow.state.counters.count
        #expect(await slow.wait { $0.counters.count >= last + 20 })
        viewers[1].leave()
        for task in tasks { #expect(await task.value.code == .stopped) }
        await host.stop(EndReason(.stopped, "done"))
    }
}
