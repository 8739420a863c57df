import MediaCore
import Testing

@testable import X11Capture

extension X11Tests {
    @Suite struct CursorTests {
        private func start() throws -> (XvfbDisplay, Watcher) {
            let display = try XvfbDisplay()
            display.setCursor(0xff0000)
            try display.moveMouse(x: 100, y: 100)
            display.fill(x: 0, y: 0, width: 640, height: 480, 0x0000ff)
            return (display, try Watcher(display))
        }

        @Test func cursorIsDrawnWhereItsHotSpotSays() throws {
            let (display, watcher) = try start()
            #expect(watcher.shows(0xff0000, x: 97, y: 97))
            #expect(watcher.shows(0xff0000, x: 102, y: 102))
            #expect(watcher.shows(0x0000ff, x: 94, y: 100))
            #expect(watcher.shows(0x0000ff, x: 105, y: 100))
            withExtendedLifetime(display) {}
        }

        @Test func movingCursorLeavesNoTrail() throws {
            let (display, watcher) = try start()
            for x in stride(from: 110, through: 300, by: 19) {
                try display.moveMouse(x: x, y: 200)
                while !watcher.shows(0xff0000, x: x, y: 200) { try watcher.updateUntilChanged() }
            }
            try watcher.settle()
            for y in stride(from: 0, to: 480, by: 2) {
                for x in stride(from: 0, to: 640, by: 2) where !((294...306).contains(x) && (194...206).contains(y)) {
                    guard watcher.shows(0x0000ff, x: x, y: y) else {
                        Issue.record("a trail at \(x), \(y)")
                        return
                    }
                }
            }
        }

        @Test func movingCursorChangesOnlyWhereItWasAndIs() throws {
            let (display, watcher) = try start()
            let before = watcher.screen.reader.bytes
            try display.moveMouse(x: 408, y: 296)
            try watcher.updateUntilChanged()
            #expect(
                watcher.changed
                    == map(
                        watcher.canvas.size, PixelRect(x: 96, y: 96, width: 8, height: 8),
                        PixelRect(x: 404, y: 292, width: 8, height: 8)))
            #expect(watcher.screen.reader.bytes == before, "the screen itself was not read")
        }

        @Test func jumpThatAProgramMakesIsSeen() throws {
            let (display, watcher) = try start()
            display.warpMouse(x: 500, y: 400)
            while !watcher.shows(0xff0000, x: 500, y: 400) { try watcher.updateUntilChanged() }
            #expect(watcher.shows(0x0000ff, x: 100, y: 100))
        }

        @Test func restingCursorWakesNobody() throws {
            let (display, watcher) = try start()
            #expect(try watcher.wait(milliseconds: 100) == .woken)
            withExtendedLifetime(display) {}
        }

        @Test func newShapeShowsAtOnce() throws {
            let (display, watcher) = try start()
            display.setCursor(0x00ff00)
            while !watcher.shows(0x00ff00, x: 100, y: 100) { try watcher.updateUntilChanged() }
        }

        @Test func drawingUnderTheCursorKeepsItOnTop() throws {
            let (display, watcher) = try start()
            display.fill(x: 90, y: 90, width: 20, height: 20, 0xffffff)
            try watcher.updateUntilChanged()
            try watcher.settle()
            #expect(watcher.shows(0xff0000, x: 100, y: 100))
            #expect(watcher.shows(0xffffff, x: 92, y: 92))
        }

        @Test func cursorAtTheEdgeIsCut() throws {
            let (display, watcher) = try start()
            try display.moveMouse(x: 639, y: 479)
            while !watcher.shows(0xff0000, x: 638, y: 478) { try watcher.updateUntilChanged() }
            try display.moveMouse(x: 0, y: 0)
            while !watcher.shows(0xff0000, x: 1, y: 1) { try watcher.updateUntilChanged() }
            #expect(watcher.shows(0x0000ff, x: 638, y: 478))
        }
    }
}
