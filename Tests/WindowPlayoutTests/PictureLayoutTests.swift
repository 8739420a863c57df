import MediaCore
import Testing

@testable import WindowPlayout

struct PictureLayoutTests {
    @Test func frameOfTheWindowsSizeIsNotScaled() {
        let size = PixelSize(width: 1_920, height: 1_080)
        let box = PictureLayout(frame: size, window: size)
        #expect(box.isUnscaled)
        #expect(box.place == PixelRect(size))
    }

    @Test(arguments: [1_921, 1_922, 1_923]) func fewPixelsMoreDoNotBlur(width: Int) {
        let frame = PixelSize(width: 1_920, height: 1_080)
        #expect(PictureLayout(frame: frame, window: PixelSize(width: width, height: 1_082)).isUnscaled)
    }

    @Test(arguments: [(1_279, 719), (1_278, 718), (1_280, 717), (1_277, 900)])
    func fewPixelsLessDoNotBlur(width: Int, height: Int) {
        let frame = PixelSize(width: 1_280, height: 720)
        let box = PictureLayout(frame: frame, window: PixelSize(width: width, height: height))
        #expect(box.isUnscaled && box.place.x == 0)
    }

    @Test func wideWindowHasBarsLeftAndRight() {
        let box = PictureLayout(frame: PixelSize(width: 640, height: 360), window: PixelSize(width: 1_000, height: 360))
        #expect(box.place == PixelRect(x: 180, y: 0, width: 640, height: 360))
    }

    @Test func tallWindowHasBarsAboveAndBelow() {
        let box = PictureLayout(frame: PixelSize(width: 640, height: 360), window: PixelSize(width: 320, height: 400))
        #expect(box.place == PixelRect(x: 0, y: 110, width: 320, height: 180))
        #expect(!box.isUnscaled)
    }

    @Test func smallestWindowStillHasAPlace() {
        let box = PictureLayout(frame: PixelSize(width: 4_000, height: 2), window: PixelSize(width: 1, height: 1))
        #expect(box.place.width >= 2 && box.place.height >= 2)
    }

    @Test(arguments: [(1_919, 1_079), (1_901, 1_070), (1_939, 1_090), (1_905, 1_400)])
    func aWindowWithinOnePercentOfTheFrameDoesNotScale(width: Int, height: Int) {
        let frame = PixelSize(width: 1_920, height: 1_080)
        #expect(PictureLayout(frame: frame, window: PixelSize(width: width, height: height)).isUnscaled)
    }

    @Test(arguments: [(1_900, 1_080), (1_920, 1_069), (1_940, 1_092)])
    func anyOtherWindowScales(width: Int, height: Int) {
        let frame = PixelSize(width: 1_920, height: 1_080)
        #expect(!PictureLayout(frame: frame, window: PixelSize(width: width, height: height)).isUnscaled)
    }

    @Test func oneToOneBeginsInTheMiddleAndIsLeftToTheWholeFrame() {
        let layout = PictureLayout(
            frame: PixelSize(width: 1_920, height: 1_080), window: PixelSize(width: 1_280, height: 720))
        let view = layout.switched()
        #expect(view == PictureLayout.View(isOneToOne: true, x: 320, y: 180))
        let shown = PictureLayout(frame: layout.frame, window: layout.window, view: view)
        #expect(shown.isUnscaled && shown.isCut)
        #expect(shown.place == PixelRect(x: -320, y: -180, width: 1_920, height: 1_080))
        #expect(shown.source == PixelRect(x: 320, y: 180, width: 1_280, height: 720))
        #expect(shown.destination == PixelRect(layout.window))
        #expect(shown.switched() == PictureLayout.View())
    }

    @Test func panningEndsAtTheFramesEdges() {
        let layout = PictureLayout(
            frame: PixelSize(width: 1_920, height: 1_080), window: PixelSize(width: 1_281, height: 720),
            view: PictureLayout.View(isOneToOne: true))
        #expect(layout.panned(x: -64, y: -64) == PictureLayout.View(isOneToOne: true))
        // The last column is reached in a window of an odd width, too.
        #expect(layout.panned(x: .max, y: .max) == PictureLayout.View(isOneToOne: true, x: 640, y: 360))
        #expect(layout.panned(x: 65, y: 64) == PictureLayout.View(isOneToOne: true, x: 64, y: 64))
        let corner = PictureLayout(
            frame: layout.frame, window: layout.window, view: layout.panned(x: 5_000, y: 5_000))
        #expect(corner.destination == PixelRect(x: 0, y: 0, width: 1_280, height: 720))
        #expect(
            corner.visible(PixelRect(x: 624, y: 0, width: 32, height: 400))
                == PixelRect(x: 640, y: 360, width: 16, height: 40))
    }

    @Test func aSmallFrameAtOneToOneIsInTheMiddle() {
        let layout = PictureLayout(
            frame: PixelSize(width: 640, height: 360), window: PixelSize(width: 1_280, height: 720),
            view: PictureLayout.View(isOneToOne: true, x: 50, y: 50))
        #expect(layout.place == PixelRect(x: 320, y: 180, width: 640, height: 360))
        #expect(!layout.isCut && layout.view == PictureLayout.View(isOneToOne: true))
    }
}
