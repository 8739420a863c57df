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

/// A broadcast that its user blanks or freezes while real viewers watch.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct HoldTests {
    private func host(_ screen: sending CountingScreen) async throws -> (HostSession, Link) {
        let session = try HostSession(
            configuration: .init(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 60,
                maximumBitrate: .kilobits(8_000), contentHint: nil, name: "loopback"),
            identity: try .ephemeral(), source: screen, encoder: VP8Encoder(), audio: [.testTone],
            decide: { _ in .accepted }, emit: { _ in })
        return (session, try await session.start())
    }

    private func viewer(
        _ link: Link, _ seen: RecordedOutput, _ told: Monitor<[BroadcastHold?]> = Monitor([])
    ) throws -> ViewerSession {
        ViewerSession(
            link: link, identity: try .ephemeral(), name: "Ann", sink: playback(seen, speaker: seen),
            emit: { event in
                switch event {
                case .broadcastHeld(let hold): told.change { $0.append(hold) }
                case .broadcastResumed: told.change { $0.append(nil) }
                default: break
                }
            })
    }

    @Test func aBlankedBroadcastShowsOneColourToAllAndReadsNothing() async throws {
        let reads = Monitor(0)
        let (host, link) = try await host(CountingScreen(reads))
        let (seen, told) = (RecordedOutput(), Monitor<[BroadcastHold?]>([]))
        let first = try viewer(link, seen, told)
        let watching = Task { await first.run() }
        #expect(await seen.wait { $0.counters.count >= 20 && $0.samples > 9_600 })

        #expect(await host.set(.blank, true))
        #expect(await seen.wait { !$0.blanks.isEmpty })
        let (count, readCount) = (seen.state.counters.count, reads.with { $0 })
        #expect(await waiting(told) { $0 == [.blank] ? true : nil } == true)
        // One who comes now sees the same, and hears nothing.
        let late = RecordedOutput()
        let second = try viewer(link, late)
        let alsoWatching = Task { await second.run() }
        #expect(await late.wait { !$0.blanks.isEmpty })
        #expect(late.state.counters.isEmpty && late.state.samples == 0)
        #expect(seen.state.counters.count == count, "the screen was seen after the blank frame")
        #expect(reads.with { $0 } == readCount)

        // A pause and its end show nothing.
        #expect(await host.pause())
        #expect(await host.resume())
        #expect(await host.holds() == [.blank])
        #expect(seen.state.counters.count == count && reads.with { $0 } == readCount)

        #expect(await host.set(.blank, false))
        #expect(await seen.wait { $0.counters.count >= count + 20 })
        #expect(await late.wait { $0.counters.count >= 5 && $0.samples > 0 })
        #expect(await waiting(told) { $0 == [.blank, nil] ? true : nil } == true)
        let counters = seen.state.counters
        // A frame whose rest is coded after it is shown twice.
        #expect(zip(counters, counters.dropFirst()).allSatisfy { $0 <= $1 }, "out of order: \(counters)")
        #expect(await host.statistics()?.sent.keyframeRequests == 0)
        for viewer in [first, second] { viewer.leave() }
        _ = await (watching.value, alsoWatching.value)
        await host.stop(EndReason(.stopped, "done"))
    }

    @Test func aPausedBroadcastCanBeBlankedAndStaysPausedAfterIt() async throws {
        let reads = Monitor(0)
        let (host, link) = try await host(CountingScreen(reads))
        let (seen, told) = (RecordedOutput(), Monitor<[BroadcastHold?]>([]))
        let viewer = try viewer(link, seen, told)
        let watching = Task { await viewer.run() }
        #expect(await seen.wait { $0.counters.count >= 5 })
        #expect(await host.pause())
        #expect(await host.set(.blank, true))
        #expect(await seen.wait { !$0.blanks.isEmpty })
        let (count, readCount) = (seen.state.counters.count, reads.with { $0 })
        #expect(await host.set(.blank, false))
        #expect(await waiting(told) { $0 == [.pause, .blank, .pause] ? true : nil } == true)
        // Twice, as the blank frame stays during the pause.
        #expect(await host.set(.blank, true))
        #expect(await host.set(.blank, false))
        #expect(seen.state.counters.count == count && reads.with { $0 } == readCount)
        #expect(await host.resume())
        #expect(await seen.wait { $0.counters.count >= count + 5 })
        viewer.leave()
        _ = await watching.value
        await host.stop(EndReason(.stopped, "done"))
    }

    /// What was on the screen when somebody watched last may be anything by then. Nor is the frame shown that a blank
    /// picture has covered.
    @Test func onlyWhatViewersSeeStandsStill() async throws {
        let (reads, suspensions) = (Monitor(0), Monitor(0))
        let (host, link) = try await host(CountingScreen(reads, suspensions: suspensions))
        let first = RecordedOutput()
        var session = try viewer(link, first)
        var watching = Task { [session] in await session.run() }
        #expect(await first.wait { $0.counters.count >= 5 })
        let known = suspensions.with { $0 }
        session.leave()
        _ = await watching.value
        #expect(await waiting(suspensions) { $0 > known ? true : nil } == true)

        #expect(await host.set(.freeze, true))
        let late = RecordedOutput()
        session = try viewer(link, late)
        watching = Task { [session] in await session.run() }
        #expect(await late.wait { !$0.blanks.isEmpty })
        #expect(late.state.counters.isEmpty)
        #expect(await host.set(.freeze, false))
        #expect(await late.wait { $0.counters.count >= 5 })

        #expect(await host.set(.blank, true))
        let blanks = late.state.blanks.count
        #expect(await late.wait { $0.blanks.count > blanks })
        let count = late.state.counters.count
        #expect(await host.set(.freeze, true))
        #expect(await host.set(.blank, false))
        let last = RecordedOutput()
        let other = try viewer(link, last)
        let otherWatching = Task { await other.run() }
        #expect(await last.wait { !$0.blanks.isEmpty })
        #expect(last.state.counters.isEmpty && late.state.counters.count == count)
        for viewer in [session, other] { viewer.leave() }
        _ = await (watching.value, otherWatching.value)
        await host.stop(EndReason(.stopped, "done"))
    }

    @Test func aFrozenBroadcastKeepsItsPictureAndItsSound() async throws {
        let reads = Monitor(0)
        let (host, link) = try await host(CountingScreen(reads))
        let seen = RecordedOutput()
        let first = try viewer(link, seen)
        let watching = Task { await first.run() }
        #expect(await seen.wait { $0.counters.count >= 20 })
        #expect(await host.set(.freeze, true))
        let late = RecordedOutput()
        let second = try viewer(link, late)
        let alsoWatching = Task { await second.run() }
        #expect(await late.wait { !$0.counters.isEmpty && $0.samples > 9_600 })
        let (count, readCount) = (seen.state.samples, reads.with { $0 })
        #expect(await seen.wait { $0.samples > count + 9_600 })
        #expect(reads.with { $0 } == readCount)
        // Both have the same picture.
        #expect(Set(late.state.counters).count == 1 && late.state.counters.first == seen.state.counters.last)
        #expect(await host.set(.freeze, false))
        #expect(await late.wait { Set($0.counters).count >= 5 })
        for viewer in [first, second] { viewer.leave() }
        _ = await (watching.value, alsoWatching.value)
        await host.stop(EndReason(.stopped, "done"))
    }
}

/// A test video source that counts how often it is read, and suspended.
// SAFETY: `video` is used as it requires; the rest is in a Monitor.
private final class CountingScreen: ScreenSource, @unchecked Sendable {
    private let video = TestVideoSource()
    private let reads: Monitor<Int>
    private let suspensions: Monitor<Int>

    init(_ reads: Monitor<Int>, suspensions: Monitor<Int> = Monitor(0)) {
        (self.reads, self.suspensions) = (reads, suspensions)
    }

    func suspend() {
        video.suspend()
        suspensions.change { $0 += 1 }
    }

    func resume() { video.resume() }
    func waitSuspended() throws(SourceFailure) -> Bool { try video.waitSuspended() }

    var size: PixelSize { video.size }
    var summary: String { video.summary }
    var limitations: [String] { video.limitations }
    func wait(until deadline: MediaInstant?) -> ScreenEvent { video.wait(until: deadline) }

    func read(into canvas: I420Buffer, changed: inout BlockMap) -> MediaInstant {
        reads.change { $0 += 1 }
        return video.read(into: canvas, changed: &changed)
    }

    func damageEverything() { video.damageEverything() }
    func wake() { video.wake() }
    func close() { video.close() }
}
