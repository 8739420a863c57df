import Foundation
import LinuxRuntime
import MediaCore
import Testing

@testable import WindowPlayout

// SDL is global to the process, so these tests are serialized with those of the window.
extension VideoWindowTests {
    /// Tests the keys, which xdotool presses.
    @Suite(.timeLimit(.minutes(1))) struct KeyTests {
        // The window must be released first: SDL blocks forever if the display ends before its window.
        private let window: VideoWindow
        private let display: PrivateDisplay
        private let heard = Heard()

        /// The values that the window reported.
        private final class Heard: @unchecked Sendable {
            // SAFETY: the window calls on the thread that runs it, which is the test's.
            var mutes: [Bool] = []
            var statistics: [Bool] = []
        }

        init() throws {
            display = try PrivateDisplay(width: 640, height: 360)
            setenv("DISPLAY", display.name, 1)
            setenv("SDL_VIDEODRIVER", "x11", 1)
            window = try VideoWindow(
                title: "share", converter: PlainConverter(), presentation: .surface,
                onMute: { [heard] in heard.mutes.append($0) }, onStatistics: { [heard] in heard.statistics.append($0) })
        }

        /// Without a window manager the window under the pointer receives the keys.
        private func press(_ keys: String...) throws {
            try display.run("xdotool", ["mousemove", "320", "180", "key"] + keys)
        }

        /// Runs the window until the screenshot matches, for 20 s at most.
        private func comes(_ isSo: (Screenshot) -> Bool) throws -> Bool {
            let limit = ContinuousClock.now + .seconds(20)
            repeat {
                if try window.run(until: soon()) == .closedByUser { return false }
                if isSo(try display.screenshot()) { return true }
            } while ContinuousClock.now < limit
            return false
        }

        private func soon(_ milliseconds: Int = 20) -> MediaInstant {
            MonotonicClock.now + .milliseconds(milliseconds)
        }

        private func showRed() throws {
            let canvas = I420Buffer(PixelSize(width: 200, height: 120))
            canvas.fill(PixelRect(canvas.size), y: 82, u: 90, v: 240)
            withExtendedLifetime(canvas) { window.show(canvas.frame) }
            #expect(try comes { $0.isNear([255, 0, 0], 320, 180) && !$0.isNear([255, 0, 0], 5, 5) })
        }

        @Test func escapeLeavesFullScreenFirstAndThenTheWindow() throws {
            try showRed()
            try press("f")
            #expect(try comes { $0.isNear([255, 0, 0], 60, 5) })
            try press("Escape")
            #expect(try comes { !$0.isNear([255, 0, 0], 60, 5) && $0.isNear([255, 0, 0], 320, 180) })
            try press("Escape")
            #expect(try window.run(until: soon(5_000)) == .closedByUser)
        }

        /// Of layouts whose letters are of another script, the keys are those at the places of the English ones.
        @Test(arguments: ["ru", "gr", "il", "de"])
        func theKeysAreFoundOnKeyboardsOfOtherScripts(layout: String) throws {
            try display.run("setxkbmap", [layout])
            try showRed()
            // 58 is M, and 39 is S.
            try press("58")
            #expect(try comes { _ in heard.mutes == [true] })
            try press("39")
            #expect(try comes { _ in heard.statistics == [true] })
        }

        @Test func muteIsShownAsLongAsItLasts() throws {
            func isShown(_ screen: Screenshot) -> Bool {
                (320..<640).contains { x in (100..<180).contains { y in screen.isNear([0x1E, 0x20, 0x24], x, y) } }
            }
            try showRed()
            try press("m")
            #expect(try comes(isShown))
            // The next frame does not erase the box.
            let canvas = I420Buffer(PixelSize(width: 200, height: 120))
            canvas.fill(PixelRect(canvas.size), y: 145, u: 54, v: 34)
            withExtendedLifetime(canvas) { window.show(canvas.frame) }
            #expect(try comes { $0.isNear([0, 255, 0], 320, 200) && isShown($0) })
            try press("m")
            #expect(try comes { !isShown($0) })
            #expect(heard.mutes == [true, false])
        }

        /// Where there is no audio, nothing is said of it.
        @Test func whatCannotBeHeardIsNotMuted() throws {
            func isShown(_ screen: Screenshot) -> Bool {
                (320..<640).contains { x in (100..<180).contains { y in screen.isNear([0x1E, 0x20, 0x24], x, y) } }
            }
            window.overlay.isMute = true
            window.overlay.hasAudio = false
            try showRed()
            #expect(try !isShown(display.screenshot()))
            try press("m", "s")
            #expect(try comes { _ in heard.statistics == [true] })
            #expect(try !isShown(display.screenshot()) && heard.mutes.isEmpty)
            window.noteAudio()
            #expect(try comes(isShown))
            try press("m")
            #expect(try comes { !isShown($0) })
            #expect(heard.mutes == [false])
        }

        @Test func statisticsAreShownWhenWanted() throws {
            func isShown(_ screen: Screenshot) -> Bool {
                (220..<320).contains { x in (120..<180).contains { y in screen.isNear([230, 230, 230], x, y) } }
            }
            try showRed()
            window.setStatistics("rtt 10 ms")
            #expect(try window.run(until: soon()) == .deadline)
            #expect(try !isShown(display.screenshot()))
            try press("s")
            #expect(try comes { _ in heard.statistics == [true] })
            window.setStatistics("rtt 10 ms")
            #expect(try comes(isShown))
            try press("s")
            #expect(try comes { !isShown($0) })
            #expect(heard.statistics == [true, false])
        }

        @Test func theReasonOfAnEndStaysUntilAKeyIsPressed() throws {
            try showRed()
            window.stop()
            #expect(try window.run() == .stopped)
            let presser = Thread { [display] in
                _ = try? display.run("xdotool", ["mousemove", "320", "180", "key", "--delay", "50", "Shift", "x"])
            }
            presser.start()
            #expect(try window.runUntilDismissed("The host has ended it.\nPress a key to close.") == .closedByUser)
            let screen = try display.screenshot()
            #expect((200..<440).contains { x in screen.isNear([230, 230, 230], x, 175) })
            #expect(screen.isNear([95, 0, 0], 320, 135))
        }

        @Test(arguments: ["F1", "question"]) func helpShowsTheKeysUntilItIsClosed(key: String) throws {
            func isShown(_ screen: Screenshot) -> Bool {
                screen.isNear([0x1E, 0x20, 0x24], 320, 130)
                    || (200..<440).contains { x in screen.isNear([0x1E, 0x20, 0x24], x, 170) }
            }
            try showRed()
            try press("f", key)
            #expect(try comes(isShown))
            // Escape closes the help first, not full screen.
            try press("Escape")
            #expect(try comes { !isShown($0) && $0.isNear([255, 0, 0], 60, 5) })
        }

        /// A picture of 200 x 120 pixels fills 640 x 360 as far as it can; at 1:1 it is in the middle.
        @Test func oneSwitchesBetweenTheFramesSizeAndTheWindows() throws {
            try showRed()
            try press("f")
            #expect(try comes { $0.isNear([255, 0, 0], 60, 5) })
            try press("1")
            #expect(try comes { !$0.isNear([255, 0, 0], 60, 5) && $0.isNear([255, 0, 0], 225, 125) })
            #expect(try !display.screenshot().isNear([255, 0, 0], 215, 125))
            try press("1")
            #expect(try comes { $0.isNear([255, 0, 0], 60, 5) })
        }

        /// The window is 576 x 324 pixels at 32, 18 and shows the middle of the frame at first.
        @Test func arrowsMoveAFrameThatIsLargerThanTheWindow() throws {
            let canvas = I420Buffer(PixelSize(width: 1_600, height: 900))
            canvas.fill(PixelRect(canvas.size), y: 82, u: 90, v: 240)
            canvas.fill(PixelRect(x: 0, y: 0, width: 32, height: 32), y: 145, u: 54, v: 34)
            withExtendedLifetime(canvas) { window.show(canvas.frame) }
            #expect(try comes { $0.isNear([0, 255, 0], 36, 22) })
            try press("1")
            #expect(try comes { $0.isNear([255, 0, 0], 36, 22) })
            try press(
                "Left", "Left", "Left", "Left", "Left", "Left", "Left", "Left", "Left", "Up", "Up", "Up", "Up", "Up",
                "Up")
            #expect(try comes { $0.isNear([0, 255, 0], 34, 20) && $0.isNear([0, 255, 0], 32 + 28, 18 + 28) })
            #expect(try display.screenshot().isNear([255, 0, 0], 32 + 36, 18 + 28))
        }

        @Test func dismissalBeforeTheReasonIsShownIsNotLost() throws {
            window.dismiss()
            #expect(try window.run() == .stopped)
            #expect(try window.runUntilDismissed("over") == .stopped)
        }
    }
}
