import Foundation
import LinuxRuntime
import MediaCore
import Testing
import WindowPlayout

/// SDL has one display per process, and a window belongs to the thread that made it. The tests therefore run one at a
/// time, each on one thread.
@Suite(.serialized) struct VideoWindowTests {
    private func withWindow(
        _ width: Int, _ height: Int, _ presentation: VideoWindow.Presentation = .surface,
        startsFullscreen: Bool = false, place: WindowPlace? = nil,
        _ body: (VideoWindow, PrivateDisplay) throws -> Void
    ) throws {
        let display = try PrivateDisplay(width: width, height: height)
        setenv("DISPLAY", display.name, 1)
        setenv("SDL_VIDEODRIVER", "x11", 1)
        let window = try VideoWindow(
            title: "share", converter: PlainConverter(), place: place, startsFullscreen: startsFullscreen,
            presentation: presentation)
        try body(window, display)
    }

    /// Handles all pending events. Frames that `run` presented are on the screen when it returns.
    private func settle(_ window: VideoWindow) throws {
        let end = try window.run(until: MediaInstant(nanoseconds: 0))
        #expect(end == .deadline)
    }

    /// Waits up to 20 s until the screenshot matches, as the X server draws asynchronously.
    private func comes(
        _ window: VideoWindow, _ display: PrivateDisplay, _ isSo: (Screenshot) -> Bool
    ) throws -> Bool {
        let deadline = ContinuousClock.now + .seconds(20)
        repeat {
            try settle(window)
            if isSo(try display.screenshot()) { return true }
        } while ContinuousClock.now < deadline
        return false
    }

    private func redWithGreenCorner(_ size: PixelSize) -> I420Buffer {
        let canvas = I420Buffer(size)
        canvas.fill(PixelRect(size), y: 82, u: 90, v: 240)
        canvas.fill(PixelRect(x: 0, y: 0, width: 32, height: 32), y: 145, u: 54, v: 34)
        return canvas
    }

    /// White and black lines from above to below, two pixels wide.
    private func stripes(_ size: PixelSize) -> I420Buffer {
        let canvas = I420Buffer(size)
        canvas.fill(PixelRect(size), y: 16, u: 128, v: 128)
        for x in stride(from: 0, to: size.width, by: 4) {
            canvas.fill(PixelRect(x: x, y: 0, width: 2, height: size.height), y: 235, u: 128, v: 128)
        }
        return canvas
    }

    @Test(arguments: [VideoWindow.Presentation.surface, .texture])
    func frameOfTheScreensSizeIsWholeInTheMiddleOfTheScreen(_ presentation: VideoWindow.Presentation) throws {
        try withWindow(640, 360, presentation) { window, display in
            let canvas = redWithGreenCorner(PixelSize(width: 640, height: 360))
            window.show(canvas.frame)
            try settle(window)
            var screen = try display.screenshot()
            // 576 x 324 pixels: 90 % of the screen.
            #expect(screen.isNear([255, 0, 0], 32 + 574, 18 + 322))
            #expect(screen.isNear([0, 255, 0], 33, 19))
            #expect(!screen.isNear([0, 255, 0], 30, 19) && !screen.isNear([0, 255, 0], 33, 16))
            // A few blocks change.
            canvas.fill(PixelRect(x: 320, y: 160, width: 64, height: 32), y: 235, u: 128, v: 128)
            window.show(canvas.frame)
            try settle(window)
            screen = try display.screenshot()
            #expect(screen.isNear([255, 255, 255], 32 + 294, 18 + 150))
            #expect(screen.isNear([255, 255, 255], 32 + 340, 18 + 168))
            #expect(screen.isNear([255, 0, 0], 32 + 352, 18 + 168))
        }
    }

    /// Only changed blocks are drawn, also where the frame is a little larger than the window.
    @Test(arguments: [VideoWindow.Presentation.surface, .texture])
    func aWindowThatIsAFewPixelsTooSmallShowsWholePixels(_ presentation: VideoWindow.Presentation) throws {
        try withWindow(
            800, 600, presentation, place: WindowPlace(x: 50, y: 40, size: PixelSize(width: 639, height: 357))
        ) { window, display in
            let canvas = stripes(PixelSize(width: 640, height: 360))
            window.show(canvas.frame)
            try settle(window)
            var screen = try display.screenshot()
            // Scaled by 0.998, some of the lines would be grey.
            for x in stride(from: 0, to: 636, by: 4) {
                #expect(
                    screen.isNear([255, 255, 255], 50 + x, 60) && screen.isNear([0, 0, 0], 50 + x + 2, 60), "\(x)")
            }
            canvas.fill(PixelRect(x: 624, y: 344, width: 16, height: 16), y: 145, u: 54, v: 34)
            window.show(canvas.frame)
            try settle(window)
            screen = try display.screenshot()
            #expect(screen.isNear([0, 255, 0], 50 + 638, 40 + 356))
        }
    }

    /// A frame of 1920 x 1080 pixels in a window of 1919.
    @Test(arguments: [VideoWindow.Presentation.surface, .texture])
    func aWindowWithinOnePercentOfTheFrameShowsItsPixels(_ presentation: VideoWindow.Presentation) throws {
        try withWindow(
            2_000, 1_200, presentation, place: WindowPlace(x: 20, y: 40, size: PixelSize(width: 1_919, height: 1_072))
        ) { window, display in
            let canvas = stripes(PixelSize(width: 1_920, height: 1_080))
            window.show(canvas.frame)
            try settle(window)
            let screen = try display.screenshot()
            for x in 0..<1_919 {
                let expected: [Int] = x % 4 < 2 ? [255, 255, 255] : [0, 0, 0]
                guard !screen.isNear(expected, 20 + x, 600) else { continue }
                Issue.record("column \(x)")
                break
            }
        }
    }

    @Test func aWindowIsWhereItsUserHasLeftItAndStaysInsideTheScreen() throws {
        try withWindow(
            800, 600, place: WindowPlace(x: 700, y: 100, size: PixelSize(width: 320, height: 180))
        ) { window, display in
            let canvas = redWithGreenCorner(PixelSize(width: 640, height: 360))
            window.show(canvas.frame)
            try settle(window)
            let screen = try display.screenshot()
            #expect(screen.isNear([0, 255, 0], 800 - 320 + 3, 103))
            #expect(screen.isNear([255, 0, 0], 797, 277))
            #expect(window.chosenPlace == nil)
        }
    }

    @Test func largeFrameIsScaledAndKeepsItsShape() throws {
        try withWindow(400, 400) { window, display in
            let canvas = redWithGreenCorner(PixelSize(width: 800, height: 400))
            window.show(canvas.frame)
            try settle(window)
            let screen = try display.screenshot()
            // 360 x 180 pixels.
            #expect(screen.isNear([0, 255, 0], 24, 114))
            #expect(screen.isNear([255, 0, 0], 377, 287))
            #expect(!screen.isNear([255, 0, 0], 377, 293) && !screen.isNear([255, 0, 0], 383, 287))
        }
    }

    @Test func fullScreenNeedsNoWindowManager() throws {
        try withWindow(500, 300, startsFullscreen: true) { window, display in
            let canvas = redWithGreenCorner(PixelSize(width: 100, height: 60))
            window.show(canvas.frame)
            try settle(window)
            let screen = try display.screenshot()
            #expect(screen.isNear([0, 255, 0], 2, 2))
            #expect(screen.isNear([255, 0, 0], 497, 297))
        }
    }

    @Test(arguments: [VideoWindow.Presentation.surface, .texture])
    func statusIsReadableBeforeAndOverTheVideo(_ presentation: VideoWindow.Presentation) throws {
        try withWindow(640, 360, presentation) { window, display in
            func ink(_ screen: Screenshot) -> Int {
                var count = 0
                for y in 150..<210 {
                    for x in 0..<640 where screen.isNear([230, 230, 230], x, y) { count += 1 }
                }
                return count
            }
            window.setStatus("waiting for the host's answer \u{2026}")
            try settle(window)
            var screen = try display.screenshot()
            #expect(ink(screen) > 100)
            #expect(screen.isNear([0x1E, 0x20, 0x24], 40, 25))
            let canvas = redWithGreenCorner(PixelSize(width: 640, height: 360))
            window.show(canvas.frame)
            try settle(window)
            screen = try display.screenshot()
            #expect(ink(screen) == 0)
            #expect(screen.isNear([255, 0, 0], 320, 180))
            window.setStatus("The host has stopped sharing.")
            try settle(window)
            screen = try display.screenshot()
            #expect(ink(screen) > 100)
            #expect(screen.isNear([255, 0, 0], 320, 40))
            // Until something else is set.
            window.setStatus("The host has hidden the picture", isLasting: true)
            window.show(canvas.frame)
            try settle(window)
            #expect(ink(try display.screenshot()) > 100)
            window.setStatus(nil)
            try settle(window)
            #expect(ink(try display.screenshot()) == 0)
        }
    }

    @Test(arguments: [VideoWindow.Presentation.surface, .texture])
    func commentsStandAtTheBottomLeftForATime(_ presentation: VideoWindow.Presentation) throws {
        try withWindow(640, 360, presentation) { window, display in
            func ink(_ screen: Screenshot) -> Int {
                var count = 0
                for y in 300..<360 {
                    for x in 0..<320 where screen.isNear([230, 230, 230], x, y) { count += 1 }
                }
                return count
            }
            let canvas = redWithGreenCorner(PixelSize(width: 640, height: 360))
            window.show(canvas.frame)
            window.showComment("Ann: which of these?", for: .seconds(60))
            #expect(try comes(window, display) { ink($0) > 40 })
            // Frames do not take it away, and it leaves the rest of the picture alone.
            window.show(canvas.frame)
            #expect(try comes(window, display) { ink($0) > 40 && $0.isNear([255, 0, 0], 320, 180) })
            let one = ink(try display.screenshot())
            window.showComment("Bob: the second", for: .milliseconds(50))
            #expect(try comes(window, display) { ink($0) == one }, "it stays")
            for _ in 0..<6 { window.showComment("x", for: .milliseconds(50)) }
            // The first one has made room for others.
            #expect(try comes(window, display) { ink($0) == 0 && $0.isNear([255, 0, 0], 60, 322) })
        }
    }

    @Test(arguments: [VideoWindow.Presentation.surface, .texture])
    func anOldFrameIsDimmedUntilTheStatusIsRemoved(_ presentation: VideoWindow.Presentation) throws {
        try withWindow(640, 360, presentation) { window, display in
            let canvas = redWithGreenCorner(PixelSize(width: 640, height: 360))
            withExtendedLifetime(canvas) { window.show(canvas.frame) }
            #expect(try comes(window, display) { $0.isNear([255, 0, 0], 320, 40) })
            window.setStatus("connection lost, trying again ... 3 s", isDimming: true)
            #expect(try comes(window, display) { $0.isNear([95, 0, 0], 320, 40) })
            // A new status text does not dim the same frame again.
            let words = try display.screenshot()
            window.setStatus("connection lost, trying again ... 14 s", isDimming: true)
            #expect(try comes(window, display) { $0.bytes != words.bytes })
            #expect(try comes(window, display) { $0.isNear([95, 0, 0], 320, 40) })
            window.setStatus(nil)
            #expect(try comes(window, display) { $0.isNear([255, 0, 0], 320, 40) })
        }
    }

    @Test func stopEndsARunThatSleeps() throws {
        try withWindow(320, 200) { window, _ in
            let thread = Thread { window.stop() }
            thread.start()
            let end = try window.run()
            #expect(end == .stopped)
        }
    }

    @Test func aFrameForLaterIsPresentedByTheSleepingWindowAtItsTime() throws {
        try withWindow(320, 200) { window, display in
            let canvas = I420Buffer(PixelSize(width: 320, height: 200))
            canvas.fill(PixelRect(canvas.size), y: 82, u: 90, v: 240)
            window.show(canvas.frame)
            let begin = MonotonicClock.now
            canvas.fill(PixelRect(canvas.size), y: 235, u: 128, v: 128)
            window.show(canvas.frame, at: begin + .seconds(1))
            #expect(MonotonicClock.now - begin < .milliseconds(900), "the decoder waited")
            var end = try window.run(until: begin + .milliseconds(200))
            #expect(end == .deadline)
            var screen = try display.screenshot()
            #expect(screen.isNear([255, 0, 0], 160, 100))
            end = try window.run(until: begin + .milliseconds(1_500))
            #expect(end == .deadline)
            screen = try display.screenshot()
            #expect(screen.isNear([255, 255, 255], 160, 100))
        }
    }

    @Test func frameFromAnotherThreadWakesTheWindow() throws {
        try withWindow(320, 200) { window, display in
            try settle(window)
            let thread = Thread {
                let canvas = I420Buffer(PixelSize(width: 320, height: 200))
                canvas.fill(PixelRect(canvas.size), y: 235, u: 128, v: 128)
                window.show(canvas.frame)
                window.stop()
            }
            thread.start()
            #expect(try window.run() == .stopped)
            #expect(try display.screenshot().isNear([255, 255, 255], 160, 100))
        }
    }

    /// On a display other than X11 SDL waits for events, and the wake-up is an event in its queue.
    @Test func anotherKindOfDisplayIsWokenToo() throws {
        setenv("SDL_VIDEODRIVER", "dummy", 1)
        let window = try VideoWindow(title: "share", converter: PlainConverter())
        try settle(window)
        let thread = Thread {
            let canvas = I420Buffer(PixelSize(width: 320, height: 200))
            for luma in 0..<100 {
                canvas.fill(PixelRect(canvas.size), y: UInt8(100 + luma), u: 128, v: 128)
                window.show(canvas.frame)
            }
            window.stop()
        }
        thread.start()
        #expect(try window.run() == .stopped)
    }

    @Test func missingDisplayIsNamed() {
        setenv("DISPLAY", ":4093", 1)
        setenv("SDL_VIDEODRIVER", "x11", 1)
        let failure = #expect(throws: SourceFailure.self) {
            try VideoWindow(title: "share", converter: PlainConverter())
        }
        #expect(failure?.code == .noDisplay)
        #expect(failure?.remedy.isEmpty == false)
    }
}
