import MediaCore
import Testing
import WindowPlayout

struct LetterboxTests {
    @Test func frameOfTheWindowsSizeIsNotScaled() {
        let size = PixelSize(width: 1_920, height: 1_080)
        let box = Letterbox(frame: size, window: size)
        #expect(box.isUnscaled)
        #expect(box.place == PixelRect(size))
    }

    @Test(arguments: [1_921, 1_922, 1_923]) func fewPixelsMoreDoNotBlur(width: Int) {
        let frame = PixelSize(width: 1_920, height: 1_080)
        #expect(Letterbox(frame: frame, window: PixelSize(width: width, height: 1_082)).isUnscaled)
    }

    @Test(arguments: [(1_279, 719), (1_278, 718), (1_280, 717), (1_277, 900)])
    func fewPixelsLessDoNotBlur(width: Int, height: Int) {
        let frame = PixelSize(width: 1_280, height: 720)
        let box = Letterbox(frame: frame, window: PixelSize(width: width, height: height))
        #expect(box.isUnscaled && box.place.x == 0)
    }

    @Test func wideWindowHasBarsLeftAndRight() {
        let box = Letterbox(frame: PixelSize(width: 640, height: 360), window: PixelSize(width: 1_000, height: 360))
        #expect(box.place == PixelRect(x: 180, y: 0, width: 640, height: 360))
    }

    @Test func tallWindowHasBarsAboveAndBelow() {
        let box = Letterbox(frame: PixelSize(width: 640, height: 360), window: PixelSize(width: 320, height: 400))
        #expect(box.place == PixelRect(x: 0, y: 110, width: 320, height: 180))
        #expect(!box.isUnscaled)
    }

    @Test func smallestWindowStillHasAPlace() {
        let box = Letterbox(frame: PixelSize(width: 4_000, height: 2), window: PixelSize(width: 1, height: 1))
        #expect(box.place.width >= 2 && box.place.height >= 2)
    }
}
