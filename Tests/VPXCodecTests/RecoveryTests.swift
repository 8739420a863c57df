import MediaCore
import TestSupport
import Testing
import VPXCodec

/// Recovery frames, which are predicted from one long-term reference only. A decoder that holds the reference can
/// continue, and shows the same frame as all others.
@Suite struct RecoveryTests {
    static let size = PixelSize(width: 640, height: 368)

    /// An encoder with two viewers: one receives all frames, the other may lose some.
    private final class Stage {
        let encoder = VP8Encoder()
        let whole = VP8Decoder()
        let lossy = VP8Decoder()
        let canvas: I420Buffer
        var now = MediaInstant(nanoseconds: 5_000_000_000)
        var bitrate = Bitrate.kilobits(20_000)
        var byteBudget: Int?

        init(_ size: PixelSize) {
            canvas = I420Buffer(size)
            TextPage.draw(on: canvas, rect: PixelRect(size), seed: 7)
        }

        struct Made {
            var bytes: [UInt8]
            var isKeyframe: Bool
            var quantizer: Int
            var references: FrameReferences
            var shown: I420Frame
            var recoveryBytes: Int?
        }

        func make(
            _ changed: BlockMap, isKeyframe: Bool = false, isRefinement: Bool = false,
            storesLongTermReference: Bool = false,
            recoveryReference: UInt32? = nil, allowsRecoveryFrames: Bool = true
        ) throws -> Made? {
            now = now + .milliseconds(33)
            var request = VideoEncodeRequest(
                bitrate: bitrate, isKeyframeRequested: isKeyframe, isRefinement: isRefinement, byteBudget: byteBudget)
            request.allowsRecoveryFrames = allowsRecoveryFrames
            request.storesLongTermReference = storesLongTermReference
            request.recoveryReference = recoveryReference
            guard let frame = try encoder.encode(canvas, changed: changed, at: now, request) else { return nil }
            let decoded = try #require(try whole.decode(frame.bytes))
            return Made(
                bytes: Array(frame.bytes), isKeyframe: frame.isKeyframe, quantizer: frame.quantizer,
                references: frame.references, shown: decoded, recoveryBytes: frame.recoveryBytes)
        }

        /// Draws new text into a rectangle.
        func draw(_ rect: PixelRect, seed: UInt64) -> BlockMap {
            TextPage.draw(on: canvas, rect: rect, seed: seed)
            var map = BlockMap(canvas.size)
            map.insert(rect)
            return map
        }

        func late(_ frame: Made) throws -> [[UInt8]] {
            let decoded = try frame.bytes.withUnsafeBytes { try lossy.decode($0) }
            return blocks(of: try #require(decoded))
        }
    }

    /// The more has changed since the reference, the larger it is.
    @Test func theSizeOfARecoveryFrameIsPredicted() throws {
        var predicted: [Int] = []
        for steps in [2, 20] {
            let stage = Stage(Self.size)
            let key = try #require(try stage.make(BlockMap(Self.size, filled: true)))
            #expect(key.recoveryBytes == nil)
            for step in 0..<steps {
                let rect = PixelRect(x: step % 4 * 160, y: step / 4 * 64, width: 160, height: 64)
                let frame = try #require(try stage.make(stage.draw(rect, seed: UInt64(step))))
                if step == steps - 1 { predicted.append(try #require(frame.recoveryBytes)) }
            }
            stage.bitrate = .kilobits(100)
            let recovery = try stage.make(BlockMap(Self.size), recoveryReference: key.references.number)
            let bytes = try #require(recovery).bytes.count
            let ratio = Double(predicted[predicted.count - 1]) / Double(bytes)
            #expect((0.6...1.6).contains(ratio), "\(predicted) \(bytes)")
        }
        #expect(predicted[1] > 5 * predicted[0])
        let stage = Stage(Self.size)
        _ = try stage.make(BlockMap(Self.size, filled: true))
        let change = stage.draw(PixelRect(x: 0, y: 0, width: 64, height: 64), seed: 1)
        #expect(try #require(try stage.make(change, allowsRecoveryFrames: false)).recoveryBytes == nil)
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func aRecoveryFrameRestoresADecoderThatMissedFrames(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let size = PixelSize(width: 320, height: 200)
        let stage = Stage(size)
        var made = try #require(try stage.make(BlockMap(size, filled: true)))
        #expect(made.isKeyframe)
        _ = try stage.late(made)
        // The last reference that the lossy viewer holds, and whether it has lost a frame since.
        var held = made.references.number
        var isBehind = false
        var recoveries = 0
        for step in 0..<120 {
            let isRefinement = Int.random(in: 0..<4, using: &random) == 0 && stage.encoder.unrefined != nil
            stage.bitrate = .kilobits(Bool.random(using: &random) ? 20_000 : 800)
            stage.byteBudget = Bool.random(using: &random) ? nil : 3_000
            let rect = PixelRect(
                x: Int.random(in: 0..<180, using: &random), y: Int.random(in: 0..<120, using: &random),
                width: Int.random(in: 16...140, using: &random), height: Int.random(in: 16...80, using: &random))
            let changed = isRefinement ? BlockMap(size) : stage.draw(rect, seed: seed &+ UInt64(step))
            let recovers = isBehind && Int.random(in: 0..<3, using: &random) == 0
            guard
                let frame = try stage.make(
                    changed, isRefinement: isRefinement, storesLongTermReference: step % 7 == 3 && !isBehind,
                    recoveryReference: recovers ? held : nil)
            else { continue }
            made = frame
            #expect(!made.isKeyframe)
            #expect((made.references.source?.number == held) == recovers)
            if recovers {
                isBehind = false
                recoveries += 1
            } else if isBehind || Int.random(in: 0..<8, using: &random) == 0 {
                isBehind = true
                continue
            }
            if made.references.stored != nil { held = made.references.number }
            let (a, b) = (try stage.late(made), blocks(of: made.shown))
            let wrong = zip(a, b).reduce(0) { $0 + ($1.0 == $1.1 ? 0 : 1) }
            #expect(wrong == 0, "step \(step) of seed \(seed), recovers \(recovers) \(made.references)")
        }
        #expect(recoveries > 3)
    }

    /// After a recovery all blocks are refined to full sharpness, those that returned to a softer state included.
    @Test func refinedBlocksAreRefinedAgainAfterARecovery() throws {
        let stage = Stage(Self.size)
        stage.bitrate = .kilobits(1_000)
        stage.byteBudget = 20_000
        let key = try #require(try stage.make(BlockMap(Self.size, filled: true)))
        #expect(lumaPSNR(key.shown, stage.canvas.frame) < 40)
        for _ in 0..<400 where stage.encoder.unrefined != nil {
            _ = try stage.make(BlockMap(Self.size), isRefinement: true)
        }
        #expect(stage.encoder.unrefined == nil)
        stage.now = stage.now + .seconds(2)
        let rect = PixelRect(x: 64, y: 64, width: 64, height: 32)
        let changed = stage.draw(rect, seed: 9)
        let back = try #require(try stage.make(changed, recoveryReference: key.references.number))
        // The frame is small: it codes only what changed, and the other blocks return to their former state.
        #expect(back.bytes.count < key.bytes.count / 4)
        #expect(try #require(stage.encoder.unrefined).count > 400)
        var last = back
        for _ in 0..<400 where stage.encoder.unrefined != nil {
            last = try stage.make(BlockMap(Self.size), isRefinement: true) ?? last
        }
        #expect(stage.encoder.unrefined == nil)
        #expect(lumaPSNR(last.shown, stage.canvas.frame) > 46)
    }

    /// The frames that have overdrawn the budget are replaced by it.
    @Test func aRecoveryFrameDoesNotWaitForTheBudget() throws {
        let stage = Stage(Self.size)
        let key = try #require(try stage.make(BlockMap(Self.size, filled: true)))
        stage.bitrate = .kilobits(300)
        var seed: UInt64 = 10
        while try stage.make(stage.draw(PixelRect(Self.size), seed: seed)) != nil { seed += 1 }
        let recovery = try stage.make(
            stage.draw(PixelRect(Self.size), seed: seed + 1), recoveryReference: key.references.number)
        #expect(recovery?.references.source?.number == key.references.number)
    }

    @Test func anOverwrittenOrUselessReferenceIsRefused() throws {
        let stage = Stage(Self.size)
        let key = try #require(try stage.make(BlockMap(Self.size, filled: true)))
        #expect(stage.encoder.canRecover(from: key.references.number))
        #expect(!stage.encoder.canRecover(from: key.references.number &+ 1))
        let rect = PixelRect(x: 0, y: 0, width: 64, height: 32)
        let first = try #require(try stage.make(stage.draw(rect, seed: 1), storesLongTermReference: true))
        #expect(stage.encoder.canRecover(from: key.references.number))
        let second = try #require(try stage.make(stage.draw(rect, seed: 2), storesLongTermReference: true))
        #expect(!stage.encoder.canRecover(from: key.references.number))
        #expect(stage.encoder.canRecover(from: first.references.number))
        #expect(stage.encoder.canRecover(from: second.references.number))
        #expect(first.references.stored != second.references.stored)
        // A request for a reference that no longer exists gives an ordinary frame.
        let plain = try #require(
            try stage.make(stage.draw(rect, seed: 3), recoveryReference: key.references.number))
        #expect(plain.references.source == nil)
        // A frame whose probabilities persist cannot be skipped by later frames.
        _ = try #require(try stage.make(stage.draw(rect, seed: 4), allowsRecoveryFrames: false))
        #expect(!stage.encoder.canRecover(from: first.references.number))
        #expect(!stage.encoder.canRecover(from: second.references.number))
    }

    /// Prints the cost of recoverable encoding, and of a recovery frame in relation to a key frame, for
    /// Benchmarks/Results/simulated-networks.md.
    @Test func aRecoveryOfASmallChangeCostsAFractionOfAKeyFrame() throws {
        let size = PixelSize(width: 1280, height: 720)
        var bytes: [Bool: Int] = [:]
        for allowsRecoveryFrames in [false, true] {
            let stage = Stage(size)
            var sum = 0
            _ = try stage.make(BlockMap(size, filled: true), allowsRecoveryFrames: allowsRecoveryFrames)
            for step in 0..<30 {
                let rect = PixelRect(x: 16 + step * 32, y: 16 + step % 10 * 48, width: 150, height: 20)
                stage.now = stage.now + .milliseconds(200)
                let changed = stage.draw(rect, seed: UInt64(step) + 50)
                sum += try #require(try stage.make(changed, allowsRecoveryFrames: allowsRecoveryFrames)).bytes.count
            }
            bytes[allowsRecoveryFrames] = sum
            guard allowsRecoveryFrames else { continue }
            let kept = try #require(
                try stage.make(
                    stage.draw(PixelRect(x: 0, y: 0, width: 64, height: 64), seed: 1), storesLongTermReference: true))
            for step in 0..<10 {
                stage.now = stage.now + .milliseconds(200)
                _ = try stage.make(stage.draw(PixelRect(x: 100, y: 40 + step * 16, width: 300, height: 16), seed: 5))
            }
            stage.now = stage.now + .seconds(1)
            let recovery = try #require(try stage.make(BlockMap(size), recoveryReference: kept.references.number))
            stage.now = stage.now + .seconds(1)
            let key = try #require(try stage.make(BlockMap(size), isKeyframe: true))
            print(
                "recovery", recovery.bytes.count, "at", recovery.quantizer, "key", key.bytes.count, "at", key.quantizer)
            #expect(recovery.bytes.count * 5 < key.bytes.count)
        }
        let (plain, recoverable) = (bytes[false] ?? 0, bytes[true] ?? 0)
        print("30 changes of a line of text: plain", plain, "recoverable", recoverable)
        #expect(recoverable < plain * 115 / 100)
    }
}
