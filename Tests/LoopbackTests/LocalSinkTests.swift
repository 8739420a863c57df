import LinuxRuntime
import MediaCore
import OpusCodec
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
@testable import Viewer

/// Recorders and clip buffers of a host itself, beside its viewers.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct LocalSinkTests {
    private func host() async throws -> (HostSession, Link) {
        let session = try HostSession(
            configuration: .init(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 60,
                maximumBitrate: .kilobits(8_000), contentHint: nil, name: "loopback"),
            identity: try .ephemeral(), source: TestVideoSource(framesPerSecond: 30), encoder: VP8Encoder(),
            audio: [.testTone], decide: { _ in .accepted }, emit: { _ in })
        return (session, try await session.start())
    }

    private func wait(_ sink: RecordingSink, _ condition: @escaping @Sendable (RecordingSink.State) -> Bool) async
        -> Bool
    {
        await waiting(sink.state) { condition($0) ? true : nil } ?? false
    }

    @Test func aSinkGetsEverythingAlsoWithoutViewers() async throws {
        let (host, _) = try await host()
        let sink = RecordingSink()
        try await host.add(sink, demandsMedia: true, records: true)
        #expect(await wait(sink) { $0.frames.count >= 30 && $0.packets.count >= 50 })
        let state = sink.state.with { $0 }
        #expect(state.formats == [EncodedMediaFormat(video: .vp8, audio: [.applicationAudio])])
        let first = try #require(state.frames.first)
        #expect(first.isKeyframe && first.size == PixelSize(width: 1_280, height: 720) && first.codec == .vp8)
        let times = state.frames.compactMap(\.captured)
        #expect(times.count == state.frames.count && zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        let stamps = state.packets.map(\.rtpTimestamp)
        #expect(zip(stamps, stamps.dropFirst()).allSatisfy { $1 &- $0 == 960 })
        await host.stop(EndReason(.stopped, "done"))
        #expect(sink.state.with { $0.closings } >= 1)
    }

    @Test func aSinkThatDemandsNothingGetsNothingWithoutViewers() async throws {
        let (host, link) = try await host()
        let (passive, active) = (RecordingSink(), RecordingSink())
        try await host.add(passive, demandsMedia: false, records: false)
        let seen = RecordedOutput()
        #expect(passive.state.with { $0.frames.isEmpty && $0.packets.isEmpty })
        let viewer = ViewerSession(
            link: link, identity: try .ephemeral(), name: "viewer", sink: playback(seen, speaker: nil),
            emit: { _ in })
        let watching = Task { await viewer.run() }
        #expect(await seen.wait { $0.counters.count >= 20 })
        #expect(await wait(passive) { $0.frames.count >= 10 })
        #expect(passive.state.with { $0.frames.first?.isKeyframe } == true)
        try await host.add(active, demandsMedia: true, records: false)
        // The viewers see a key frame more, and go on.
        #expect(await wait(active) { $0.frames.count >= 10 })
        let counted = seen.state.counters.count
        #expect(await seen.wait { $0.counters.count >= counted + 20 })
        await host.stop(EndReason(.stopped, "done"))
        _ = await watching.value
    }

    @Test func theViewersAreToldOfTheHostsRecorder() async throws {
        let (host, link) = try await host()
        let told = Monitor<[Int]>([])
        let viewer = ViewerSession(
            link: link, identity: try .ephemeral(), name: "viewer", sink: playback(RecordedOutput(), speaker: nil),
            emit: { event in
                if case .hostEvent(.recorderCount(let count)) = event { told.change { $0.append(count) } }
            })
        let watching = Task { await viewer.run() }
        let sink = RecordingSink()
        try await host.add(sink, demandsMedia: true, records: true)
        #expect(await waiting(told) { $0.last == 1 ? true : nil } == true)
        await host.remove(sink)
        #expect(sink.state.with { $0.closings } == 1)
        #expect(await waiting(told) { $0.last == 0 ? true : nil } == true)
        await host.stop(EndReason(.stopped, "done"))
        _ = await watching.value
    }

    @Test func nothingOfAPauseIsRecorded() async throws {
        let (host, _) = try await host()
        let sink = RecordingSink()
        try await host.add(sink, demandsMedia: true, records: true)
        #expect(await wait(sink) { $0.frames.count >= 10 })
        #expect(await host.pause())
        let paused = MonotonicClock.now
        // The length of the pause: some frames.
        try await Task.sleep(for: .milliseconds(300))
        let resumed = MonotonicClock.now
        #expect(await host.resume())
        let count = sink.state.with { $0.frames.count }
        #expect(await wait(sink) { $0.frames.count >= count + 10 })
        let captured = sink.state.with { $0.frames.compactMap(\.captured) }
        #expect(captured.allSatisfy { $0 < paused || $0 > resumed })
        await host.stop(EndReason(.stopped, "done"))
    }

    @Test func aSinkThatRefusesIsNotAdded() async throws {
        let (host, _) = try await host()
        await #expect(throws: MediaSinkFailure.self) {
            try await host.add(RefusingSink(), demandsMedia: true, records: true)
        }
        #expect(host.state.with { $0.sinks.isEmpty })
        await host.stop(EndReason(.stopped, "done"))
        // After the end a sink is only closed.
        let late = RecordingSink()
        try await host.add(late, demandsMedia: true, records: true)
        #expect(late.state.with { $0.formats.isEmpty && $0.closings == 1 })
    }
}
