import MediaCore
import TestSupport
import Testing
import VPXCodec

/// All that the encoder does at once, on screens of any size: text, scrolling, windows that are dragged, video, flicker;
/// regions, layers, long-term references, losses, any bitrate. In the end all viewers show the host's screen.
@Suite struct RandomScreenTests {
    private static let sizes = [
        (2, 2), (16, 16), (18, 34), (50, 300), (98, 62), (646, 34), (352, 232), (334, 198),
    ].map { PixelSize(width: $0.0, height: $0.1) }

    /// A viewer that gets the base layer and loses frames, and the long-term references that it holds.
    private struct LossyViewer {
        let decoder = VP8Decoder()
        var held: [ReferenceSlot: UInt32] = [:]
        var isBehind = false
        var recoveries = 0
        var newest: UInt32? { held.values.max() }

        /// - Returns: what is shown; nil if the frame is of no use to the viewer.
        mutating func take(_ frame: EncodedFrame, isLost: Bool) throws -> [[UInt8]]? {
            guard !isLost else {
                isBehind = true
                return nil
            }
            if frame.isKeyframe {
                for slot in ReferenceSlot.allCases { held[slot] = frame.references.number }
            } else if let source = frame.references.source {
                guard held[source.slot] == source.number else {
                    isBehind = true
                    return nil
                }
                recoveries += isBehind ? 1 : 0
            } else if isBehind {
                return nil
            }
            isBehind = false
            if let slot = frame.references.stored { held[slot] = frame.references.number }
            let shown = try #require(try decoder.decode(frame.bytes))
            return blocks(of: shown)
        }
    }

    private struct Viewers {
        let full = VP8Decoder()
        let base = VP8Decoder()
        var lossy = LossyViewer()
        var fullBlocks: [[UInt8]] = []
        var baseBlocks: [[UInt8]] = []
        var lossyBlocks: [[UInt8]] = []
        var last: I420Frame?

        mutating func take(_ frame: EncodedFrame, isLost: Bool) throws {
            last = try full.decode(frame.bytes)
            fullBlocks = blocks(of: try #require(last))
            guard frame.layer == 0 else { return }
            baseBlocks = blocks(of: try #require(try base.decode(frame.bytes)))
            guard let shown = try lossy.take(frame, isLost: isLost) else { return }
            lossyBlocks = shown
            #expect(shown == baseBlocks)
        }
    }

    @Test(arguments: sizes, 1...3 as ClosedRange<UInt64>)
    func allViewersEndUpWithTheHostsScreen(size: PixelSize, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &* 977 &+ UInt64(size.width * 4_096 + size.height))
        let screen = RandomScreen(size)
        let encoder = VP8Encoder()
        var viewers = Viewers()
        var now = MediaInstant(nanoseconds: 5_000_000_000)
        for step in 0..<220 {
            screen.change(&random)
            now = now + .milliseconds(Int.random(in: 4...120, using: &random))
            var request = VideoEncodeRequest(
                bitrate: .kilobits(Int.random(in: 60...8_000, using: &random)),
                isKeyframeRequested: random.chance(2), isRefinement: screen.changed.isEmpty,
                byteBudget: random.chance(50) ? nil : Int.random(in: 300...40_000, using: &random))
            request.separatesRegions = seed != 3
            // With two layers for a while, and with one.
            if seed != 2, step / 40 % 2 == 1 {
                let base = Bitrate(bitsPerSecond: request.bitrate.bitsPerSecond * 2 / 3)
                request.layering = .init(baseBitrate: base, isBaseBlocked: random.chance(20))
            }
            encoder.contentHint = random.chance(70) ? .text : .motion
            request.allowsRecoveryFrames = true
            request.storesLongTermReference = random.chance(15)
            if viewers.lossy.isBehind, random.chance(40) {
                let reference = viewers.lossy.newest.flatMap { encoder.canRecover(from: $0) ? $0 : nil }
                request.recoveryReference = reference
                request.isKeyframeRequested = request.isKeyframeRequested || reference == nil
            }
            guard let frame = try encoder.encode(screen.canvas, changed: screen.changed, at: now, request) else {
                continue
            }
            screen.changed.clear()
            try viewers.take(frame, isLost: step > 0 && random.chance(8))
        }
        for _ in 0..<400 {
            let isDone = screen.changed.isEmpty && !encoder.hasUncodedChanges && encoder.unrefined == nil
            guard !isDone || viewers.lossy.isBehind else { break }
            now = now + .milliseconds(33)
            var request = VideoEncodeRequest(
                bitrate: .kilobits(20_000), isKeyframeRequested: viewers.lossy.isBehind,
                isRefinement: screen.changed.isEmpty)
            request.allowsRecoveryFrames = true
            guard let frame = try encoder.encode(screen.canvas, changed: screen.changed, at: now, request) else {
                continue
            }
            screen.changed.clear()
            try viewers.take(frame, isLost: false)
        }
        #expect(encoder.unrefined == nil && !encoder.hasUncodedChanges && !viewers.lossy.isBehind)
        let areSame = viewers.fullBlocks == viewers.baseBlocks && viewers.baseBlocks == viewers.lossyBlocks
        #expect(areSame)
        try screen.expectSharp(try #require(viewers.last))
    }
}

/// A screen on which something happens in each step.
private final class RandomScreen {
    let canvas: I420Buffer
    var changed: BlockMap
    private let size: PixelSize
    /// A natural video, and how long it goes on playing.
    private var video = PixelRect(x: 0, y: 0, width: 0, height: 0)
    private var videoSteps = 0
    /// What a flicker shows in every other step.
    private var flicker: (rect: PixelRect, steps: Int)?

    init(_ size: PixelSize) {
        self.size = size
        canvas = I420Buffer(size)
        changed = BlockMap(size, filled: true)
    }

    private func place(_ random: inout SeededGenerator) -> PixelRect {
        PixelRect(
            x: Int.random(in: 0..<size.width, using: &random) & ~1,
            y: Int.random(in: 0..<size.height, using: &random) & ~1,
            width: Int.random(in: 1...max(1, size.width / 2), using: &random) * 2,
            height: Int.random(in: 1...max(1, size.height / 2), using: &random) * 2
        ).clipped(to: size)
    }

    func change(_ random: inout SeededGenerator) {
        if videoSteps > 0 {
            videoSteps -= 1
            drawVideo(&random)
        }
        if let flicker {
            TextPage.draw(on: canvas, rect: flicker.rect, seed: UInt64(flicker.steps % 2))
            changed.insert(flicker.rect)
            self.flicker = flicker.steps > 0 ? (flicker.rect, flicker.steps - 1) : nil
        }
        let rect = place(&random)
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1:
            TextPage.draw(on: canvas, rect: rect, seed: random.next())
            changed.insert(rect)
        case 2: fill(rect, &random)
        case 3, 4, 5:
            move(
                rect, x: random.chance(70) ? 0 : Int.random(in: -20...20, using: &random) & ~1,
                y: Int.random(in: -20...20, using: &random) * 2)
        case 6: move(PixelRect(size), x: 0, y: -2 * Int.random(in: 0...9, using: &random))
        case 7 where videoSteps == 0: (video, videoSteps) = (rect, Int.random(in: 0...40, using: &random))
        case 8 where flicker == nil: flicker = (rect, Int.random(in: 0...10, using: &random))
        default: return
        }
    }

    private func fill(_ rect: PixelRect, _ random: inout SeededGenerator) {
        let colour = (0..<3).map { _ in UInt8.random(in: 16...235, using: &random) }
        for row in rect.y..<rect.maxY {
            (canvas.y + row * canvas.strideY + rect.x).update(repeating: colour[0], count: rect.width)
            guard row % 2 == 0 else { continue }
            let start = row / 2 * canvas.strideC + rect.x / 2
            (canvas.u + start).update(repeating: colour[1], count: rect.width / 2)
            (canvas.v + start).update(repeating: colour[2], count: rect.width / 2)
        }
        changed.insert(rect)
    }

    /// Moves what is in a rectangle, which stays at its old place where nothing is moved over it.
    private func move(_ rect: PixelRect, x: Int, y: Int) {
        let target = PixelRect(x: rect.x + x, y: rect.y + y, width: rect.width, height: rect.height).clipped(to: size)
        guard !target.isEmpty else { return }
        let planes = [
            (canvas.y, canvas.strideY, 1), (canvas.u, canvas.strideC, 2), (canvas.v, canvas.strideC, 2),
        ]
        for (plane, stride, part) in planes {
            let columns = target.width / part
            let lines = (target.y / part..<target.maxY / part).map { row in
                Array(
                    UnsafeBufferPointer(
                        start: plane + (row - y / part) * stride + (target.x - x) / part, count: columns))
            }
            for (row, line) in zip(target.y / part..<target.maxY / part, lines) {
                line.withUnsafeBufferPointer { line in
                    guard let base = line.baseAddress else { return }
                    (plane + row * stride + target.x / part).update(from: base, count: columns)
                }
            }
        }
        changed.insert(target)
    }

    private func drawVideo(_ random: inout SeededGenerator) {
        let phase = videoSteps * 3
        for row in video.y..<video.maxY {
            let grain = random.next()
            for column in video.x..<video.maxX {
                let wave = (row * 5 + column * 3 + phase) & 127
                canvas.y[row * canvas.strideY + column] = UInt8(
                    60 + abs(wave - 64) + Int(grain >> UInt64(column & 31) & 3))
            }
            guard row % 2 == 0 else { continue }
            for column in video.x / 2..<video.maxX / 2 {
                canvas.u[row / 2 * canvas.strideC + column] = UInt8(110 + (row + column + phase) / 8 % 16)
            }
        }
        changed.insert(video)
    }

    /// Expects 40 dB of luma in each block, and 34 of chroma.
    func expectSharp(_ shown: I420Frame) throws {
        var (worst, worstChroma) = (0.0, 0.0)
        for top in stride(from: 0, to: size.height, by: 16) {
            for left in stride(from: 0, to: size.width, by: 16) {
                let rect = PixelRect(x: left, y: top, width: 16, height: 16).clipped(to: size)
                let pixels = Double(rect.width * rect.height)
                worst = max(worst, Double(lumaError(shown, canvas.frame, in: rect)) / pixels)
                for (a, b) in [(shown.u, canvas.frame.u), (shown.v, canvas.frame.v)] {
                    var sum = 0
                    for row in rect.y / 2..<rect.maxY / 2 {
                        for column in rect.x / 2..<rect.maxX / 2 {
                            let difference =
                                Int(a[row * shown.strideC + column]) - Int(b[row * canvas.strideC + column])
                            sum += difference * difference
                        }
                    }
                    worstChroma = max(worstChroma, Double(sum) / (pixels / 4))
                }
            }
        }
        #expect(worst < 6.5)
        #expect(worstChroma < 26)
    }
}
