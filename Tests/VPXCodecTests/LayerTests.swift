import MediaCore
import Testing
import VPXCodec

/// An encoder with two temporal layers, a decoder that gets both and one that gets only the base layer.
private final class LayeredPair {
    let encoder = VP8Encoder()
    let full = VP8Decoder()
    let base = VP8Decoder()
    private(set) var now = MediaInstant(nanoseconds: 5_000_000_000)
    private var fullFrame: I420Frame?
    private var baseFrame: I420Frame?
    private(set) var bytes = [0, 0]
    private(set) var frames = [0, 0]

    /// - Returns: the layer of the frame; nil if the frame was dropped.
    @discardableResult
    func step(
        _ canvas: I420Buffer, _ changed: BlockMap, bitrate: Bitrate = .kilobits(20_000), base baseBitrate: Bitrate,
        isBlocked: Bool = false, isKeyframe: Bool = false, isRefinement: Bool = false
    ) throws -> Int? {
        now = now + .milliseconds(33)
        let request = VideoEncodeRequest(
            bitrate: bitrate, isKeyframeRequested: isKeyframe, isRefinement: isRefinement,
            layering: .init(baseBitrate: baseBitrate, isBaseBlocked: isBlocked))
        guard let frame = try encoder.encode(canvas, changed: changed, at: now, request) else { return nil }
        let layer = Int(frame.layer)
        bytes[layer] += frame.bytes.count
        frames[layer] += 1
        fullFrame = try full.decode(frame.bytes)
        if layer == 0 { baseFrame = try base.decode(frame.bytes) }
        return layer
    }

    var fullBlocks: [[UInt8]] { fullFrame.map { blocks(of: $0) } ?? [] }
    var baseBlocks: [[UInt8]] { baseFrame.map { blocks(of: $0) } ?? [] }

    func basePSNR(_ canvas: I420Buffer) -> Double { baseFrame.map { lumaPSNR($0, canvas.frame) } ?? 0 }

    /// Refines until both decoders have a sharp frame.
    func rest(_ canvas: I420Buffer, base: Bitrate) throws {
        for _ in 0..<600 where encoder.hasUncodedChanges || encoder.unrefined != nil {
            try step(canvas, BlockMap(canvas.size), base: base, isRefinement: true)
        }
    }
}

@Suite struct LayerTests {
    static let size = PixelSize(width: 640, height: 368)

    private func page(_ seed: UInt64 = 7) -> I420Buffer {
        let canvas = I420Buffer(Self.size)
        TextPage.draw(on: canvas, rect: PixelRect(Self.size), seed: seed)
        return canvas
    }

    private func draw(_ seed: UInt64, on canvas: I420Buffer, _ rect: PixelRect) -> BlockMap {
        TextPage.draw(on: canvas, rect: rect, seed: seed)
        var changed = BlockMap(canvas.size)
        changed.insert(rect)
        return changed
    }

    @Test func withRoomForAllEachFrameIsOfTheBase() throws {
        let canvas = page()
        let pair = LayeredPair()
        for seed in 1..<40 as Range<UInt64> {
            let changed = draw(seed, on: canvas, PixelRect(x: 64, y: 64, width: 32, height: 16))
            #expect(try pair.step(canvas, changed, base: .kilobits(15_000)) == 0)
        }
        #expect(!pair.encoder.hasUncodedChanges)
    }

    @Test func blocksThatABlockedBaseMissesComeWithItsNextFrame() throws {
        let canvas = page()
        let pair = LayeredPair()
        try pair.step(canvas, BlockMap(Self.size, filled: true), base: .kilobits(19_000))
        try pair.rest(canvas, base: .kilobits(19_000))
        let before = pair.baseBlocks
        // Three areas change in turn, each of them once.
        for index in 0..<3 {
            let changed = draw(50 + UInt64(index), on: canvas, PixelRect(x: 192 * index, y: 96, width: 64, height: 32))
            #expect(try pair.step(canvas, changed, base: .kilobits(19_000), isBlocked: true) == 1)
        }
        #expect(pair.encoder.hasUncodedChanges)
        #expect(pair.baseBlocks == before)
        // The decoder that gets both layers shows all three changes.
        #expect(zip(pair.fullBlocks, before).count { $0 != $1 } == 24)
        #expect(try pair.step(canvas, BlockMap(Self.size), base: .kilobits(19_000), isRefinement: true) == 0)
        #expect(!pair.encoder.hasUncodedChanges)
        #expect(pair.baseBlocks == pair.fullBlocks)
        #expect(zip(pair.baseBlocks, before).count { $0 != $1 } == 24)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func atRestTheBaseAloneIsBitExactAndSharp(seed: UInt64) throws {
        let canvas = page(seed)
        let pair = LayeredPair()
        var owed = BlockMap(Self.size, filled: true)
        for step in 0..<150 {
            // A line changes in each frame, and half of the page in every 25th.
            let rect =
                step % 25 == 24
                ? PixelRect(x: 0, y: 176, width: 640, height: 192)
                : PixelRect(x: step % 20 * 32, y: Int(seed) * 32, width: 48, height: 16)
            owed.formUnion(draw(seed &* 1_000 &+ UInt64(step), on: canvas, rect))
            let isBlocked = step % 7 < 3
            if try pair.step(canvas, owed, base: .kilobits(2_500), isBlocked: isBlocked) != nil { owed.clear() }
        }
        #expect(pair.frames[0] > 10)
        #expect(pair.frames[1] > 10)
        while !owed.isEmpty {
            if try pair.step(canvas, owed, base: .kilobits(2_500)) != nil { owed.clear() }
        }
        try pair.rest(canvas, base: .kilobits(2_500))
        #expect(pair.encoder.unrefined == nil)
        #expect(!pair.encoder.hasUncodedChanges)
        #expect(pair.baseBlocks == pair.fullBlocks)
        // All blocks are sharp, so no more frames are sent.
        let frames = pair.frames
        for _ in 0..<10 { try pair.step(canvas, BlockMap(Self.size), base: .kilobits(2_500), isRefinement: true) }
        #expect(pair.frames == frames)
        #expect(pair.basePSNR(canvas) > 44)
    }

    @Test func eachLayerKeepsToItsRate() throws {
        let canvas = page()
        let pair = LayeredPair()
        var owed = BlockMap(Self.size, filled: true)
        let start = pair.now
        for step in 0..<300 {
            // A band of new text moves over the page: far more than either bitrate allows.
            owed.formUnion(draw(UInt64(step), on: canvas, PixelRect(x: 0, y: step % 4 * 80, width: 640, height: 80)))
            if try pair.step(canvas, owed, bitrate: .kilobits(4_000), base: .kilobits(2_000)) != nil { owed.clear() }
        }
        let elapsed = (pair.now - start).inSeconds
        // The constants are the bytes that each layer may be ahead of its bitrate.
        #expect(Double(pair.bytes[0]) < 250_000 * elapsed + 160_000)
        #expect(Double(pair.bytes[0] + pair.bytes[1]) < 500_000 * elapsed + 300_000)
        #expect(pair.bytes[1] > 0)
        #expect(pair.frames[0] > 10)
    }

    @Test func keyframesAreOfTheBaseEvenWhileItIsBlocked() throws {
        let canvas = page()
        let pair = LayeredPair()
        try pair.step(canvas, BlockMap(Self.size, filled: true), base: .kilobits(5_000))
        let changed = draw(9, on: canvas, PixelRect(x: 0, y: 0, width: 64, height: 32))
        #expect(try pair.step(canvas, changed, base: .kilobits(5_000), isBlocked: true) == 1)
        #expect(
            try pair.step(canvas, BlockMap(Self.size), base: .kilobits(5_000), isBlocked: true, isKeyframe: true) == 0)
        #expect(!pair.encoder.hasUncodedChanges)
        #expect(pair.baseBlocks == pair.fullBlocks)
    }

    @Test func whenLayersEndTheBaseGetsWhatItLacks() throws {
        let canvas = page()
        let pair = LayeredPair()
        try pair.step(canvas, BlockMap(Self.size, filled: true), base: .kilobits(19_000))
        let changed = draw(9, on: canvas, PixelRect(x: 320, y: 160, width: 64, height: 32))
        #expect(try pair.step(canvas, changed, base: .kilobits(19_000), isBlocked: true) == 1)
        let other = draw(10, on: canvas, PixelRect(x: 0, y: 0, width: 16, height: 16))
        let frame = try #require(
            try pair.encoder.encode(
                canvas, changed: other, at: pair.now + .milliseconds(33),
                VideoEncodeRequest(bitrate: .kilobits(20_000))))
        #expect(frame.layer == 0)
        let full = blocks(of: try #require(try pair.full.decode(frame.bytes)))
        #expect(blocks(of: try #require(try pair.base.decode(frame.bytes))) == full)
        #expect(!pair.encoder.hasUncodedChanges)
    }

    @Test func anotherEncoderStartsAfresh() throws {
        let canvas = page()
        let pair = LayeredPair()
        try pair.step(canvas, BlockMap(Self.size, filled: true), base: .kilobits(5_000))
        let other = pair.encoder.makeAnother()
        let frame = try #require(
            try other.encode(
                canvas, changed: BlockMap(Self.size), at: pair.now, VideoEncodeRequest(bitrate: .kilobits(500))))
        #expect(frame.isKeyframe)
    }
}
