import MediaCore
import Testing

@testable import TestSource

@Suite struct TestVideoSourceTests {
    private func color(_ canvas: I420Buffer, _ rect: PixelRect) -> [UInt8] {
        let x = rect.x + rect.width / 2
        let y = rect.y + rect.height / 2
        return [
            canvas.y[y * canvas.strideY + x], canvas.u[y / 2 * canvas.strideC + x / 2],
            canvas.v[y / 2 * canvas.strideC + x / 2],
        ]
    }

    @Test(arguments: [TestVideoSource.defaultSize, TestPattern.smallestSize, PixelSize(width: 1366, height: 768)])
    func cornersHaveTheirColours(size: PixelSize) {
        let source = TestVideoSource(size: size, framesPerSecond: 0)
        let canvas = I420Buffer(size)
        var changed = BlockMap(size)
        #expect(source.wait(until: nil) == .damaged)
        _ = source.read(into: canvas, changed: &changed)
        #expect(changed.count == changed.blocks.count)
        #expect(color(canvas, source.pattern.red) == [82, 90, 240])
        #expect(color(canvas, source.pattern.green) == [145, 54, 34])
        #expect(color(canvas, source.pattern.blue) == [41, 240, 110])
        #expect(color(canvas, source.pattern.white) == [235, 128, 128])
        #expect(source.pattern.frameNumber(in: canvas.frame) == 0)
    }

    @Test func partsDoNotOverlap() {
        for size in [TestVideoSource.defaultSize, TestPattern.smallestSize, PixelSize(width: 736, height: 300)] {
            let pattern = TestPattern(size)
            let parts =
                [pattern.red, pattern.green, pattern.blue, pattern.white, pattern.text, pattern.track] + pattern.cells
            for (index, a) in parts.enumerated() {
                #expect(a.clipped(to: size) == a && !a.isEmpty)
                for b in parts[(index + 1)...] {
                    #expect(!(a.x < b.maxX && b.x < a.maxX && a.y < b.maxY && b.y < a.maxY), "\(a) and \(b) in \(size)")
                }
            }
        }
    }

    /// The map contains exactly the blocks that differ, in each frame.
    @Test func changedBlocksAreThoseThatDiffer() {
        let source = TestVideoSource(size: PixelSize(width: 640, height: 360), framesPerSecond: 200)
        let canvas = I420Buffer(source.size)
        var changed = BlockMap(source.size)
        _ = source.read(into: canvas, changed: &changed)
        var numbers: [Int] = []
        for _ in 0..<30 {
            let before = pixels(canvas)
            changed.clear()
            #expect(source.wait(until: nil) == .damaged)
            _ = source.read(into: canvas, changed: &changed)
            let after = pixels(canvas)
            var wanted = BlockMap(source.size)
            for y in 0..<360 {
                for x in 0..<640 where before[y * 640 + x] != after[y * 640 + x] {
                    wanted.insert(PixelRect(x: x, y: y, width: 1, height: 1))
                }
            }
            #expect(zip(wanted.blocks, changed.blocks).allSatisfy { $0 <= $1 }, "a change is not in the map")
            #expect(changed.count <= 40)
            if let number = source.pattern.frameNumber(in: canvas.frame) { numbers.append(number) }
        }
        #expect(numbers.count == 30)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test(arguments: [TestVideoSource.defaultSize, TestPattern.smallestSize])
    func movingDrawsWhatAFreshCanvasShows(size: PixelSize) {
        let pattern = TestPattern(size)
        let moving = I420Buffer(size)
        pattern.drawAll(0, on: moving)
        var changed = BlockMap(size)
        var old = 0
        for frame in [1, 2, 3, 40, 255, 256, 1_000, 65_535] {
            pattern.drawMoving(frame, old: old, on: moving, changed: &changed)
            old = frame
            let fresh = I420Buffer(size)
            pattern.drawAll(frame, on: fresh)
            #expect(pixels(moving) == pixels(fresh), "frame \(frame)")
            #expect(pattern.frameNumber(in: moving.frame) == frame)
        }
    }

    @Test func stillTestVideoWakesOnlyOnRequest() {
        let source = TestVideoSource(framesPerSecond: 0)
        let canvas = I420Buffer(source.size)
        var changed = BlockMap(source.size)
        _ = source.read(into: canvas, changed: &changed)
        source.wake()
        #expect(source.wait(until: nil) == .woken)
    }

    private func pixels(_ canvas: I420Buffer) -> [UInt8] {
        var all: [UInt8] = []
        for row in 0..<canvas.size.height {
            all += UnsafeBufferPointer(start: canvas.y + row * canvas.strideY, count: canvas.size.width)
        }
        return all
    }
}
