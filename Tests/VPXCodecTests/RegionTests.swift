import Foundation
import MediaCore
import Testing

@testable import VPXCodec

/// Text beside a video that plays.
@Suite struct RegionTests {
    private final class Session {
        let scene = TextBesideVideo(seed: 1)
        let pair = CodecPair()
        private(set) var bytes = 0
        private(set) var frames = 0
        private(set) var largest = 0
        private(set) var last: CodecPair.Step?
        private var owed = BlockMap(TextBesideVideo.size, filled: true)
        private var level = 0.0

        init(separatesRegions: Bool) {
            pair.bitrate = .kilobits(1_500)
            pair.separatesRegions = separatesRegions
        }

        /// Encodes the scene as it is.
        func step() throws {
            pair.byteBudget = pair.bitrate.bitsPerSecond / 8 / 4
            owed.formUnion(scene.changed)
            level = level * (1 - 1 / 60.0) + Double(owed.count) / Double(owed.blocks.count) / 2
            if level > 4 { pair.encoder.contentHint = .motion } else if level < 2 { pair.encoder.contentHint = .text }
            guard let step = try pair.step(scene.canvas, owed) else { return }
            owed.clear()
            frames += 1
            note(step)
            guard pair.encoder.continuesAtOnce else { return }
            let rest = try pair.step(
                scene.canvas, BlockMap(TextBesideVideo.size), isRefinement: true, after: .milliseconds(1))
            if let rest { note(rest) }
        }

        private func note(_ step: CodecPair.Step) {
            bytes += step.bytes.count
            largest = max(largest, step.bytes.count)
            last = step
        }

        /// Plays the video, and encodes each frame.
        func play(_ count: Int, _ body: (Int) -> Void = { _ in }) throws {
            for index in 0..<count {
                scene.advance()
                body(index)
                try step()
            }
        }

        func restart() { (bytes, frames, largest) = (0, 0, 0) }

        /// Forgets what was counted, and returns it.
        func measure(seconds: Double) throws -> Measurement {
            let decoded = try #require(last).decoded
            let error = lumaError(decoded, scene.canvas.frame, in: TextBesideVideo.video)
            let pixels = TextBesideVideo.video.width * TextBesideVideo.video.height
            defer { (bytes, frames, largest) = (0, 0, 0) }
            return Measurement(
                similarity: TextBesideVideo.textSimilarity(decoded, scene.canvas.frame),
                videoPSNR: 10 * log10(255 * 255 * Double(pixels) / Double(error)),
                framesPerSecond: Double(frames) / seconds, kilobits: Double(bytes) * 8 / 1_000 / seconds,
                largest: largest)
        }
    }

    private struct Measurement {
        /// SSIM of the text.
        var similarity: Double
        /// In dB.
        var videoPSNR: Double
        var framesPerSecond: Double
        var kilobits: Double
        /// The bytes of the largest frame.
        var largest: Int
    }

    /// At 1.5 Mbit/s. Without regions the similarity was 0.89 after a new page and after typing, and 0.84 after
    /// scrolling.
    @Test func textIsSharpTwoSecondsAfterItsLastChangeWhileAVideoPlays() throws {
        let session = Session(separatesRegions: true)
        try session.step()
        try session.play(60)
        _ = try session.measure(seconds: 2)
        try session.play(60) { if $0 == 0 { session.scene.drawText(2) } }
        let page = try session.measure(seconds: 2)
        // Ten letters a second.
        try session.play(120) {
            if $0 < 60, $0 % 3 == 0 {
                session.scene.drawText(UInt64($0), PixelRect(x: 32 + 8 * $0 / 3, y: 512, width: 16, height: 16))
            }
        }
        let typing = try session.measure(seconds: 4)
        try session.play(75) { if $0 < 15 { session.scene.scroll() } }
        let scrolling = try session.measure(seconds: 2.5)
        for (name, result) in [("page", page), ("typing", typing), ("scrolling", scrolling)] {
            #expect(result.similarity >= 0.99, "\(name): \(result)")
            #expect(result.videoPSNR > 33 && result.framesPerSecond >= 18, "\(name): \(result)")
            #expect(result.kilobits < 1_650 && result.largest < 47_000, "\(name): \(result)")
        }
        #expect(typing.framesPerSecond > 29)
    }

    /// At 300 kbit/s a page takes seconds, but no frame holds the others up, and the video goes on.
    @Test func onASlowPathAPageComesInSmallFrames() throws {
        let session = Session(separatesRegions: true)
        try session.step()
        try session.play(60)
        session.pair.bitrate = .kilobits(300)
        try session.play(60)
        _ = try session.measure(seconds: 2)
        try session.play(300) { if $0 == 0 { session.scene.drawText(2) } }
        let page = try session.measure(seconds: 10)
        #expect(page.similarity > 0.97 && page.framesPerSecond >= 5, "\(page)")
        // A quarter of a second, and what predictions miss.
        #expect(page.kilobits < 345 && page.largest < 15_000, "\(page)")
    }

    /// It becomes coarser instead, and what is made is not ahead of the bitrate.
    @Test(arguments: [500, 900, 2_000])
    func aVideoKeepsItsFrameRateOnASlowPath(kilobits: Int) throws {
        let session = Session(separatesRegions: true)
        session.pair.bitrate = .kilobits(kilobits)
        try session.step()
        try session.play(120)
        _ = try session.measure(seconds: 4)
        try session.play(120)
        let video = try session.measure(seconds: 4)
        #expect(video.framesPerSecond >= 28 && video.kilobits < Double(kilobits) * 1.05, "\(video)")
        #expect(video.largest < kilobits * 1_000 / 8 / 30 * 3, "\(video)")
    }

    /// With --mode text or motion all blocks of a frame have one quantizer.
    @Test func regionsAreSeparatedOnRequestOnly() throws {
        let session = Session(separatesRegions: false)
        try session.step()
        try session.play(60)
        #expect(session.pair.encoder.regions.motion.count == 0)
        #expect(try session.measure(seconds: 2).similarity < 0.97)
    }

    @Test func onlyTheVideoIsMotion() throws {
        let session = Session(separatesRegions: true)
        try session.step()
        try session.play(45) { _ in session.scene.scroll() }
        let motion = session.pair.encoder.regions.motion
        var video = BlockMap(TextBesideVideo.size)
        video.insert(TextBesideVideo.video)
        let isInside = video.isSuperset(of: motion.blocks)
        #expect(isInside)
        // Also the blocks in which it ends.
        #expect(motion.count * 100 > video.count * 98)
        // It ends a moment after the video has, and the last picture becomes sharp.
        for _ in 0..<240 {
            _ = try session.pair.step(session.scene.canvas, BlockMap(TextBesideVideo.size), isRefinement: true)
        }
        let left = (motion: session.pair.encoder.regions.motion.count, soft: session.pair.encoder.unrefined?.count ?? 0)
        #expect(left.motion == 0 && left.soft == 0)
    }

    /// Also in the last row of blocks, which is half a block high.
    @Test func textThatScrollsIsNoMotion() throws {
        let size = PixelSize(width: 640, height: 360)
        let canvas = I420Buffer(size)
        let pair = CodecPair()
        pair.separatesRegions = true
        for seed in 0..<40 as Range<UInt64> {
            TextPage.draw(on: canvas, rect: PixelRect(size), seed: seed)
            _ = try pair.step(canvas, BlockMap(size, filled: true))
        }
        #expect(pair.encoder.regions.motion.count == 0)
    }

    /// Text with smooth edges: a block that looks natural once a while must not remain one of video.
    /// - Parameters:
    ///   - colours: the luma of background and text: black on white, light on dark, and of low contrast.
    ///   - step: pixels a frame: lines of a terminal, and a page that glides.
    @Test(arguments: [(235, 16), (43, 200), (43, 88)] as [(UInt8, UInt8)], [18, 3])
    func smoothTextThatScrollsIsNoMotion(colours: (UInt8, UInt8), step: Int) {
        let canvas = I420Buffer(PixelSize(width: 320, height: 240))
        let text = SmoothText(width: 320, background: colours.0, foreground: colours.1, seed: 7)
        var motion = MotionRegions()
        motion.restart(canvas.size)
        var most = 0
        for frame in 0..<300 {
            text.show(on: canvas, scrolled: frame * step)
            motion.note(
                BlockMap(canvas.size, filled: true), canvas.frame,
                at: MediaInstant(nanoseconds: Int64(frame) * 50_000_000))
            most = max(most, motion.count)
        }
        #expect(most == 0)
    }

    @Test func differencesReachTheWantedQuantizers() {
        // libvpx's table of VP8's indices is linear up to 5, and from 42 on in steps of three.
        #expect(VP8Segments.difference(from: 20, to: 20) == 0)
        #expect(VP8Segments.difference(from: 5, to: 2) == -3)
        #expect(VP8Segments.difference(from: 2, to: 5) == 3)
        // From index 79 (47) to 4: 75 less, which is next to 76 (46).
        #expect(abs(VP8Segments.difference(from: 47, to: 4) + 46) <= 1)
    }
}
