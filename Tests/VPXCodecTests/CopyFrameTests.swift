import MediaCore
import TestSupport
import Testing
import VPXCodec
import VideoBitstream

/// Copy frames: content that has moved is moved at the viewers too, for a few hundred bytes.
@Suite struct CopyFrameTests {
    /// One change of the canvas, and all frames that follow at once.
    private struct Change {
        var sizes: [Int] = []
        var copies = 0
    }

    private static func show(_ pair: CodecPair, _ canvas: I420Buffer, _ changed: BlockMap) throws -> Change {
        var change = Change()
        var step = try pair.step(canvas, changed)
        while let made = step {
            change.sizes.append(made.bytes.count)
            guard pair.encoder.continuesAtOnce else { break }
            change.copies += 1
            step = try pair.step(canvas, BlockMap(canvas.size), isRefinement: true, after: .milliseconds(1))
        }
        return change
    }

    /// Refines until nothing is left.
    private static func settle(_ pair: CodecPair, _ canvas: I420Buffer) throws -> Double {
        for _ in 0..<100 where pair.encoder.unrefined != nil {
            _ = try pair.step(canvas, BlockMap(canvas.size), isRefinement: true, after: .milliseconds(200))
        }
        #expect(pair.encoder.unrefined == nil)
        // A frame in which nothing changes says what the viewer has.
        var changed = BlockMap(canvas.size)
        changed.insert(PixelRect(x: 0, y: 0, width: 16, height: 16))
        let step = try #require(try pair.step(canvas, changed))
        return lumaPSNR(step.decoded, canvas.frame)
    }

    @Test(arguments: [1, 2, 7, 18, 19, 54, 90, 177, 255])
    func aScrolledPageCostsItsNewLines(distance: Int) throws {
        let size = PixelSize(width: 640, height: 480)
        let canvas = I420Buffer(size)
        let text = SmoothText(width: 640, background: 235, foreground: 30, seed: 3, lines: 400)
        let pair = CodecPair()
        var place = 2_000
        text.show(on: canvas, scrolled: place)
        var changed = BlockMap(size, filled: true)
        _ = try Self.show(pair, canvas, changed)
        // What is new in each step, coded alone.
        var (copied, alone, copies) = (0, 0, 0)
        for step in 0..<24 {
            place += step % 12 < 6 ? distance : -distance
            text.show(on: canvas, scrolled: place)
            changed.fill()
            let change = try Self.show(pair, canvas, changed)
            copied += change.sizes.reduce(0, +)
            copies += change.copies
            alone += distance
        }
        // The first step frees the last frame of the key frame's other buffers.
        #expect(copies == 23)
        let psnr = try Self.settle(pair, canvas)
        print("COPY", distance, copied / 24, psnr)
        #expect(psnr > 44)
    }
}
