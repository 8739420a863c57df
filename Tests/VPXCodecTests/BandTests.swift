import MediaCore
import Testing
import VPXCodec

/// A large change at a low bitrate, which is sent in bands.
@Suite struct BandTests {
    static let size = PixelSize(width: 640, height: 368)
    /// At this bitrate a page of about 25 kB takes 400 ms.
    static let slow = Bitrate.kilobits(500)

    private func resting(_ canvas: I420Buffer) throws -> CodecPair {
        let pair = CodecPair()
        pair.byteBudget = nil
        _ = try pair.step(canvas, BlockMap(canvas.size, filled: true), isKeyframe: true)
        for _ in 0..<100 where pair.encoder.unrefined != nil {
            _ = try pair.step(canvas, BlockMap(canvas.size), isRefinement: true)
        }
        pair.bitrate = Self.slow
        // After a pause, so that the full byte budget is available.
        _ = try pair.step(canvas, BlockMap(canvas.size), isRefinement: true, after: .seconds(2))
        return pair
    }

    private func page(_ seed: UInt64) -> I420Buffer {
        let canvas = I420Buffer(Self.size)
        TextPage.draw(on: canvas, rect: PixelRect(Self.size), seed: seed)
        return canvas
    }

    private func draw(_ seed: UInt64, on canvas: I420Buffer, _ rect: PixelRect = PixelRect(size)) -> BlockMap {
        TextPage.draw(on: canvas, rect: rect, seed: seed)
        var map = BlockMap(canvas.size)
        map.insert(rect)
        return map
    }

    @Test func aPageGoesOutFromTopToBottom() throws {
        let canvas = page(1)
        let pair = try resting(canvas)
        let old = blocks(of: canvas.frame)
        let columns = Self.size.width / 16
        let changed = draw(2, on: canvas)
        var step = try #require(try pair.step(canvas, changed))
        #expect(pair.encoder.hasUncodedChanges)
        #expect(step.bytes.count < Self.slow.bitsPerSecond / 8 / 12, "a band, not a page")
        // The rows above the band's end are new, and those below are unchanged except for coding losses.
        let first = blocks(of: step.decoded)
        var rows = [Int]()
        for row in 0..<Self.size.height / 16 {
            let range = row * columns..<(row + 1) * columns
            let (distanceOld, distanceNew) = (
                difference(Array(first[range]), Array(old[range])),
                difference(Array(first[range]), Array(blocks(of: canvas.frame)[range]))
            )
            rows.append(distanceNew < distanceOld ? 1 : 0)
        }
        #expect(rows.first == 1)
        #expect(rows.last == 0)
        #expect(rows == rows.sorted(by: >))
        var bands = 1
        while pair.encoder.hasUncodedChanges, bands < 60 {
            let before = blocks(of: step.decoded)
            guard let next = try pair.step(canvas, BlockMap(Self.size), isRefinement: true) else { continue }
            bands += 1
            // Later bands do not change the first rows.
            #expect(blocks(of: next.decoded)[0..<columns] == before[0..<columns])
            step = next
        }
        #expect(bands > 3)
        #expect(bands < 30)
        // The encoder searches less where encoding takes long, as on a busy machine: that costs up to 1 dB.
        #expect(lumaPSNR(step.decoded, canvas.frame) > 24)
        // The blocks are soft after the bands, so that refinement follows.
        #expect(pair.encoder.unrefined != nil)
    }

    private func difference(_ a: [[UInt8]], _ b: [[UInt8]]) -> Int {
        zip(a.joined(), b.joined()).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
    }

    @Test func onAFastLineItIsOneFrame() throws {
        let canvas = page(1)
        let pair = try resting(canvas)
        pair.bitrate = .kilobits(20_000)
        _ = try pair.step(canvas, draw(2, on: canvas))
        #expect(!pair.encoder.hasUncodedChanges)
    }

    @Test func aSeriesOfPagesIsCodedWhole() throws {
        let canvas = page(1)
        let pair = try resting(canvas)
        _ = try pair.step(canvas, draw(2, on: canvas))
        #expect(pair.encoder.hasUncodedChanges)
        let step = try #require(try pair.step(canvas, draw(3, on: canvas)))
        #expect(!pair.encoder.hasUncodedChanges)
        #expect(step.frame.quantizer > 49, "coarse, to keep up")
    }

    @Test func changesAboveTheSliceComeAfterwards() throws {
        let canvas = page(1)
        let pair = try resting(canvas)
        _ = try pair.step(canvas, draw(2, on: canvas))
        let line = PixelRect(x: 64, y: 0, width: 128, height: 16)
        var last = try pair.step(canvas, draw(3, on: canvas, line))
        for _ in 0..<100 where pair.encoder.hasUncodedChanges || last == nil {
            last = try pair.step(canvas, BlockMap(Self.size), isRefinement: true) ?? last
        }
        let shown = try #require(last).decoded
        #expect(lumaError(shown, canvas.frame, in: line) < 128 * 16 * 400)
        #expect(lumaPSNR(shown, canvas.frame) > 26)
    }

    /// A clock in a part of a page that has been sent, while the rest takes a second.
    @Test func whatChangesALittleAgainAndAgainDoesNotWaitForAPage() throws {
        let canvas = page(1)
        let pair = try resting(canvas)
        pair.bitrate = .kilobits(200)
        _ = try pair.step(canvas, draw(2, on: canvas))
        let clock = PixelRect(x: 592, y: 0, width: 32, height: 16)
        var (bands, rights) = (0, 0)
        for tick in 0..<40 where pair.encoder.hasUncodedChanges {
            for row in 0..<16 {
                (canvas.y + row * canvas.strideY + clock.x).update(repeating: tick % 2 == 0 ? 40 : 200, count: 32)
            }
            var changed = BlockMap(canvas.size)
            changed.insert(clock)
            guard let step = try pair.step(canvas, changed) else { continue }
            bands += 1
            if lumaError(step.decoded, canvas.frame, in: clock) < clock.width * clock.height * 100 { rights += 1 }
        }
        #expect(bands > 3 && rights == bands)
    }

    @Test func viewersWithTwoLayersGetItWhole() throws {
        let canvas = page(1)
        let pair = try resting(canvas)
        let changed = draw(2, on: canvas)
        let request = VideoEncodeRequest(
            bitrate: Self.slow, layering: .init(baseBitrate: .kilobits(300)))
        let frame = try pair.encoder.encode(
            canvas, changed: changed, at: pair.now + .milliseconds(40), request)
        #expect(frame != nil)
        #expect(!pair.encoder.hasUncodedChanges)
    }

    /// A frame that is stored as a long-term reference must contain all changes: later frames code only new ones.
    @Test func onlyACompleteFrameBecomesAReference() throws {
        let canvas = page(1)
        let pair = try resting(canvas)
        let decoder = VP8Decoder()
        var now = pair.now
        func make(
            _ changed: BlockMap, isKeyframe: Bool = false, isRefinement: Bool = false, recoveryReference: UInt32? = nil
        ) throws -> (frame: FrameReferences, decoded: I420Frame?)? {
            now = now + .milliseconds(40)
            var request = VideoEncodeRequest(
                bitrate: Self.slow, isKeyframeRequested: isKeyframe, isRefinement: isRefinement)
            request.allowsRecoveryFrames = true
            request.storesLongTermReference = true
            request.recoveryReference = recoveryReference
            guard let frame = try pair.encoder.encode(canvas, changed: changed, at: now, request) else { return nil }
            return (frame.references, try decoder.decode(frame.bytes))
        }
        _ = try make(BlockMap(Self.size, filled: true), isKeyframe: true)
        now = now + .seconds(3)
        var changed = draw(2, on: canvas)
        var kept: FrameReferences?
        var bands = 0
        repeat {
            let made = try make(changed, isRefinement: bands > 0)
            if made != nil { changed.clear() }
            bands += 1
            if pair.encoder.hasUncodedChanges { #expect(made?.frame.stored == nil) }
            kept = made?.frame
        } while pair.encoder.hasUncodedChanges && bands < 200
        #expect(bands > 3)
        #expect(kept?.stored != nil, "the last band makes it whole")
        let number = try #require(kept?.number)
        now = now + .seconds(3)
        let line = PixelRect(x: 64, y: 160, width: 128, height: 16)
        let recovered = try #require(try make(draw(4, on: canvas, line), recoveryReference: number))
        #expect(recovered.frame.source?.number == number)
        #expect(lumaPSNR(try #require(recovered.decoded), canvas.frame) > 24)
        withExtendedLifetime((decoder, canvas)) {}
    }

    /// An empty screen is the first frame of many sessions.
    @Test func anEmptyScreenTeachesNothingAboutText() throws {
        let canvas = I420Buffer(Self.size)
        let pair = CodecPair()
        pair.bitrate = .kilobits(4_000)
        _ = try pair.step(canvas, BlockMap(Self.size, filled: true), isKeyframe: true)
        // The budget of a quarter of a second is 125 kB, more than twice the size of the page.
        let step = try #require(try pair.step(canvas, draw(2, on: canvas), after: .seconds(2)))
        #expect(step.frame.quantizer < 20)
        #expect(!pair.encoder.hasUncodedChanges)
    }
}
