import MediaCore
import Testing

@testable import WindowPlayout

struct FrameDoubleBufferTests {
    private func pending(_ shadow: FrameDoubleBuffer) -> PixelRect? {
        shadow.withFrame { _, pending in
            defer { pending.clear() }
            return pending.isEmpty ? nil : pending.bounds
        } ?? nil
    }

    @Test func firstFrameIsNewEverywhere() {
        let shadow = FrameDoubleBuffer()
        let canvas = I420Buffer(PixelSize(width: 100, height: 50))
        #expect(shadow.size == nil)
        #expect(shadow.update(canvas.frame))
        #expect(pending(shadow) == PixelRect(canvas.size))
    }

    @Test func sameFrameIsNotPresentedAgain() {
        let shadow = FrameDoubleBuffer()
        let canvas = I420Buffer(PixelSize(width: 100, height: 50))
        #expect(shadow.update(canvas.frame))
        _ = pending(shadow)
        #expect(!shadow.update(canvas.frame))
        #expect(pending(shadow) == nil)
    }

    @Test(arguments: [(0, 0), (99, 49), (96, 48), (50, 17)]) func onePixelIsOneBlock(x: Int, y: Int) {
        let shadow = FrameDoubleBuffer()
        let canvas = I420Buffer(PixelSize(width: 100, height: 50))
        _ = shadow.update(canvas.frame)
        _ = pending(shadow)
        canvas.y[y * canvas.strideY + x] = 99
        #expect(shadow.update(canvas.frame))
        let block = PixelRect(x: x & ~15, y: y & ~15, width: 16, height: 16).clipped(to: canvas.size)
        #expect(pending(shadow) == block)
        #expect(!shadow.update(canvas.frame))
        canvas.v[y / 2 * canvas.strideC + x / 2] = 3
        #expect(shadow.update(canvas.frame))
        #expect(pending(shadow) == block)
        #expect(!shadow.update(canvas.frame))
    }

    @Test func framesThatWereNotPresentedAddUp() {
        let shadow = FrameDoubleBuffer()
        let canvas = I420Buffer(PixelSize(width: 160, height: 64))
        _ = shadow.update(canvas.frame)
        _ = pending(shadow)
        canvas.y[0] = 50
        _ = shadow.update(canvas.frame)
        canvas.y[63 * canvas.strideY + 159] = 50
        _ = shadow.update(canvas.frame)
        #expect(pending(shadow) == PixelRect(canvas.size))
    }

    /// The presenter uploads in `withFrame`; a lock held there would trap here.
    @Test func framesAreTakenWhileTheLastOneIsPresented() {
        let shadow = FrameDoubleBuffer()
        let canvas = I420Buffer(PixelSize(width: 100, height: 50))
        _ = shadow.update(canvas.frame)
        let shown = shadow.withFrame { frame, pending -> UInt8 in
            pending.clear()
            canvas.y[0] = 99
            #expect(shadow.update(canvas.frame))
            return frame.y[0]
        }
        #expect(shown == 16)
        #expect(shadow.withFrame { frame, _ in frame.y[0] } == 99)
        #expect(pending(shadow) == PixelRect(x: 0, y: 0, width: 16, height: 16))
    }

    @Test func aFrameOfAnotherSizeReplacesTheLastOne() {
        let shadow = FrameDoubleBuffer()
        let small = I420Buffer(PixelSize(width: 32, height: 32))
        _ = shadow.update(small.frame)
        _ = pending(shadow)
        let large = I420Buffer(PixelSize(width: 64, height: 48))
        large.y[0] = 77
        #expect(shadow.update(large.frame))
        #expect(shadow.withFrame { frame, _ in frame.size } == large.size)
        #expect(shadow.withFrame { frame, _ in frame.y[0] } == 77)
        #expect(pending(shadow) == PixelRect(large.size))
    }

    private func time(_ milliseconds: Int) -> MediaInstant {
        MediaInstant(nanoseconds: 0) + .milliseconds(milliseconds)
    }

    /// Frames of one colour each.
    private func show(_ luma: UInt8, at time: MediaInstant?, _ shadow: FrameDoubleBuffer) {
        let canvas = I420Buffer(PixelSize(width: 32, height: 32))
        canvas.y[0] = luma
        #expect(shadow.update(canvas.frame, at: time))
    }

    private func shown(_ shadow: FrameDoubleBuffer) -> UInt8? { shadow.withFrame { frame, _ in frame.y[0] } }

    @Test func framesArePresentedInOrderAndNotBeforeTheirTime() {
        let shadow = FrameDoubleBuffer()
        show(1, at: nil, shadow)
        show(2, at: time(100), shadow)
        show(3, at: time(90), shadow)
        // A frame without a time is presented after the others.
        show(4, at: nil, shadow)
        show(5, at: time(120), shadow)
        #expect(shadow.takeDue(time(99)) == time(100))
        #expect(shown(shadow) == 1)
        #expect(shadow.takeDue(time(100)) == time(120))
        #expect(shown(shadow) == 4)
        #expect(shadow.takeDue(time(121)) == nil)
        #expect(shown(shadow) == 5)
        show(6, at: nil, shadow)
        #expect(shown(shadow) == 6)
    }

    @Test func aFullQueuePresentsTheOldestFrameEarly() {
        let shadow = FrameDoubleBuffer()
        for number in 0..<PresentationQueue.capacity { show(UInt8(100 + number), at: time(100 + number), shadow) }
        #expect(shown(shadow) == nil)
        show(200, at: time(200), shadow)
        #expect(shown(shadow) == 100)
        #expect(shadow.takeDue(time(50)) == time(101))
    }

    @Test func largeFramesFillTheQueueSooner() {
        var queue = PresentationQueue()
        let large = PixelSize(width: 3_840, height: 2_160)
        #expect(!queue.isFull(for: large))
        let canvas = I420Buffer(large)
        for number in 0..<5 { queue.append(canvas.frame, at: time(number)) }
        #expect(queue.isFull(for: large))
        queue.takeFirst { #expect($0.size == large) }
        #expect(!queue.isFull(for: large))
    }

    @Test func smallFramesMakeNoRoomForManyLargeOnes() {
        let shadow = FrameDoubleBuffer()
        let small = I420Buffer(PixelSize(width: 16, height: 16))
        let large = I420Buffer(PixelSize(width: 3_840, height: 2_160))
        for number in 0..<31 { _ = shadow.update(small.frame, at: time(100 + number)) }
        for number in 0..<5 { _ = shadow.update(large.frame, at: time(200 + number)) }
        #expect(shadow.size == small.size)
        // Five of them fill the queue.
        _ = shadow.update(large.frame, at: time(205))
        #expect(shadow.size == large.size)
    }

    @Test(arguments: 1...40) func rectanglesCoverTheMapOnce(seed: Int) {
        var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15
        var map = BlockMap(PixelSize(width: 330, height: 186))
        for index in map.blocks.indices {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            map.blocks[index] = (state >> 40) % 7 < UInt64(seed % 7) ? 1 : 0
        }
        var rectangles = BlockRectangles()
        rectangles.update(covering: map)
        var covered = [Int](repeating: 0, count: map.blocks.count)
        for rect in rectangles.rectangles {
            #expect(rect == rect.clipped(to: map.size))
            for y in stride(from: rect.y, to: rect.maxY, by: 16) {
                for x in stride(from: rect.x, to: rect.maxX, by: 16) { covered[y / 16 * map.columns + x / 16] += 1 }
            }
        }
        for (index, count) in covered.enumerated() {
            #expect(count <= 1)
            if map.blocks[index] != 0 { #expect(count == 1, "block \(index) of seed \(seed)") }
        }
    }
}
