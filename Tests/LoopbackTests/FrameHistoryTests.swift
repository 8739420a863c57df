import EventLoop
import LinuxRuntime
import MediaCore
import Testing

@testable import Publishing
@testable import Sessions

/// What a relay keeps for viewers that join, and how it asks for key frames.
@Suite(.timeLimit(.minutes(1)))
struct FrameHistoryTests {
    private func append(_ bytes: [UInt8], isKeyframe: Bool, at milliseconds: Int, to history: inout FrameHistory) {
        bytes.withUnsafeBytes {
            history.append(
                EncodedFrameBytes($0),
                FrameInfo(
                    isKeyframe: isKeyframe,
                    captured: MediaInstant(nanoseconds: 0) + .milliseconds(milliseconds)))
        }
    }

    private func frames(_ history: FrameHistory) -> [(bytes: [UInt8], isKeyframe: Bool, captured: Int64)] {
        var frames: [(bytes: [UInt8], isKeyframe: Bool, captured: Int64)] = []
        let hasSome = history.forEach { bytes, info in
            frames.append((Array(bytes), info.isKeyframe, info.captured.nanoseconds / 1_000_000))
        }
        #expect(hasSome == !frames.isEmpty)
        return frames
    }

    @Test func framesFromTheLastKeyFrameOnAreKept() {
        var history = FrameHistory()
        append([9], isKeyframe: false, at: 1, to: &history)
        #expect(frames(history).isEmpty)
        append([1, 2], isKeyframe: true, at: 100, to: &history)
        append([3], isKeyframe: false, at: 200, to: &history)
        append([4, 5, 6], isKeyframe: false, at: 300, to: &history)
        let kept = frames(history)
        #expect(kept.map(\.bytes) == [[1, 2], [3], [4, 5, 6]])
        #expect(kept.map(\.isKeyframe) == [true, false, false])
        // The newest has its own time, and the others come just before it.
        #expect(kept.map(\.captured) == [298, 299, 300])
        append([7], isKeyframe: true, at: 400, to: &history)
        #expect(frames(history).map(\.bytes) == [[7]])
        history.clear()
        append([8], isKeyframe: false, at: 500, to: &history)
        #expect(frames(history).isEmpty)
    }

    @Test func moreThanAViewerGetsSoonIsNotKept() {
        var history = FrameHistory()
        let half = [UInt8](repeating: 1, count: FrameHistory.limit / 2)
        append(half, isKeyframe: true, at: 1, to: &history)
        append(half, isKeyframe: false, at: 2, to: &history)
        #expect(frames(history).count == 2)
        append([1], isKeyframe: false, at: 3, to: &history)
        #expect(frames(history).isEmpty)
        // Without the frame before them, those that follow are of no use.
        append([1], isKeyframe: false, at: 4, to: &history)
        #expect(frames(history).isEmpty)
        append([2], isKeyframe: true, at: 5, to: &history)
        for time in 6..<1_000 { append([3], isKeyframe: false, at: time, to: &history) }
        #expect(frames(history).isEmpty)
    }

    /// Touched on the loop.
    private final class Requests: @unchecked Sendable {
        // SAFETY: touched on the loop.
        var times: [MediaInstant] = []
        var demand: KeyframeDemand?
    }

    /// Runs `body` on the loop.
    private func run(_ loop: EventLoop, _ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            loop.perform {
                body()
                continuation.resume()
            }
        }
    }

    @Test func requestsAreMergedAndRepeatedUntilAKeyFrameComes() async throws {
        let loop = EventLoop(name: "net-0")
        let requests = Requests()
        let count = Monitor(0)
        await run(loop) {
            requests.demand = KeyframeDemand(loop) {
                requests.times.append(MonotonicClock.now)
                count.change { $0 += 1 }
            }
            for _ in 0..<100 { requests.demand?.request() }
        }
        #expect(count.with { $0 } == 1)
        // The publisher has ignored the first one.
        #expect(await waiting(count) { $0 == 3 ? true : nil } == true)
        await run(loop) {
            requests.demand?.noteKeyframe()
            // The next viewer waits for the rest of the second.
            requests.demand?.request()
        }
        #expect(count.with { $0 } == 3)
        #expect(await waiting(count) { $0 == 4 ? true : nil } == true)
        await run(loop) {
            requests.demand?.noteKeyframe()
            for (one, next) in zip(requests.times, requests.times.dropFirst()) {
                #expect(next - one >= .milliseconds(999))
            }
            requests.demand?.close()
            requests.demand = nil
        }
        await loop.stop()
    }
}
