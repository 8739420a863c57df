import CXCB
import LinuxRuntime
import MediaCore
import PixelConversion
import Testing

@testable import X11Capture

extension X11Tests {
    /// Windows, regions and monitors, and what is hidden of a screen.
    @Suite struct SourceTests {
        private let red: UInt32 = 0xe01010
        private let green: UInt32 = 0x10c020
        private let blue: UInt32 = 0x2030d0

        private func failure(_ display: XvfbDisplay, _ source: CaptureSource) -> SourceFailure? {
            do throws(SourceFailure) {
                _ = try X11Screen(display: display.name, source: source, converter: YUVConverter())
                return nil
            } catch {
                return error
            }
        }

        /// What lies above a window is not in its picture, and moving it changes nothing.
        @Test func aWindowIsSeenBehindOthersAndWhereItMoves() throws {
            let display = try XvfbDisplay()
            let shown = try display.window(x: 40, y: 30, width: 101, height: 80, red, title: "Report")
            let above = try display.window(x: 20, y: 20, width: 300, height: 300, green, title: "Chat")
            let watcher = try Watcher(display, .window(.id(shown)))
            // An odd side loses its last column.
            #expect(watcher.screen.size == PixelSize(width: 100, height: 80))
            for (x, y) in [(0, 0), (99, 0), (50, 40), (99, 79)] { #expect(watcher.shows(red, x: x, y: y)) }
            display.move(shown, x: 300, y: 200)
            display.move(above, x: 290, y: 190)
            try watcher.settle()
            #expect(watcher.shows(red, x: 50, y: 40))
            display.paint(shown, blue)
            try watcher.updateUntilChanged()
            try watcher.settle()
            #expect(watcher.shows(blue, x: 0, y: 0) && watcher.shows(blue, x: 99, y: 79))
        }

        /// Nothing is scaled, and no border or frame is in it. An odd side loses its last row or column.
        @Test(arguments: [(1_280, 720), (1_279, 719), (640, 361)], [0, 1, 5])
        func aWindowKeepsItsPixels(_ size: (Int, Int), _ border: Int) throws {
            let display = try XvfbDisplay(width: 1_400, height: 800)
            let (width, height) = (size.0, size.1)
            let shown = try display.window(x: 0, y: 0, width: width, height: height, red, title: "Report")
            display.setBorder(shown, width: border, green)
            // As a window manager does it.
            let frame = try display.window(
                x: 30, y: 20, width: width + 7, height: height + 30, blue, title: "")
            display.reparent(shown, into: frame, x: 3, y: 24)
            let watcher = try Watcher(display, .window(.id(shown)))
            let seen = PixelSize(width: width & ~1, height: height & ~1)
            #expect(watcher.screen.size == seen)
            // Each pixel of the rim has its own 2 x 2 block.
            for (x, y) in [(0, 0), (seen.width - 2, 0), (0, seen.height - 2), (seen.width - 2, seen.height - 2)] {
                display.fill(x: x, y: y, width: 2, height: 2, 0xFF_FFFF, in: shown)
            }
            try watcher.updateUntilChanged()
            try watcher.settle()
            for (x, y) in [(0, 0), (seen.width - 1, 0), (0, seen.height - 1), (seen.width - 1, seen.height - 1)] {
                #expect(watcher.shows(0xFF_FFFF, x: x, y: y), "\(x), \(y)")
            }
            for (x, y) in [(2, 2), (seen.width - 3, 2), (2, seen.height - 3), (seen.width / 2, seen.height / 2)] {
                #expect(watcher.shows(red, x: x, y: y), "\(x), \(y)")
            }
        }

        /// A window manager takes the border away while the window is looked at: 1,280 x 720 is never 1,278 x 718.
        @Test func aWindowIsOfItsSizeWhileItsBorderChanges() throws {
            let display = try XvfbDisplay(width: 1_400, height: 800)
            let shown = try display.window(x: 0, y: 0, width: 1_280, height: 720, red, title: "Report")
            let watcher = try Watcher(display, .window(.id(shown)))
            let size = PixelSize(width: 1_280, height: 720)
            #expect(watcher.screen.size == size)
            let isOver = Monitor(false)
            _ = NamedThread("border") {
                for step in 0..<2_000 { display.setBorder(shown, width: step % 3, green) }
                display.setBorder(shown, width: 0, green)
                isOver.change { $0 = true }
            }
            var sizes: Set<PixelSize> = []
            while !isOver.with({ $0 }) {
                if case .resized(let other) = try watcher.wait(milliseconds: 20) {
                    sizes.insert(other)
                    watcher.adoptSize()
                }
                try watcher.update()
            }
            #expect(sizes.subtracting([size]).isEmpty, "\(sizes)")
            display.paint(shown, blue)
            try watcher.updateUntilChanged()
            try watcher.settle()
            #expect(watcher.screen.size == size && watcher.shows(blue, x: 1_279, y: 719))
        }

        /// It has another pixmap then, with what is drawn from now on.
        @Test(arguments: [(120, 80, 0), (100, 80, 3)])
        func aWindowThatHadAnotherSizeForAMomentIsSeen(_ other: (width: Int, height: Int, border: Int)) throws {
            let display = try XvfbDisplay()
            let shown = try display.window(x: 0, y: 0, width: 100, height: 80, red, title: "Report")
            let watcher = try Watcher(display, .window(.id(shown)))
            for color in [green, blue, red] {
                display.setBorder(shown, width: other.border, green)
                display.resize(shown, width: other.width, height: other.height)
                display.setBorder(shown, width: 0, green)
                display.resize(shown, width: 100, height: 80)
                display.paint(shown, color)
                let deadline = MonotonicClock.now + .seconds(20)
                while !watcher.shows(color, x: 50, y: 40), MonotonicClock.now < deadline {
                    if case .resized = try watcher.wait(milliseconds: 100) { watcher.adoptSize() }
                    try watcher.update()
                }
                #expect(watcher.shows(color, x: 50, y: 40))
            }
            #expect(watcher.screen.size == PixelSize(width: 100, height: 80))
        }

        @Test func aWindowsNewSizeIsTold() throws {
            let display = try XvfbDisplay()
            let shown = try display.window(x: 0, y: 0, width: 100, height: 80, red, title: "Report")
            let watcher = try Watcher(display, .window(.title("repo")))
            display.resize(shown, width: 200, height: 60)
            while try watcher.wait() != .resized(PixelSize(width: 200, height: 60)) { try watcher.update() }
            watcher.adoptSize()
            try watcher.update()
            display.paint(shown, green)
            try watcher.updateUntilChanged()
            try watcher.settle()
            #expect(watcher.shows(green, x: 199, y: 59))
            // 1 x 1: the least frame is 2 x 2, and what the window lacks is black.
            display.resize(shown, width: 1, height: 1)
            while try watcher.wait() != .resized(PixelSize(width: 2, height: 2)) { try watcher.update() }
        }

        @Test func aClosedWindowIsBlackUntilItIsOpenedAgain() throws {
            let display = try XvfbDisplay()
            let said = Monitor<[String]>([])
            let first = try display.window(x: 0, y: 0, width: 100, height: 80, red, title: "Report")
            let watcher = try Watcher(display, .window(.id(first))) { text in said.with { $0.append(text) } }
            display.close(first)
            try watcher.updateUntilChanged()
            try watcher.settle()
            #expect(watcher.shows(0, x: 50, y: 40))
            // Another window is not shown in its place.
            let other = try display.window(x: 200, y: 0, width: 100, height: 80, green, title: "Chat")
            try watcher.settle()
            #expect(watcher.shows(0, x: 50, y: 40))
            let again = try display.window(x: 10, y: 10, width: 100, height: 80, blue, title: "Report")
            while !watcher.shows(blue, x: 50, y: 40) { try watcher.updateUntilChanged() }
            #expect(said.with { $0.count } == 2)
            #expect(said.with { $0.first?.contains("was closed") } == true)
            #expect(said.with { $0.last?.contains("is open again") } == true)
            display.close(other)
            display.close(again)
        }

        @Test func aRegionIsItsPartOfTheScreen() throws {
            let display = try XvfbDisplay()
            display.fill(x: 0, y: 0, width: 640, height: 480, green)
            display.fill(x: 100, y: 50, width: 60, height: 40, red)
            let watcher = try Watcher(display, .region(PixelRect(x: 100, y: 50, width: 80, height: 60)))
            #expect(watcher.screen.size == PixelSize(width: 80, height: 60))
            #expect(watcher.shows(red, x: 0, y: 0) && watcher.shows(red, x: 58, y: 38))
            #expect(watcher.shows(green, x: 70, y: 20) && watcher.shows(green, x: 20, y: 50))
            // What is drawn elsewhere wakes nobody.
            display.fill(x: 300, y: 300, width: 50, height: 50, blue)
            #expect(try watcher.wait(milliseconds: 100) == .woken)
            display.fill(x: 170, y: 100, width: 50, height: 50, blue)
            try watcher.updateUntilChanged()
            #expect(watcher.shows(blue, x: 76, y: 56))
        }

        @Test func theMonitorHasANumberAndAName() throws {
            let display = try XvfbDisplay()
            let sources = try DesktopSources(display: display.name)
            #expect(sources.monitors.map(\.number) == [1])
            let monitor = try #require(sources.monitors.first)
            #expect(monitor.rect == PixelRect(x: 0, y: 0, width: 640, height: 480))
            for wanted in [CaptureSource.Monitor.number(1), .name(monitor.name), .name(monitor.name.uppercased())] {
                let watcher = try Watcher(display, .monitor(wanted))
                #expect(watcher.screen.size == PixelSize(width: 640, height: 480))
            }
            let missing = failure(display, .monitor(.number(7)))
            #expect(missing?.code == .noSuchDevice && missing?.message == "there is no monitor:7")
            #expect(missing?.remedy.contains("1 (\(monitor.name), 640 x 480)") == true)
        }

        /// Monitors of Xvfb are set by hand: two beside each other, one of which is unplugged and plugged again.
        @Test func oneOfTwoMonitorsIsSharedAndSurvivesThatItIsUnplugged() throws {
            let display = try XvfbDisplay()
            try display.setMonitor("LEFT", PixelRect(x: 0, y: 0, width: 400, height: 480), hasOutput: true)
            try display.setMonitor("RIGHT", PixelRect(x: 400, y: 0, width: 240, height: 480))
            display.fill(x: 0, y: 0, width: 400, height: 480, red)
            display.fill(x: 400, y: 0, width: 240, height: 480, green)
            let monitors = try DesktopSources(display: display.name).monitors
            #expect(Set(monitors.map(\.name)) == ["LEFT", "RIGHT"] && monitors.map(\.number) == [1, 2])
            let said = Monitor<[String]>([])
            let right = try Watcher(display, .monitor(.name("right"))) { text in said.with { $0.append(text) } }
            #expect(right.screen.size == PixelSize(width: 240, height: 480))
            #expect(right.shows(green, x: 0, y: 0) && right.shows(green, x: 239, y: 479))
            let left = try Watcher(display, .monitor(.name("LEFT")))
            #expect(left.screen.size == PixelSize(width: 400, height: 480))
            #expect(left.shows(red, x: 399, y: 479))
            // What changes on the other monitor wakes nobody.
            display.fill(x: 0, y: 0, width: 400, height: 480, blue)
            #expect(try right.wait(milliseconds: 100) == .woken)
            // Unplugged: black. Xvfb tells of monitors with the next change of its screen only.
            try display.deleteMonitor("RIGHT")
            try display.resize(width: 640, height: 470)
            while !right.shows(0, x: 120, y: 240) { try right.updateUntilChanged() }
            #expect(said.with { $0.last?.hasPrefix("monitor RIGHT was disconnected") } == true)
            // Plugged with another resolution.
            try display.setMonitor("RIGHT", PixelRect(x: 400, y: 0, width: 200, height: 300))
            try display.resize(width: 640, height: 480)
            while try right.wait() != .resized(PixelSize(width: 200, height: 300)) { try right.update() }
            right.adoptSize()
            // The server has cleared the screen.
            display.fill(x: 400, y: 0, width: 200, height: 300, green)
            while !right.shows(green, x: 100, y: 100) { try right.updateUntilChanged() }
            #expect(said.with { $0.last } == "monitor RIGHT is back")
        }

        @Test func whatIsNotThereIsAnErrorInWords() throws {
            let display = try XvfbDisplay()
            _ = try display.window(x: 0, y: 0, width: 50, height: 50, red, title: "Report 1")
            _ = try display.window(x: 60, y: 0, width: 50, height: 50, red, title: "Report 2")
            #expect(failure(display, .window(.id(0x1234)))?.message == "there is no window:0x1234")
            #expect(failure(display, .window(.title("nothing")))?.message.contains("no window has 'nothing'") == true)
            let several = failure(display, .window(.title("report")))
            #expect(several?.message.contains("2 windows have 'report'") == true)
            #expect(several?.remedy.contains("Choose one: window:0x") == true)
            let outside = failure(display, .region(PixelRect(x: 640, y: 0, width: 10, height: 10)))
            #expect(outside?.message.contains("is outside of display") == true)
            let small = try XvfbDisplay(arguments: ["-extension", "Composite"])
            let window = try small.window(x: 0, y: 0, width: 50, height: 50, red, title: "Report")
            #expect(failure(small, .window(.id(window)))?.code == .unsupported)
        }

        @Test func hiddenWindowsAreBlackAlsoWhileTheyMove() throws {
            let display = try XvfbDisplay()
            display.fill(x: 0, y: 0, width: 640, height: 480, green)
            let secret = try display.window(x: 100, y: 100, width: 100, height: 100, red, title: "Passwords - Vault")
            let pattern = try #require(WindowPattern("vault"))
            let watcher = try Watcher(display, options: CaptureOptions(hiddenWindows: [pattern]))
            #expect(watcher.shows(0, x: 110, y: 110) && watcher.shows(0, x: 198, y: 198))
            #expect(watcher.shows(green, x: 90, y: 110))
            for step in 1...20 {
                display.move(secret, x: 100 + step * 10, y: 100 + step * 5)
                try watcher.update()
                for x in stride(from: 0, to: 640, by: 10) {
                    for y in stride(from: 0, to: 480, by: 10) { #expect(!watcher.shows(red, x: x, y: y)) }
                }
            }
            try watcher.settle()
            #expect(watcher.shows(0, x: 310, y: 210))
            // A window above it is seen.
            let above = try display.window(x: 300, y: 200, width: 50, height: 50, blue, title: "Chat")
            try watcher.updateUntilChanged()
            try watcher.settle()
            #expect(watcher.shows(blue, x: 320, y: 220))
            display.close(above)
        }

        /// A window that covers a hidden one moves away; nothing was black before.
        @Test func whatAnotherWindowCoveredIsBlackWhenThatMoves() throws {
            let display = try XvfbDisplay()
            display.fill(x: 0, y: 0, width: 640, height: 480, blue)
            _ = try display.window(x: 100, y: 100, width: 100, height: 80, red, title: "Password")
            let above = try display.window(x: 90, y: 90, width: 150, height: 150, green, title: "Chat")
            let pattern = try #require(WindowPattern("password"))
            let watcher = try Watcher(display, options: CaptureOptions(hiddenWindows: [pattern]))
            #expect(watcher.shows(green, x: 150, y: 140))
            try watcher.settle()
            display.move(above, x: 400, y: 200)
            try watcher.updateUntilChanged()
            try watcher.settle()
            #expect(watcher.shows(0, x: 150, y: 140) && watcher.shows(green, x: 450, y: 250))
        }

        @Test func aNotificationIsBlack() throws {
            let display = try XvfbDisplay()
            display.fill(x: 0, y: 0, width: 640, height: 480, green)
            let watcher = try Watcher(display)
            _ = try display.window(
                x: 100, y: 100, width: 100, height: 100, red, title: "New message",
                type: "_NET_WM_WINDOW_TYPE_NOTIFICATION")
            try watcher.updateUntilChanged()
            try watcher.settle()
            #expect(watcher.shows(0, x: 150, y: 150))
            #expect(watcher.shows(green, x: 50, y: 150))
        }

        @Test func theCursorCanBeLeftOut() throws {
            let display = try XvfbDisplay()
            display.fill(x: 0, y: 0, width: 640, height: 480, green)
            display.setCursor(red)
            try display.moveMouse(x: 100, y: 100)
            #expect(try Watcher(display).shows(red, x: 100, y: 100))
            let without = try Watcher(display, options: CaptureOptions(cursor: .no))
            #expect(without.shows(green, x: 100, y: 100))
            // Shown from its first motion on, and gone again after a while.
            let moving = try Watcher(display, options: CaptureOptions(cursor: .onlyWhenMoving))
            #expect(moving.shows(green, x: 100, y: 100))
            try display.moveMouse(x: 200, y: 200)
            try moving.updateUntilChanged()
            #expect(moving.shows(red, x: 200, y: 200))
            while !moving.shows(green, x: 200, y: 200) { try moving.updateUntilChanged() }
        }

        @Test func programsWindowsAreListed() throws {
            let display = try XvfbDisplay()
            let window = try display.window(x: 0, y: 0, width: 120, height: 50, red, title: "Report")
            let sources = try DesktopSources(display: display.name)
            #expect(
                sources.windows == [
                    DesktopWindow(
                        id: window, title: "Report", application: "Report",
                        size: PixelSize(width: 120, height: 50), isHidden: false)
                ])
        }
    }
}
