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
            bytes += step.bytes.count
            largest = max(largest, step.bytes.count)
            frames += 1
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

        func report(_ what: String, seconds: Double) throws -> Double {
            let decoded = try #require(last).decoded
            let similarity = TextBesideVideo.textSimilarity(decoded, scene.canvas.frame)
            let error = lumaError(decoded, scene.canvas.frame, in: TextBesideVideo.video)
            let pixels = Double(TextBesideVideo.video.width * TextBesideVideo.video.height)
            print(
                "REGION", what, "SSIM", similarity, "video PSNR", 10 * log10(255 * 255 * pixels / Double(error)), "frames",
                Double(frames) / seconds, "kbit/s", Double(bytes) * 8 / 1000 / seconds, "largest", largest)
            restart()
            return similarity
        }
    }

    @Test(arguments: [false, true]) func textIsSharpTwoSecondsAfterItsLastChangeWhileAVideoPlays(yes: Bool) throws {
        let session = Session(separatesRegions: yes)
        try session.step()
        try session.play(60)
        _ = try session.report("start", seconds: 2)
        try session.play(60) { if $0 == 0 { session.scene.drawText(2) } }
        let page = try session.report("page", seconds: 2)
        // Typing: ten letters a second for two seconds.
        try session.play(120) {
            if $0 < 60, $0 % 3 == 0 {
                session.scene.drawText(UInt64($0), PixelRect(x: 32 + 8 * $0 / 3, y: 512, width: 16, height: 16))
            }
        }
        let typing = try session.report("typing", seconds: 4)
        try session.play(75) { if $0 < 15 { session.scene.scroll() } }
        let scrolling = try session.report("scroll", seconds: 2.5)
        #expect(page >= 0.99 && typing >= 0.99 && scrolling >= 0.99)
    }
}
