import LinuxRuntime
import MediaCore
import MediaEngine
import Testing

@testable import Host

/// The video thread in virtual time, which advances by a millisecond whenever the clock is read.
@Suite(.timeLimit(.minutes(1)))
struct VideoPipelineTests {
    /// A key frame is requested after every frame.
    @Test(arguments: [(isFirstFrameAwaited: false, interval: 1_000), (isFirstFrameAwaited: true, interval: 250)])
    func aStormOfRequestsMakesOneKeyFrameAnInterval(isFirstFrameAwaited: Bool, interval: Int) async throws {
        let stage = ClockworkStage { stage, _ in
            stage.pipeline?.change {
                $0.main.isKeyframeWanted = true
                $0.main.isFirstFrameAwaited = isFirstFrameAwaited
            }
        }
        stage.start()
        let end = MediaInstant(nanoseconds: 0) + .seconds(20)
        stage.frames.wait { ($0.last?.made ?? MediaInstant(nanoseconds: 0)) > end ? () : nil }
        await stage.stop()
        let frames = stage.frames.with { $0 }
        let keyframes = frames.filter { $0.info.isKeyframe }.map(\.made)
        let shortest = try #require(zip(keyframes, keyframes.dropFirst()).map { $1 - $0 }.min())
        #expect(shortest >= .milliseconds(interval))
        // Each key frame is at most a few frames late.
        #expect(keyframes.count > 20_000 / interval * 9 / 10, "\(keyframes.count) of \(frames.count)")
        #expect(frames.count > 5 * keyframes.count)
    }

    @Test func aFrameSaysSinceWhenItsFirstChangeHasWaited() async throws {
        let stage = ClockworkStage { stage, count in
            if count == 1 { stage.pipeline?.change { $0.main.target.isBlocked = true } }
        }
        stage.start()
        // The first frame has been sent, and the screen has changed since.
        let damage = stage.screen.damage.wait { $0 }
        while stage.clock.with({ $0 }) < damage + .milliseconds(300) { stage.pipeline?.change { _ in } }
        stage.pipeline?.change { $0.main.target.isBlocked = false }
        let frame = stage.frames.wait { $0.count > 1 ? $0[1] : nil }
        await stage.stop()
        let since = try #require(frame.info.changedSince)
        #expect(since >= damage && since - damage < .milliseconds(3), "\((since - damage).inMilliseconds) ms")
        #expect(frame.made - since > .milliseconds(290))
    }

    /// Also while all viewers have a backlog, and although a key frame was made a moment ago.
    @Test(arguments: [false, true]) func theBlankFrameIsTheNextFrame(isBlocked: Bool) async throws {
        let stage = ClockworkStage { stage, count in
            guard count == 3 else { return }
            stage.pipeline?.change { $0.main.target.isBlocked = isBlocked }
            stage.pipeline?.set(.blank)
        }
        stage.start()
        let frames = stage.frames.wait { $0.count > 3 ? $0 : nil }
        await stage.stop()
        #expect(frames[..<3].allSatisfy { !$0.info.isBlank } && frames[3].info.isBlank && frames[3].info.isKeyframe)
        // At 60 frames a second, in a clock that advances as it is read.
        #expect(
            frames[3].made - frames[2].made < .milliseconds(25),
            "\((frames[3].made - frames[2].made).inMilliseconds) ms")
    }

    /// On a slow machine a refinement is due as soon as a frame is made. The screen, which changes all the time, takes
    /// precedence.
    @Test func aChangeGoesBeforeARefinement() async throws {
        let clock = ClockworkStage.makeClock()
        let encoder = SlowEncoder(clock)
        let requests = encoder.requests
        let stage = ClockworkStage(clock, encoder) { _, _ in }
        stage.start()
        stage.frames.wait { $0.count > 20 ? () : nil }
        await stage.stop()
        #expect(requests.with { $0 }.allSatisfy { !$0.isRefinement })
    }

    /// Nobody takes frames from the queue: what belongs to a refused frame does not follow it.
    @Test func nothingFollowsARefusedFrame() async throws {
        let encoder = HalvingEncoder()
        let requests = encoder.requests
        let stage = ClockworkStage(ClockworkStage.makeClock(), encoder, takesFrames: false) { _, _ in }
        stage.start()
        requests.wait { $0.count > 300 ? () : nil }
        await stage.stop()
        // The queue is full after some of them.
        #expect(requests.with { !$0.suffix(150).contains(true) && $0.contains(true) })
    }

    @Test func theEncoderIsMadeReadyBeforeThereIsAViewer() async throws {
        let stage = StillStage()
        stage.start()
        #expect(stage.encoder.prepared.wait { $0.first } == stage.screen.size)
        await stage.pipeline.stop()
        #expect(stage.screen.reads.with { $0 } == 0 && stage.encoder.requests.with { $0.isEmpty })
    }

    @Test func theFirstFrameIsMadeWhileTheViewerConnects() async throws {
        let stage = StillStage()
        stage.pipeline.change { $0.expected = $0.main.target }
        stage.start()
        stage.encoder.requests.wait { $0.count > 0 ? () : nil }
        #expect(stage.frames.main.oldest == nil)
        stage.pipeline.change {
            $0.main.isKeyframeWanted = true
            $0.main.isFirstFrameAwaited = true
            $0.main.isWanted = true
        }
        stage.ready.wait { $0 > 0 ? () : nil }
        await stage.pipeline.stop()
        #expect(stage.frames.main.oldest?.isKeyframe == true)
        #expect(stage.screen.reads.with { $0 } == 1)
        #expect(stage.encoder.requests.with { $0.map(\.isKeyframeRequested) } == [true])
    }

    /// At the bitrate that they can receive, and one key frame a second, although the screen changes all the time.
    @Test func viewersThatNeverConnectCostAKeyFrameASecond() async throws {
        let encoder = PlainEncoder()
        let requests = encoder.requests
        let clock = ClockworkStage.makeClock()
        let stage = ClockworkStage(clock, encoder) { _, _ in }
        stage.start(isWanted: false)
        let begin = clock.with { $0 }
        let end = begin + .seconds(10)
        var count = 0
        while clock.with({ $0 }) < end {
            count += 1
            stage.pipeline?.change { $0.expected = count % 2 == 0 ? nil : EncodingTarget(bitrate: .kilobits(700)) }
        }
        await stage.stop()
        let made = requests.with { $0 }
        #expect(made.count > 1 && made.count <= 12, "\(made.count) key frames")
        #expect(made.allSatisfy { $0.isKeyframeRequested && $0.bitrate == .kilobits(700) })
        #expect(stage.frames.with { $0.isEmpty })
    }

    /// Nothing of what was captured before is shown; in a freeze neither, as nobody has seen it.
    @Test(arguments: [BroadcastHold.pause, .blank, .freeze])
    func aHoldDropsTheFirstFrame(hold: BroadcastHold) async throws {
        let stage = StillStage()
        stage.pipeline.change { $0.expected = $0.main.target }
        stage.start()
        stage.encoder.requests.wait { $0.count > 0 ? () : nil }
        let begin = MonotonicClock.now
        stage.pipeline.set(hold)
        stage.screen.suspensions.wait { $0 > 0 ? () : nil }
        stage.pipeline.change { $0.main.isWanted = true }
        if hold == .pause {
            #expect(stage.frames.main.oldest == nil)
        } else {
            stage.ready.wait { $0 > 0 ? () : nil }
            #expect(stage.frames.main.oldest?.isBlank == true)
            while stage.frames.main.pop({ _, _ in }) {}
        }
        let held = stage.ready.with { $0 }
        stage.pipeline.set(nil)
        stage.ready.wait { $0 > held ? () : nil }
        await stage.pipeline.stop()
        let frame = try #require(stage.frames.main.oldest)
        #expect(!frame.isBlank && frame.captured > begin)
        // Viewers of the blank frame have got a key frame already.
        #expect(frame.isKeyframe == (hold == .pause))
    }

    /// A freeze of an earlier audience has ended.
    @Test func aFreezeShowsNothingOfAnEarlierOne() async throws {
        let stage = StillStage()
        stage.pipeline.change { $0.main.isWanted = true }
        stage.start()
        stage.ready.wait { $0 > 0 ? () : nil }
        stage.pipeline.set(.freeze)
        stage.screen.suspensions.wait { $0 > 0 ? () : nil }
        stage.pipeline.change {
            $0.main.isWanted = false
            $0.hold = nil
        }
        // It is still suspended, and has seen that the freeze is over.
        let waits = stage.screen.waits.with { $0 }
        while stage.screen.waits.with({ $0 }) < waits + 2 { stage.pipeline.change { _ in } }
        while stage.frames.main.pop({ _, _ in }) {}
        let shown = stage.ready.with { $0 }
        stage.pipeline.change {
            $0.hold = .freeze
            $0.main.isWanted = true
            $0.main.isKeyframeWanted = true
        }
        stage.ready.wait { $0 > shown ? () : nil }
        await stage.pipeline.stop()
        #expect(stage.frames.main.oldest?.isBlank == true)
    }

    /// Nobody has the frame that was made for a viewer that did not come, so the next one does not refer to it.
    @Test func theFrameAfterOneThatWasDroppedIsAKeyFrame() async throws {
        let stage = StillStage()
        stage.pipeline.change { $0.main.isWanted = true }
        stage.start()
        stage.ready.wait { $0 > 0 ? () : nil }
        while stage.frames.main.pop({ _, _ in }) {}
        stage.pipeline.change { $0.main.isWanted = false }
        stage.screen.suspensions.wait { $0 > 0 ? () : nil }
        let made = stage.encoder.requests.with { $0.count }
        stage.pipeline.change { $0.expected = $0.main.target }
        stage.encoder.requests.wait { $0.count > made ? () : nil }
        stage.pipeline.change { $0.expected = nil }
        stage.screen.suspensions.wait { $0 > 1 ? () : nil }
        stage.pipeline.change { $0.main.isWanted = true }
        stage.ready.wait { $0 > 1 ? () : nil }
        await stage.pipeline.stop()
        #expect(stage.frames.main.oldest?.isKeyframe == true)
    }

    @Test func nothingIsReadForAViewerThatConnectsDuringAHold() async throws {
        let stage = StillStage()
        stage.pipeline.change { $0.expected = $0.main.target }
        stage.pipeline.set(.blank)
        stage.pipeline.change { $0.main.isWanted = true }
        stage.start()
        stage.ready.wait { $0 > 0 ? () : nil }
        await stage.pipeline.stop()
        #expect(stage.frames.main.oldest?.isBlank == true)
        #expect(stage.screen.reads.with { $0 } == 0)
    }

    /// The pause begins while the screen is read for a viewer.
    @Test func whatWasReadWhenAPauseBeganIsNotEncoded() async throws {
        let stage = StillStage()
        stage.screen.onRead.with { $0 = { [weak pipeline = stage.pipeline] in pipeline?.set(.blank) } }
        stage.pipeline.change { $0.main.isWanted = true }
        stage.start()
        stage.ready.wait { $0 > 0 ? () : nil }
        await stage.pipeline.stop()
        #expect(stage.frames.main.oldest?.isBlank == true)
        #expect(stage.screen.reads.with { $0 } == 1)
    }

    /// The screen changes all the time, and yet the rest of a frame follows it at once, from the same canvas.
    @Test func whatBelongsToAFrameFollowsItAtOnce() async throws {
        let encoder = HalvingEncoder()
        let requests = encoder.requests
        let stage = ClockworkStage(ClockworkStage.makeClock(), encoder) { _, _ in }
        stage.start()
        stage.frames.wait { $0.count > 20 ? () : nil }
        await stage.stop()
        let frames = stage.frames.with { $0 }
        for (index, isRefinement) in requests.with({ $0 }).enumerated() { #expect(isRefinement == (index % 2 == 1)) }
        for index in stride(from: 1, to: frames.count, by: 2) {
            let (half, rest) = (frames[index - 1].info, frames[index].info)
            let distance = rest.captured - half.captured
            #expect(distance >= .milliseconds(1) && distance < .milliseconds(8))
            // The viewers have waited for both.
            #expect(rest.changedSince == half.changedSince)
        }
    }
}

// SAFETY: `pipeline` is set before its thread starts; the rest is in Monitors.
private final class ClockworkStage: @unchecked Sendable {
    struct Frame: Sendable {
        var info: FrameInfo
        var made: MediaInstant
    }

    let clock: Monitor<MediaInstant>
    let screen: RestlessScreen
    let frames = Monitor<[Frame]>([])
    private(set) var pipeline: VideoPipeline?
    private let take: @Sendable (ClockworkStage) -> Void

    /// The clock begins after zero, the initial time of an encoding's last frame.
    static func makeClock() -> Monitor<MediaInstant> { Monitor(MediaInstant(nanoseconds: 0) + .seconds(1)) }

    /// - Parameter body: called on the video thread after each frame, with the number of frames so far.
    init(
        _ clock: Monitor<MediaInstant> = makeClock(),
        _ encoder: sending any VideoEncoder = PlainEncoder(), takesFrames: Bool = true,
        _ body: @escaping @Sendable (ClockworkStage, Int) -> Void
    ) {
        self.clock = clock
        screen = RestlessScreen(clock)
        let queues = FrameQueues()
        pipeline = VideoPipeline(
            source: screen, encoder: encoder, limits: .init(framesPerSecond: 60, contentHint: .text),
            bitrate: .kilobits(5_000), frames: queues, clock: { Self.tick(clock) })
        take = { stage in
            guard takesFrames else { return }
            queues.main.pop { _, info in
                stage.frames.change { $0.append(Frame(info: info, made: clock.with { $0 })) }
            }
            body(stage, stage.frames.with { $0.count })
        }
    }

    func start(isWanted: Bool = true) {
        pipeline?.start(
            framesReady: { [weak self] in
                if let self { take(self) }
            }, failed: { _ in })
        pipeline?.change { $0.main.isWanted = isWanted }
    }

    func stop() async { await pipeline?.stop() }

    static func tick(_ clock: Monitor<MediaInstant>) -> MediaInstant {
        clock.with {
            $0 = $0 + .milliseconds(1)
            return $0
        }
    }
}

/// The video thread of a screen that does not change.
private struct StillStage {
    let screen = StillScreen()
    let encoder = PlainEncoder()
    let frames = FrameQueues()
    let ready = Monitor(0)
    let pipeline: VideoPipeline
    private let clock = ClockworkStage.makeClock()

    init() {
        let clock = clock
        pipeline = VideoPipeline(
            source: screen, encoder: encoder, limits: .init(framesPerSecond: 60), bitrate: .kilobits(5_000),
            frames: frames, clock: { ClockworkStage.tick(clock) })
    }

    func start() { pipeline.start(framesReady: { [ready] in ready.change { $0 += 1 } }, failed: { _ in }) }
}

/// A screen that changes all the time.
private final class RestlessScreen: ScreenSource, Sendable {
    let size = PixelSize(width: 64, height: 64)
    let summary = "a restless screen"
    let limitations: [String] = []
    /// When the screen was first damaged.
    let damage = Monitor<MediaInstant?>(nil)
    private let clock: Monitor<MediaInstant>

    init(_ clock: Monitor<MediaInstant>) { self.clock = clock }

    func wait(until deadline: MediaInstant?) throws(SourceFailure) -> ScreenEvent {
        let now = clock.with { $0 }
        damage.change { $0 = $0 ?? now }
        return .damaged
    }

    func read(into canvas: I420Buffer, changed: inout BlockMap) throws(SourceFailure) -> MediaInstant {
        changed.fill()
        return clock.with { $0 }
    }

    func damageEverything() {}
    func wake() {}
    func close() {}
}

/// Makes each change in two frames.
private final class HalvingEncoder: VideoEncoder {
    var contentHint = ContentHint.text
    var unrefined: BlockMap? { nil }
    private(set) var hasUncodedChanges = false
    var continuesAtOnce: Bool { hasUncodedChanges }
    let requests = Monitor<[Bool]>([])
    private let plain = PlainEncoder()

    func encode(
        _ canvas: I420Buffer, changed: BlockMap, at instant: MediaInstant, _ request: VideoEncodeRequest
    ) throws(CodecFailure) -> EncodedFrame? {
        requests.change { $0.append(request.isRefinement) }
        hasUncodedChanges = !request.isRefinement
        return try plain.encode(canvas, changed: changed, at: instant, request)
    }

    func makeAnother() -> any VideoEncoder { HalvingEncoder() }
}

/// Takes 200 ms for a frame, and always has blocks to refine.
private final class SlowEncoder: VideoEncoder {
    var contentHint = ContentHint.text
    let unrefined: BlockMap?
    var hasUncodedChanges: Bool { false }
    let requests = Monitor<[VideoEncodeRequest]>([])
    private let clock: Monitor<MediaInstant>
    private let plain = PlainEncoder()

    init(_ clock: Monitor<MediaInstant>) {
        self.clock = clock
        var blocks = BlockMap(PixelSize(width: 64, height: 64))
        blocks.fill()
        unrefined = blocks
    }

    func encode(
        _ canvas: I420Buffer, changed: BlockMap, at instant: MediaInstant, _ request: VideoEncodeRequest
    ) throws(CodecFailure) -> EncodedFrame? {
        clock.with { $0 = $0 + .milliseconds(200) }
        requests.change { $0.append(request) }
        return try plain.encode(canvas, changed: changed, at: instant, request)
    }

    func makeAnother() -> any VideoEncoder { SlowEncoder(clock) }
}
