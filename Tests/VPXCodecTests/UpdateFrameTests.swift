import MediaCore
import TestSupport
import Testing
import VPXCodec

/// Small changes are coded without libvpx, which goes on from what viewers see after them.
@Suite struct UpdateFrameTests {
    private static let size = PixelSize(width: 640, height: 376)

    /// Small and large changes, scrolls, refinement, stored references, recoveries and layers follow each other at random. In
    /// the end each block is as sharp as ever, which it is not if encoder and viewer differ.
    /// - Parameter recovers: there are recovery frames. Otherwise the frames of libvpx change the probabilities of later ones.
    @Test(arguments: 1...4 as ClosedRange<UInt64>, [true, false])
    func viewersSeeTheCanvasWhateverFollows(seed: UInt64, recovers: Bool) throws {
        var sizes: [Int] = []
        for usesUpdateFrames in [true, false] {
            var random = SeededGenerator(seed: seed)
            let stage = Stage(usesUpdateFrames)
            stage.request.allowsRecoveryFrames = recovers
            try stage.show(BlockMap(Self.size, filled: true))
            for step in 0..<150 {
                stage.request.storesLongTermReference = random.chance(5)
                stage.request.recoveryReference = random.chance(3) ? stage.stored : nil
                stage.request.layering = random.chance(10) ? .init(baseBitrate: .kilobits(30_000)) : nil
                var changed = BlockMap(Self.size)
                switch random.below(10) {
                case 0: changed = stage.scroll(by: 1 + random.below(60))
                case 1: changed = stage.draw(PixelRect(Self.size), seed: UInt64(step))
                case 2:
                    stage.request.isRefinement = true
                default:
                    let rect = PixelRect(
                        x: random.below(500) & ~1, y: random.below(300) & ~1, width: 16 + random.below(120) & ~1,
                        height: 16 + random.below(60) & ~1)
                    changed = stage.draw(rect, seed: seed &+ UInt64(step))
                }
                try stage.show(changed)
                stage.request.isRefinement = false
            }
            try stage.settle()
            sizes.append(stage.bytes)
        }
        #expect(sizes[0] != sizes[1])
    }

    /// Fewer than libvpx takes.
    @Test func aTypedLetterTakesFewBytes() throws {
        var sizes: [Int] = []
        for usesUpdateFrames in [true, false] {
            let stage = Stage(usesUpdateFrames)
            try stage.show(BlockMap(Self.size, filled: true))
            try stage.settle()
            stage.bytes = 0
            for step in 0..<20 {
                try stage.show(stage.draw(PixelRect(x: 16 * step, y: 160, width: 16, height: 16), seed: UInt64(step)))
            }
            sizes.append(stage.bytes)
        }
        #expect(sizes[0] < sizes[1], "\(sizes)")
    }

    private final class Stage {
        let encoder = VP8Encoder()
        let decoder = VP8Decoder()
        let canvas = I420Buffer(UpdateFrameTests.size)
        var request = VideoEncodeRequest(bitrate: .kilobits(40_000))
        var now = MediaInstant(nanoseconds: 5_000_000_000)
        var bytes = 0
        var stored: UInt32?

        init(_ usesUpdateFrames: Bool) {
            encoder.usesUpdateFrames = usesUpdateFrames
            request.allowsRecoveryFrames = true
            TextPage.draw(on: canvas, rect: PixelRect(canvas.size), seed: 7)
        }

        func draw(_ rect: PixelRect, seed: UInt64) -> BlockMap {
            TextPage.draw(on: canvas, rect: rect, seed: seed)
            var map = BlockMap(canvas.size)
            map.insert(rect)
            return map
        }

        func scroll(by distance: Int) -> BlockMap {
            for row in 0..<canvas.size.height - distance {
                (canvas.y + row * canvas.strideY).update(
                    from: canvas.y + (row + distance) * canvas.strideY, count: canvas.size.width)
            }
            let (top, height) = ((canvas.size.height - distance) & ~1, (distance + 1) & ~1)
            _ = draw(PixelRect(x: 0, y: top, width: canvas.size.width, height: height), seed: UInt64(distance))
            return BlockMap(canvas.size, filled: true)
        }

        /// Also what is due at once.
        func show(_ changed: BlockMap) throws {
            now = now + .milliseconds(33)
            var changed = changed
            repeat {
                guard let frame = try encoder.encode(canvas, changed: changed, at: now, request) else { return }
                bytes += frame.bytes.count
                if frame.layer == 0, frame.references.stored != nil || frame.isKeyframe {
                    stored = frame.references.number
                }
                _ = try #require(try decoder.decode(frame.bytes))
                changed.clear()
                now = now + .milliseconds(1)
            } while encoder.continuesAtOnce
        }

        func settle() throws {
            request.layering = nil
            request.recoveryReference = nil
            request.storesLongTermReference = false
            for _ in 0..<200 where encoder.unrefined != nil || encoder.hasUncodedChanges {
                request.isRefinement = true
                now = now + .milliseconds(100)
                try show(BlockMap(canvas.size))
            }
            request.isRefinement = false
            #expect(encoder.unrefined == nil && !encoder.hasUncodedChanges)
            now = now + .milliseconds(100)
            var changed = BlockMap(canvas.size)
            changed.insert(PixelRect(x: 0, y: 0, width: 16, height: 16))
            let frame = try #require(try encoder.encode(canvas, changed: changed, at: now, request))
            let shown = try #require(try decoder.decode(frame.bytes))
            var worst = 0
            for row in 0..<canvas.size.height {
                for column in 0..<canvas.size.width {
                    let here = Int(canvas.y[row * canvas.strideY + column])
                    worst = max(worst, abs(here - Int(shown.y[row * shown.strideY + column])))
                }
            }
            #expect(worst <= 16, "\(worst)")
        }
    }
}
