import MediaCore
import TestSupport
import Testing

@testable import VPXCodec

@Suite struct BudgetTests {
    static let size = PixelSize(width: 320, height: 192)
    static let start = MediaInstant(nanoseconds: 1)

    func meter(_ draw: (I420Buffer) -> Void) -> ContentClassifier {
        let canvas = I420Buffer(Self.size)
        draw(canvas)
        return ContentClassifier(canvas.frame, nil)
    }

    func text() -> ContentClassifier { meter { TextPage.draw(on: $0, rect: PixelRect(Self.size), seed: 3) } }

    func film() -> ContentClassifier {
        meter { canvas in
            var random = SeededGenerator(seed: 4)
            for i in 0..<canvas.strideY * Self.size.height {
                canvas.y[i] = UInt8(60 + i % 97 + Int.random(in: 0...9, using: &random))
            }
        }
    }

    @Test func textIsDistinguishedFromVideo() {
        #expect(text().isDrawn)
        #expect(!film().isDrawn)
        // A smooth gradient, such as a sky, has many equal neighbours and still is natural video.
        let sky = meter { canvas in
            for i in 0..<canvas.strideY * Self.size.height { canvas.y[i] = UInt8(90 + i % canvas.strideY / 3) }
        }
        #expect(!sky.isDrawn)
        #expect(meter { _ in }.isDrawn)
        #expect(meter { _ in }.activity == 0)
    }

    @Test func meterLooksAtTheMapOnly() {
        let canvas = I420Buffer(Self.size)
        TextPage.draw(on: canvas, rect: PixelRect(x: 0, y: 0, width: 320, height: 96), seed: 3)
        var lower = BlockMap(Self.size)
        lower.insert(PixelRect(x: 0, y: 96, width: 320, height: 96))
        let content = ContentClassifier(canvas.frame, lower)
        #expect(content.blocks == 120)
        #expect(content.activity == 0)
        #expect(ContentClassifier(canvas.frame, BlockMap(Self.size)).blocks == 0)
    }

    @Test(arguments: [false, true])
    func smallerBudgetsNeverGetBetterQuantizers(isDrawn: Bool) {
        let content = isDrawn ? text() : film()
        var last = 0
        for budget in [1_000_000, 100_000, 30_000, 10_000, 3_000, 1_000, 0, -5] {
            let quantizer = FrameSizePredictor().quantizer(
                for: content, of: 240, isKeyframe: true, budget: budget, in: 6...52, at: Self.start)
            #expect(quantizer >= last)
            last = quantizer
        }
        #expect(last == 52)
    }

    @Test(arguments: [false, true])
    func curveFalls(isDrawn: Bool) {
        for quantizer in 0..<63 {
            #expect(
                FrameSizePredictor.scale(quantizer, isDrawn: isDrawn)
                    > FrameSizePredictor.scale(quantizer + 1, isDrawn: isDrawn))
        }
        #expect(FrameSizePredictor.scale(-1, isDrawn: isDrawn) == FrameSizePredictor.scale(0, isDrawn: isDrawn))
        #expect(FrameSizePredictor.scale(99, isDrawn: isDrawn) == FrameSizePredictor.scale(63, isDrawn: isDrawn))
    }

    @Test func aLowCostIsExpectedToLastForAMoment() {
        var model = FrameSizePredictor()
        let content = text()
        func quantizer(at instant: MediaInstant) -> Int {
            model.quantizer(for: content, of: 240, isKeyframe: false, budget: 4_000, in: 6...52, at: instant)
        }
        let before = quantizer(at: Self.start)
        var now = Self.start
        for _ in 0..<8 {
            now = now + .milliseconds(33)
            model.learn(from: content, of: 240, isKeyframe: false, quantizer: 20, bytes: 700, at: now)
        }
        #expect(quantizer(at: now + .milliseconds(33)) < before)
        #expect(quantizer(at: now + .seconds(2)) == before)
    }

    /// Its sizes may follow another curve: large steps would swing to and fro.
    @Test func theQuantizerOfSimilarContentFallsBySmallSteps() {
        var model = FrameSizePredictor()
        let content = text()
        func quantizer(for content: ContentClassifier, _ budget: Int, at instant: MediaInstant) -> Int {
            model.quantizer(for: content, of: 240, isKeyframe: false, budget: budget, in: 6...52, at: instant)
        }
        model.learn(from: content, of: 240, isKeyframe: false, quantizer: 40, bytes: 700, at: Self.start)
        let next = Self.start + .milliseconds(33)
        #expect(quantizer(for: content, 100_000, at: next) == 37)
        #expect(quantizer(for: content, 0, at: next) == 52)
        var larger = content
        larger += content
        #expect(quantizer(for: larger, 100_000, at: next) == 6)
        #expect(quantizer(for: content, 100_000, at: Self.start + .milliseconds(250)) == 6)
    }

    @Test func whatIsOwedIsPaidBackByAQuarterOfAFrame() {
        let budget = VP8Encoder.Budget(.kilobits(2_400), nil, .text)
        #expect(
            [0, 9_999, 10_000, 20_000, 75_000, 90_000].map { budget.bytes(credit: $0) } == [
                10_000, 10_000, 10_000, 20_000, 75_000, 75_000,
            ])
        #expect([-8, -8_000, -20_000, -100_000].map { budget.bytes(credit: $0) } == [9_999, 9_000, 7_500, 7_500])
    }

    @Test func modelLearnsWhatKeyframesCost() {
        var model = FrameSizePredictor()
        let content = text()
        for _ in 0..<8 {
            model.learn(from: content, of: 240, isKeyframe: true, quantizer: 20, bytes: 9_000, at: Self.start)
        }
        let quantizer = model.quantizer(
            for: content, of: 240, isKeyframe: true, budget: 9_100, in: 6...52, at: Self.start)
        #expect((19...22).contains(quantizer))
    }

    @Test func bucketFillsByTimeAndNoFurtherThanItsCapacity() {
        var bucket = FrameByteBudget()
        bucket.fill(at: Self.start, bitrate: .kilobits(800), capacity: 25_000)
        #expect(bucket.credit == 25_000)
        bucket.spend(40_000)
        #expect(bucket.credit == -15_000)
        bucket.fill(at: Self.start + .milliseconds(100), bitrate: .kilobits(800), capacity: 25_000)
        #expect(bucket.credit == -5_000)
        bucket.fill(at: Self.start + .seconds(60), bitrate: .kilobits(800), capacity: 25_000)
        #expect(bucket.credit == 25_000)
        // A clock that goes backwards does not reduce the credit.
        bucket.fill(at: Self.start, bitrate: .kilobits(800), capacity: 25_000)
        #expect(bucket.credit == 25_000)
        bucket.fill(at: Self.start + .seconds(61), bitrate: .kilobits(800), capacity: 5_000)
        #expect(bucket.credit == 5_000)
    }

    /// What is overdrawn is a time at the bitrate.
    @Test func aDropOfTheBitrateMakesNoLongPause() {
        var bucket = FrameByteBudget()
        bucket.fill(at: Self.start, bitrate: .kilobits(4_000), capacity: 20_000)
        bucket.spend(60_000)
        bucket.fill(at: Self.start + .milliseconds(10), bitrate: .kilobits(400), capacity: 20_000)
        #expect(bucket.credit == -4_000 + 500)
        bucket.fill(at: Self.start + .milliseconds(20), bitrate: .kilobits(4_000), capacity: 20_000)
        #expect(bucket.credit == -3_500 + 5_000)
    }

    @Test func textDropsFramesWhereMotionSoftens() throws {
        func run(_ contentHint: ContentHint) throws -> (dropped: Int, worst: Int) {
            let size = PixelSize(width: 640, height: 368)
            let canvas = I420Buffer(size)
            let pair = CodecPair()
            pair.encoder.contentHint = contentHint
            pair.bitrate = .kilobits(2_500)
            TextPage.draw(on: canvas, rect: PixelRect(size), seed: 0)
            _ = try pair.step(canvas, BlockMap(size, filled: true))
            var (dropped, worst) = (0, 0)
            for seed in 1..<90 as Range<UInt64> {
                TextPage.draw(on: canvas, rect: PixelRect(x: 0, y: 0, width: 640, height: 112), seed: seed)
                var changed = BlockMap(size)
                changed.insert(PixelRect(x: 0, y: 0, width: 640, height: 112))
                if let step = try pair.step(canvas, changed) {
                    worst = max(worst, step.frame.quantizer)
                } else {
                    dropped += 1
                }
            }
            return (dropped, worst)
        }
        let text = try run(.text)
        let motion = try run(.motion)
        #expect(text.worst <= 44)
        #expect(motion.worst > 44)
        #expect(motion.dropped < text.dropped)
    }

    /// Each frame is a page of new text. Sharp frames would take 40 ms each and exceed the bitrate.
    @Test func aContinuouslyChangingPageIsCoarseUntilItStops() throws {
        let size = PixelSize(width: 640, height: 368)
        let canvas = I420Buffer(size)
        let pair = CodecPair()
        pair.bitrate = .kilobits(8_000)
        var dropped = 0
        var last = 0
        for seed in 0..<40 as Range<UInt64> {
            TextPage.draw(on: canvas, rect: PixelRect(size), seed: seed)
            if let step = try pair.step(canvas, BlockMap(size, filled: true)) {
                last = step.frame.quantizer
            } else {
                dropped += 1
            }
        }
        #expect(last >= 40)
        #expect(dropped <= 10)
        #expect(pair.encoder.unrefined != nil, "coarse and yet not to be refined")
    }
}
