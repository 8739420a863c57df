import MediaCore
import Testing

@Suite struct CameraImageTests {
    private func layout(
        _ format: CameraImage.Format, _ width: Int, _ height: Int, stride: Int = 0, count: Int
    ) -> CameraImage.Layout? {
        CameraImage.Layout(format, PixelSize(width: width, height: height), stride: stride, count: count)
    }

    @Test(
        arguments: [
            (.yuyv, 640, 480, 1_280, 614_400), (.uyvy, 641, 479, 1_284, 615_036), (.nv12, 640, 480, 640, 460_800),
            (.nv12, 640, 479, 640, 460_160), (.i420, 640, 480, 640, 460_800), (.bgrx, 640, 480, 2_560, 1_228_800),
            (.rgb, 33, 21, 99, 2_079), (.gray, 33, 21, 33, 693), (.jpeg, 640, 480, 0, 20_000),
        ] as [(CameraImage.Format, Int, Int, Int, Int)])
    func wholeImageHasALayoutAndOneByteLessHasNone(
        format: CameraImage.Format, width: Int, height: Int, stride: Int, count: Int
    ) throws {
        let known = try #require(layout(format, width, height, stride: stride, count: count))
        #expect(known.size.width == width && known.stride == stride)
        if format != .jpeg { #expect(layout(format, width, height, stride: stride, count: count - 1 - stride) == nil) }
        // Without a stride, rows follow each other.
        #expect(layout(format, width, height, count: count) != nil)
    }

    @Test(arguments: CameraImage.Format.allCases)
    func nonsenseHasNoLayout(format: CameraImage.Format) {
        #expect(layout(format, 0, 480, count: 1_000_000) == nil)
        #expect(layout(format, 640, -1, count: 1_000_000) == nil)
        #expect(layout(format, 20_000, 2, count: 1_000_000) == nil)
        #expect(layout(format, 640, 480, stride: -640, count: 1_000_000_000) == nil)
        #expect(layout(format, 640, 480, stride: Int.max, count: Int.max) == nil)
        #expect(layout(format, 640, 480, count: 0) == nil)
    }

    @Test func planesOfGStreamerArePaddedToFourBytes() throws {
        // 322 x 242: Y has rows of 324 bytes, U and V of 164.
        let padded = try #require(layout(.i420, 322, 242, stride: 324, count: 324 * 242 + 164 * 242))
        #expect(padded.chromaStride == 164 && padded.secondPlane == 324 * 242)
        #expect(padded.thirdPlane == 324 * 242 + 164 * 121)
        let halved = try #require(layout(.i420, 322, 242, stride: 324, count: 324 * 242 * 3 / 2))
        #expect(halved.chromaStride == 162)
    }
}

@Suite struct OverlayPlacementTests {
    private let frame = PixelSize(width: 1_920, height: 1_080)

    @Test(arguments: ["top-left", "top-right", "bottom-left", "bottom-right", "0,0", "100,50"])
    func textNamesThePlace(text: String) { #expect(OverlayPlace(parsing: text)?.text == text) }

    @Test(arguments: ["", "middle", "1", "1,", ",1", "-1,2", "1,2,3", "1,99999", "top", "a,b"])
    func otherTextIsNoPlace(text: String) { #expect(OverlayPlace(parsing: text) == nil) }

    @Test(arguments: ["5%", "100%", "32", "8192"])
    func textNamesTheSize(text: String) { #expect(OverlaySize(parsing: text)?.text == text) }

    @Test(arguments: ["", "%", "4%", "101%", "31", "8193", "-20%", "20 %", "x"])
    func otherTextIsNoSize(text: String) { #expect(OverlaySize(parsing: text) == nil) }

    @Test func cornersAreOnWholeBlocks() {
        let size = PixelSize(width: 384, height: 288)
        #expect(OverlayPlace.topLeft.rect(of: size, in: frame) == PixelRect(x: 16, y: 16, width: 384, height: 288))
        #expect(
            OverlayPlace.bottomRight.rect(of: size, in: frame) == PixelRect(x: 1_520, y: 768, width: 384, height: 288))
    }

    @Test func pictureStaysInsideOfAnyFrame() {
        for width in stride(from: 2, through: 400, by: 2) {
            let frame = PixelSize(width: width, height: 402 - width)
            for size in [OverlaySize.standard, .percent(100), .width(320)] {
                guard let picture = size.size(of: PixelSize(width: 640, height: 480), in: frame) else { continue }
                #expect(picture == picture.even)
                for place in [OverlayPlace.topLeft, .bottomRight, .point(x: 333, y: 77)] {
                    let rect = place.rect(of: picture, in: frame)
                    #expect(rect != nil && rect?.clipped(to: frame) == rect && (rect?.x ?? 0) % 2 == 0)
                }
            }
        }
    }

    @Test func sizeKeepsTheProportions() {
        #expect(
            OverlaySize.standard.size(of: PixelSize(width: 640, height: 480), in: frame)
                == PixelSize(width: 384, height: 288))
        #expect(
            OverlaySize.percent(100).size(of: PixelSize(width: 640, height: 480), in: frame)
                == PixelSize(width: 1_440, height: 1_080))
    }
}
