import MediaCore
import Testing

@testable import WindowPlayout

/// Where windows open.
struct WindowPlaceTests {
    /// A panel of 30 pixels above, and the frame of openbox.
    private let area = PixelRect(x: 0, y: 30, width: 1_280, height: 770)
    private let frame = WindowFrame(top: 22, left: 1, bottom: 5, right: 1)

    @Test(arguments: [
        PixelSize(width: 1_280, height: 800), PixelSize(width: 1_280, height: 720),
        PixelSize(width: 3_840, height: 2_160),
        PixelSize(width: 1_080, height: 1_920), PixelSize(width: 5_120, height: 720),
    ])
    func aLargePictureTakesAtMost90PercentOfTheWorkArea(size: PixelSize) {
        let place = WindowPlace(of: size, in: area, frame: frame)
        #expect(place.size.width <= 1_152 && place.size.height <= 693)
        #expect(place.size.width >= 1_148 || place.size.height >= 690)
        #expect(
            abs(place.size.width * size.height - place.size.height * size.width) <= 2 * size.height + 2 * size.width)
        // In the middle, with its frame inside.
        #expect(place.x - 1 >= 0 && place.y - 22 >= 30)
        #expect(abs(place.x + place.size.width / 2 - 640) <= 1 && abs(place.y + place.size.height / 2 - 423) <= 1)
    }

    @Test func aPictureThatFitsKeepsItsPixels() {
        for size in [PixelSize(width: 640, height: 360), PixelSize(width: 1_152, height: 648)] {
            #expect(WindowPlace(of: size, in: area, frame: frame).size == size)
        }
    }

    /// The screen was larger, or another one.
    @Test func aRememberedPlaceIsMovedIntoTheWorkArea() {
        func fitted(_ x: Int, _ y: Int, _ width: Int, _ height: Int) -> WindowPlace {
            WindowPlace(x: x, y: y, size: PixelSize(width: width, height: height)).fitted(into: area, frame: frame)
        }
        #expect(fitted(100, 100, 640, 360) == WindowPlace(x: 100, y: 100, size: PixelSize(width: 640, height: 360)))
        #expect(fitted(2_000, -50, 640, 360) == WindowPlace(x: 639, y: 52, size: PixelSize(width: 640, height: 360)))
        #expect(fitted(0, 0, 4_000, 3_000) == WindowPlace(x: 1, y: 52, size: PixelSize(width: 1_278, height: 743)))
    }

    @Test func thePlaceIsALineOfText() {
        let place = WindowPlace(x: 20, y: 30, size: PixelSize(width: 800, height: 450))
        #expect(place.text == "800x450+20+30")
        for place in [place, WindowPlace(x: -20, y: 0, size: PixelSize(width: 64, height: 36))] {
            #expect(WindowPlace(place.text) == place)
        }
        for text in ["", "800x450", "0x0+1+1", "800x450+1+99999999999999999999", "axb+c+d", "1x1+1+1+1"] {
            #expect(WindowPlace(text) == nil, "\(text)")
        }
    }
}
