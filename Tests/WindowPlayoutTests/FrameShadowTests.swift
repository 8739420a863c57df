import MediaCore
import Testing

@testable import WindowPlayout

struct FrameShadowTests {
    private func pending(_ shadow: FrameShadow) -> PixelRect? {
        shadow.withFrame { _, pending in
            defer { pending.clear() }
            return pending.isEmpty ? nil : pending.bounds
        } ?? nil
    }

    @Test func firstFrameIsNewEverywhere() {
        let shadow = FrameShadow()
        let canvas = I420Buffer(PixelSize(width: 100, height: 50))
        #expect(shadow.size == nil)
        #expect(shadow.update(canvas.frame))
        #expect(pending(shadow) == PixelRect(canvas.size))
    }

    @Test func sameFrameIsNotPresentedAgain() {
        let shadow = FrameShadow()
        let canvas = I420Buffer(PixelSize(width: 100, height: 50))
        #expect(shadow.update(canvas.frame))
        _ = pending(shadow)
        #expect(!shadow.update(canvas.frame))
        #expect(pending(shadow) == nil)
    }

    @Test(arguments: [(0, 0), (99, 49), (96, 48), (50, 17)]) func onePixelIsOneBlock(x: Int, y: Int) {
        let shadow = FrameShadow()
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
        let shadow = FrameShadow()
        let canvas = I420Buffer(PixelSize(width: 160, height: 64))
        _ = shadow.update(canvas.frame)
        _ = pending(shadow)
        canvas.y[0] = 50
        _ = shadow.update(canvas.frame)
        canvas.y[63 * canvas.strideY + 159] = 50
        _ = shadow.update(canvas.frame)
        #expect(pending(shadow) == PixelRect(canvas.size))
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
