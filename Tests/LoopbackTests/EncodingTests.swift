import Foundation
import LinuxRuntime
import MediaCore
import MediaEngine
import Testing
import VPXCodec

@testable import Host
@testable import PeerConnection
@testable import Viewer

/// The video thread with its own screen, and viewers that are simulated by their requests.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct EncodingTests {
    @Test func aSecondEncodingStartsWithAKeyFrameAndShowsTheSameWithFewerBytes() async throws {
        let stage = Stage()
        stage.pipeline.change {
            $0.main.isWanted = true
            $0.main.target = EncodingTarget(bitrate: .kilobits(20_000))
        }
        #expect(stage.wait { $0.main.count >= 3 })
        #expect(stage.state.low.isEmpty)
        stage.pipeline.change {
            $0.low.isWanted = true
            $0.low.target = EncodingTarget(bitrate: .kilobits(400))
        }
        #expect(stage.wait { $0.low.count >= 3 })
        let low = stage.state.low
        #expect(low.map(\.isKeyframe) == [true] + Array(repeating: false, count: low.count - 1))
        // The main encoding needs no key frame for that.
        #expect(stage.state.main.count { $0.isKeyframe } == 1)
        stage.screen.rest()
        #expect(stage.wait { $0.isSharp })
        await stage.pipeline.stop()
        let state = stage.state
        for frames in [state.main, state.low] {
            let decoder = VP8Decoder()
            var sharpness = 0.0
            for frame in frames {
                let decoded = try frame.bytes.withUnsafeBytes { try decoder.decode($0) }
                sharpness = decoded.map { stage.screen.psnr($0) } ?? 0
            }
            #expect(sharpness > 40)
        }
        let statistics = stage.pipeline.statistics
        #expect(statistics.lowFrames == state.low.count)
        #expect(statistics.frames == state.low.count + state.main.count)
    }

    @Test func aBlockedBaseDoesNotKeepTheOthersWaiting() async throws {
        let stage = Stage()
        let base = Bitrate.kilobits(5_000)
        stage.pipeline.change {
            $0.main.isWanted = true
            $0.main.target = EncodingTarget(bitrate: .kilobits(20_000), layering: .init(baseBitrate: base))
        }
        #expect(stage.wait { $0.main.count >= 3 })
        stage.pipeline.change { $0.main.target.layering?.isBaseBlocked = true }
        let before = stage.state.main.count
        #expect(stage.wait { $0.main.count >= before + 10 })
        #expect(stage.state.main.suffix(8).allSatisfy { $0.layer == 1 })
        stage.pipeline.change { $0.main.target.layering?.isBaseBlocked = false }
        #expect(stage.wait { $0.main.last?.layer == 0 })
        stage.screen.rest()
        #expect(stage.wait { $0.isSharp })
        await stage.pipeline.stop()
        // A viewer that got only the base shows the same in the end.
        var pictures: [[UInt8]] = []
        for isAll in [true, false] {
            let decoder = VP8Decoder()
            var last: [UInt8] = []
            for frame in stage.state.main where isAll || frame.layer == 0 {
                let decoded = try frame.bytes.withUnsafeBytes { try decoder.decode($0) }
                if let decoded { last = Screen.luma(decoded) }
            }
            pictures.append(last)
        }
        #expect(pictures[0] == pictures[1])
        #expect(stage.pipeline.statistics.upperLayerFrames >= 8)
    }

    @Test func eachEncodingHasItsOwnKeyFramesAtMostOneASecond() async {
        let stage = Stage()
        stage.pipeline.change {
            for encoding in EncodingID.allCases {
                $0[encoding].isWanted = true
                $0[encoding].target = EncodingTarget(bitrate: .kilobits(5_000))
            }
        }
        #expect(stage.wait { $0.main.count >= 2 && $0.low.count >= 2 })
        // Requests flood the encoder for a while.
        let keyframes = stage.state.low.count { $0.isKeyframe }
        while stage.elapsed < 2.5 {
            let frames = stage.state.low.count
            stage.pipeline.change { $0.low.isKeyframeWanted = true }
            #expect(stage.wait { $0.low.count > frames })
        }
        await stage.pipeline.stop()
        let state = stage.state
        #expect(state.main.count { $0.isKeyframe } == 1)
        let after = state.low.count { $0.isKeyframe } - keyframes
        #expect(after >= 1)
        let times = state.low.filter(\.isKeyframe).map(\.seconds)
        for (one, next) in zip(times, times.dropFirst()) { #expect(next - one > 0.5) }
    }

    @Test func anUnwantedEncodingIsNotMade() async {
        let stage = Stage()
        stage.pipeline.change {
            $0.main.isWanted = true
            $0.low.isWanted = true
        }
        #expect(stage.wait { $0.main.count >= 2 && $0.low.count >= 2 })
        stage.pipeline.change { $0.low.isWanted = false }
        let main = stage.state.main.count
        #expect(stage.wait { $0.main.count >= main + 5 })
        let low = stage.state.low.count
        let then = stage.state.main.count
        #expect(stage.wait { $0.main.count >= then + 5 })
        #expect(stage.state.low.count == low)
        // The encoding resumes with a key frame.
        stage.pipeline.change { $0.low.isWanted = true }
        #expect(stage.wait { $0.low.count > low })
        #expect(stage.state.low[low].isKeyframe)
        await stage.pipeline.stop()
    }
}

/// A pipeline whose frames are recorded.
private final class Stage: Sendable {
    struct Frame {
        var bytes: [UInt8]
        var isKeyframe: Bool
        var layer: UInt8
        /// The time since the start.
        var seconds: Double
    }

    struct State {
        var main: [Frame] = []
        var low: [Frame] = []
        var lastFrame = MediaInstant(nanoseconds: 0)
        /// Whether no frame has come for a while after the first.
        var isSharp = false
    }

    let screen = Screen()
    let pipeline: VideoPipeline
    private let frames: FrameQueues
    private let monitor: Monitor<State>
    private let start = MonotonicClock.now

    init() {
        let frames = FrameQueues()
        let monitor = Monitor(State())
        let start = start
        self.frames = frames
        self.monitor = monitor
        pipeline = VideoPipeline(
            source: screen, encoder: VP8Encoder(), limits: .init(framesPerSecond: 60, contentHint: .text),
            bitrate: .kilobits(5_000), frames: frames, clock: { MonotonicClock.now })
        pipeline.start(framesReady: { Stage.take(frames, monitor, start) }, failed: { _ in })
    }

    deinit { pipeline.requestStop() }

    private static func take(_ frames: FrameQueues, _ monitor: Monitor<State>, _ start: MediaInstant) {
        for encoding in EncodingID.allCases {
            frames[encoding].pop { bytes, info in
                let now = MonotonicClock.now
                let frame = Frame(
                    bytes: Array(bytes), isKeyframe: info.isKeyframe, layer: info.layer,
                    seconds: (now - start).inSeconds)
                monitor.change {
                    if info.encoding == .main { $0.main.append(frame) } else { $0.low.append(frame) }
                    $0.lastFrame = now
                }
            }
        }
    }

    var state: State { monitor.with { $0 } }
    var elapsed: Double { (MonotonicClock.now - start).inSeconds }

    /// Waits for the condition, for 20 s at most.
    func wait(_ condition: @Sendable (State) -> Bool) -> Bool {
        let deadline = MonotonicClock.now + .seconds(20)
        while MonotonicClock.now < deadline {
            let step = MonotonicClock.now + .milliseconds(20)
            let isMet = monitor.wait(until: step) { state -> Bool? in
                state.isSharp = MonotonicClock.now - state.lastFrame > .milliseconds(1_500)
                return condition(state) ? true : nil
            }
            if isMet == true { return true }
        }
        return false
    }
}

/// A page on which one area changes with each read, until it becomes still.
// SAFETY: all but `state` is used by the pipeline's thread, and by the test after that thread has ended.
private final class Screen: ScreenSource, @unchecked Sendable {
    let size = PixelSize(width: 320, height: 240)
    let summary = "a page"
    let limitations: [String] = []
    private let state = Monitor((isResting: false, woken: 0))
    private var number = 0
    private var seen = 0
    private var shown: [UInt8] = []

    func rest() { state.change { $0.isResting = true } }

    func wait(until deadline: MediaInstant?) throws(SourceFailure) -> ScreenEvent {
        let next = MonotonicClock.now + .milliseconds(33)
        let limit = deadline.map { min($0, next) } ?? next
        let seen = seen
        if let woken = state.wait(until: limit, { $0.woken != seen ? $0.woken : nil }) {
            self.seen = woken
            return .woken
        }
        return state.with { $0.isResting } || limit != next ? .woken : .damaged
    }

    func read(into canvas: I420Buffer, changed: inout BlockMap) throws(SourceFailure) -> MediaInstant {
        if number == 0 {
            for row in 0..<size.height { draw(row, 0..<size.width, canvas) }
            changed.fill()
        } else if !state.with({ $0.isResting }) {
            let rect = PixelRect(x: 32, y: 64, width: 128, height: 64)
            for row in rect.y..<rect.maxY { draw(row, rect.x..<rect.maxX, canvas) }
            changed.insert(rect)
        }
        number += 1
        shown = Self.luma(canvas.frame)
        return MonotonicClock.now
    }

    /// Draws text-like dots, dark on light, different ones each time.
    private func draw(_ row: Int, _ columns: Range<Int>, _ canvas: I420Buffer) {
        for column in columns {
            let isInk = (row / 2 &* 31 &+ column / 2 &* 17 &+ number &* 7) % 11 < 3
            canvas.y[row * canvas.strideY + column] = isInk ? 20 : 230
        }
    }

    func damageEverything() { number = 0 }
    func wake() { state.change { $0.woken += 1 } }
    func close() {}

    static func luma(_ frame: I420Frame) -> [UInt8] {
        (0..<frame.size.height).flatMap { row in
            Array(UnsafeBufferPointer(start: frame.y + row * frame.strideY, count: frame.size.width))
        }
    }

    func psnr(_ frame: I420Frame) -> Double {
        let error = zip(Self.luma(frame), shown).reduce(0) { $0 + (Int($1.0) - Int($1.1)) * (Int($1.0) - Int($1.1)) }
        return 10 * log10(255 * 255 * Double(shown.count) / Double(max(error, 1)))
    }
}
