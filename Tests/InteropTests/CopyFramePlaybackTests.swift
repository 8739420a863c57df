import BrowserControl
import Foundation
import MediaCore
import TestSupport
import Testing
import VPXCodec

extension InteropTests {
    /// Copy frames in browsers' decoders.
    @Suite struct CopyFramePlaybackTests {
        private static let size = PixelSize(width: 320, height: 240)

        /// A page that scrolls up and down by any distance, and a window that is dragged over it. Each frame's picture
        /// in Chromium is that of libvpx. Firefox hands out pictures in RGB: the luma of the last one, to which all
        /// before it lead, is that of libvpx.
        /// - Parameter hasUpdates: most of the rests are in the same frames.
        @Test(arguments: Browser.Kind.allCases, [false, true])
        func browsersShowCopyFramesBitForBit(kind: Browser.Kind, hasUpdates: Bool) async throws {
            let folder = try TemporaryFolder()
            let (frames, sums, luma, copies) = try Self.stream(hasUpdates)
            #expect((copies > 300) != hasUpdates, "\(copies)")
            let list = frames.map { "\"\(Data($0).base64EncodedString())\"" }.joined(separator: ",")
            let page =
                "<!DOCTYPE html><title>copies</title><script>const frames = [\(list)]; "
                + "const luma = \"\(Data(luma).base64EncodedString())\";\n\(Self.script)</script>"
            let file = folder.file("copies.html")
            try Data(page.utf8).write(to: URL(fileURLWithPath: file))
            try await Browser.with(kind) { browser in
                try await browser.open("file://" + file)
                let answer = try await browser.evaluate("decodeAll()", within: .seconds(60))
                #expect(answer["error"] == .null)
                #expect(answer["sums"].array?.count == frames.count)
                switch kind {
                case .chromium: #expect(answer["sums"].array?.compactMap { $0.number.map { UInt32($0) } } == sums)
                // RGB is rounded, and cut off where a colour has none.
                case .firefox: #expect(try #require(answer["error of luma"].number) < 2, "\(answer["error of luma"])")
                }
            }
        }

        /// The sum of the 32-bit words of Y, U and V, each before it multiplied by 31; of BGRX the mean error of the
        /// last frame's luma.
        private static let script = """
            let errorOfLuma = null
            async function sum(frame) {
              const bytes = new Uint8Array(frame.allocationSize())
              await frame.copyTo(bytes)
              const { format, timestamp } = frame
              frame.close()
              if (format !== "I420") {
                if (timestamp === (frames.length - 1) * 10000) errorOfLuma = compareLuma(bytes)
                return format
              }
              let value = 0
              for (const word of new Uint32Array(bytes.buffer)) value = (Math.imul(value, 31) + word) >>> 0
              return value
            }
            function compareLuma(bgrx) {
              const expected = atob(luma)
              let sum = 0
              for (let index = 0; index < expected.length; index++) {
                const [b, g, r] = bgrx.subarray(index * 4, index * 4 + 3)
                sum += Math.abs(16 + (65.738 * r + 129.057 * g + 25.064 * b) / 256 - expected.charCodeAt(index))
              }
              return sum / expected.length
            }
            async function decodeAll() {
              const sums = []
              let error = null
              const decoder = new VideoDecoder({
                output: (frame) => sums.push(sum(frame)), error: (reason) => { error = String(reason) },
              })
              decoder.configure({ codec: "vp8", codedWidth: \(size.width), codedHeight: \(size.height) })
              for (const [index, text] of frames.entries()) {
                const data = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
                decoder.decode(new EncodedVideoChunk({ type: index ? "delta" : "key", timestamp: index * 10000, data }))
                if (index % 20 === 19) await Promise.all(sums)
              }
              await decoder.flush()
              return { sums: await Promise.all(sums), error, "error of luma": errorOfLuma }
            }
            """

        private static func stream(
            _ hasUpdates: Bool
        ) throws -> (frames: [[UInt8]], sums: [UInt32], luma: [UInt8], copies: Int) {
            let canvas = I420Buffer(size)
            let (encoder, decoder) = (VP8Encoder(), VP8Decoder())
            encoder.usesUpdateFrames = hasUpdates
            var random = SeededGenerator(seed: 21)
            let page = random.bytes(2_000 * 20).map { $0 < 120 ? UInt8(200) : $0 / 2 }
            var (now, place, copies) = (MediaInstant(nanoseconds: 5_000_000_000), 800, 0)
            var frames: [[UInt8]] = []
            var sums: [UInt32] = []
            var last: I420Frame?
            for step in 0..<500 {
                place = min(max(place + random.below(161) - 80, 0), 1_700)
                draw(page, place, canvas)
                if step >= 250 { drag(page, step, canvas) }
                var changed = BlockMap(size, filled: true)
                var request = VideoEncodeRequest(bitrate: .kilobits(8_000))
                repeat {
                    now = now + .milliseconds(16)
                    guard let frame = try encoder.encode(canvas, changed: changed, at: now, request) else { break }
                    copies += encoder.continuesAtOnce ? 1 : 0
                    frames.append(Array(frame.bytes))
                    let shown = try #require(try decoder.decode(frame.bytes))
                    sums.append(sum(shown))
                    last = shown
                    changed.clear()
                    request.isRefinement = true
                } while encoder.continuesAtOnce
            }
            // Valid until the decoder's next call.
            let shown = try #require(last)
            let luma = withExtendedLifetime(decoder) {
                (0..<size.height).flatMap {
                    Array(UnsafeBufferPointer(start: shown.y + $0 * shown.strideY, count: size.width))
                }
            }
            return (frames, sums, luma, copies)
        }

        /// Lines of 20 cells, each of 16 x 3 pixels.
        private static func draw(_ page: [UInt8], _ place: Int, _ canvas: I420Buffer) {
            for row in 0..<size.height {
                for cell in 0..<20 {
                    (canvas.y + row * canvas.strideY + cell * 16).update(
                        repeating: page[(row + place) / 3 * 20 + cell], count: 16)
                    canvas.y[row * canvas.strideY + cell * 16 + (row + place) * 7 % 16] = 50
                }
            }
            for row in 0..<size.height / 2 {
                for cell in 0..<20 {
                    (canvas.u + row * canvas.strideC + cell * 8).update(
                        repeating: page[(row * 2 + place) / 20 * 20 + cell] / 8 + 112, count: 8)
                }
            }
        }

        private static func drag(_ page: [UInt8], _ step: Int, _ canvas: I420Buffer) {
            let (x, y) = (step * 13 % 120, step * 7 % 80)
            for row in 0..<150 {
                for column in 0..<190 {
                    canvas.y[(y + row) * canvas.strideY + x + column] = page[row * 190 + column]
                }
            }
        }

        private static func sum(_ frame: I420Frame) -> UInt32 {
            var value: UInt32 = 0
            func add(_ plane: UnsafePointer<UInt8>, _ stride: Int, _ width: Int, _ height: Int) {
                for row in 0..<height {
                    let line = UnsafeRawPointer(plane + row * stride)
                    var column = 0
                    while column < width {
                        value = value &* 31 &+ line.loadUnaligned(fromByteOffset: column, as: UInt32.self)
                        column += 4
                    }
                }
            }
            add(frame.y, frame.strideY, frame.size.width, frame.size.height)
            add(frame.u, frame.strideC, frame.size.width / 2, frame.size.height / 2)
            add(frame.v, frame.strideC, frame.size.width / 2, frame.size.height / 2)
            return value
        }
    }
}
