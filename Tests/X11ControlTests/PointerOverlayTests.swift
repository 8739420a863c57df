import CXCB
import Foundation
import LinuxRuntime
import MediaCore
import PixelConversion
import TestSupport
import Testing
import X11Capture

@testable import X11Control

/// A window of one color with viewers' pointers above it.
// SAFETY: used by one test, whose steps run in sequence.
private final class OverlaidDisplay: @unchecked Sendable {
    static let green: UInt32 = 0x10C020
    static let ann = PointerMark.palette[1]

    let display: ControlledDisplay
    let window: xcb_window_t
    let overlay: PointerOverlay

    init() throws {
        display = try ControlledDisplay()
        window = display.window(x: 100, y: 50, width: 301, height: 201)
        display.paint(window, Self.green)
        overlay = try PointerOverlay(display: display.name, window: window)
    }

    deinit { overlay.close() }

    func show(_ kind: PointerKind, _ points: (Double, Double)..., id: Int = 1) {
        let points = points.map { PicturePoint(horizontal: $0.0, vertical: $0.1) }
        overlay.show(PointerEvents([PointerEvent(id: id, from: "Ann", kind: kind, points: points)]))
    }

    /// Whether the arrow of a pointer in the window's center is shown, with the window at this place.
    func showsArrow(x: Int, y: Int) -> Bool {
        show(.move, (0.5, 0.5))
        return display.color(x: x + 150 + 4, y: y + 100 + 10) == Self.ann
    }

    func isGone() -> Bool { !display.screenshot().contains(Self.ann) }
}

extension X11ControlTests {
    struct PointerOverlayTests {
        /// The pixels of the window as a capture has them.
        private func captured(_ screen: X11Screen) throws -> [UInt8] {
            let canvas = I420Buffer(screen.size)
            var changed = BlockMap(screen.size)
            screen.damageEverything()
            _ = try screen.wait(until: MonotonicClock.now + .seconds(10))
            _ = try screen.read(into: canvas, changed: &changed)
            return (0..<canvas.size.height).flatMap { row in
                UnsafeBufferPointer(start: canvas.y + row * canvas.strideY, count: canvas.size.width)
            }
        }

        @Test func thePointerIsOnTheScreenAndNotInTheCapture() throws {
            let shown = try OverlaidDisplay()
            let options = CaptureOptions(cursor: .no)
            let screen = try X11Screen(
                display: shown.display.name, source: .window(.id(shown.window)), options: options,
                converter: YUVConverter(), report: { _ in })
            let (before, picture) = (shown.display.screenshot(), try captured(screen))
            #expect(Set(picture).count == 1)
            #expect(eventually { shown.showsArrow(x: 100, y: 50) })
            #expect(try captured(screen) == picture)
            // The arrow and the name are drawn, and nothing else is covered.
            #expect(eventually { shown.showsArrow(x: 100, y: 50) })
            let after = shown.display.screenshot()
            let changes = zip(before, after).enumerated().filter { $1.0 != $1.1 }.map(\.offset)
            #expect((200...4_000).contains(changes.count), "\(changes.count)")
            #expect(changes.allSatisfy { (240...400).contains($0 % 640) && (140...220).contains($0 / 640) })
            #expect(changes.contains { $0 % 640 > 270 && after[$0] == 0xFFFFFF }, "the name")
            // It goes by itself.
            #expect(eventually { shown.display.screenshot() == before })
        }

        @Test func linesAndRingsAreShown() throws {
            let shown = try OverlaidDisplay()
            shown.show(.draw, (0.1, 0.9), (0.9, 0.9))
            #expect(
                eventually {
                    [140, 250, 360].allSatisfy { shown.display.color(x: $0, y: 230) == OverlaidDisplay.ann }
                })
            // The arrow goes at once.
            shown.show(.leave)
            #expect(eventually { shown.display.color(x: 374, y: 240) == OverlaidDisplay.green })
            #expect(
                eventually {
                    shown.show(.click, (0.2, 0.2), id: 2)
                    // Left of the tip is nothing but the ring.
                    return (130..<158).contains { shown.display.color(x: $0, y: 90) == PointerMark.palette[2] }
                })
            // They go by themselves.
            #expect(eventually { !shown.display.screenshot().contains { PointerMark.palette.contains($0) } })
        }

        /// Clicks are those of the window: of the machine's user, and of a viewer that controls.
        @Test func noInputIsCaught() throws {
            let shown = try OverlaidDisplay()
            let display = shown.display
            #expect(eventually { shown.showsArrow(x: 100, y: 50) })
            let input = try RemoteInput(display: display.name, area: .window(shown.window))
            for _ in 0..<2 {
                shown.show(.move, (0.5, 0.5))
                try display.run("xdotool", ["mousemove", "254", "160", "click", "1"])
                input.apply(.move(PicturePoint(horizontal: 154 / 300, vertical: 0.55)))
                input.apply(.button(3, isPressed: true))
                input.apply(.button(3, isPressed: false))
                let noted = display.noted(4)
                #expect(
                    noted.prefix(2) == [
                        .button(1, isPressed: true, x: 254, y: 160), .button(1, isPressed: false, x: 254, y: 160),
                    ])
                #expect(noted.dropFirst(2).count == 2, "\(noted)")
            }
            #expect(eventually { shown.showsArrow(x: 100, y: 50) })
        }

        @Test func itFollowsTheWindow() throws {
            let shown = try OverlaidDisplay()
            let (display, window) = (shown.display, shown.window)
            #expect(eventually { shown.showsArrow(x: 100, y: 50) })
            display.move(window, x: 220, y: 120)
            #expect(eventually { shown.showsArrow(x: 220, y: 120) })
            display.setMapped(window, false)
            #expect(eventually { !shown.showsArrow(x: 220, y: 120) && shown.isGone() })
            display.setMapped(window, true)
            #expect(eventually { shown.showsArrow(x: 220, y: 120) })
            // As a window manager does it.
            let frame = display.window(x: 50, y: 30, width: 400, height: 300)
            display.paint(frame, 0x404040)
            xcb_reparent_window(display.connection, window, frame, 10, 20)
            display.sync()
            #expect(eventually { shown.showsArrow(x: 60, y: 50) })
            display.move(frame, x: 90, y: 60)
            #expect(eventually { shown.showsArrow(x: 100, y: 80) })
            display.destroy(window)
            #expect(eventually { !shown.showsArrow(x: 100, y: 80) && shown.isGone() })
        }

        @Test func whatCoversTheWindowCoversIt() throws {
            let shown = try OverlaidDisplay()
            #expect(eventually { shown.showsArrow(x: 100, y: 50) })
            let above = shown.display.window(x: 0, y: 0, width: 640, height: 480)
            shown.display.paint(above, 0x202020)
            #expect(!shown.showsArrow(x: 100, y: 50))
            // What is drawn anew does not come up either.
            for _ in 0..<5 {
                #expect(!shown.showsArrow(x: 100, y: 50))
                shown.display.sync()
            }
            shown.display.raise(shown.window)
            #expect(eventually { shown.showsArrow(x: 100, y: 50) })
        }

        @Test func whatIsLackingIsAnError() throws {
            #expect(throws: SourceFailure.self) { try PointerOverlay(display: ":87654", window: 1) }
            let display = try ControlledDisplay()
            let failure = #expect(throws: SourceFailure.self) {
                try PointerOverlay(display: display.name, window: 0x7654321)
            }
            #expect(failure?.code == .noSuchDevice)
        }

        @Test func theEndOfTheServerIsNoCrash() throws {
            let shown = try OverlaidDisplay()
            #expect(eventually { shown.showsArrow(x: 100, y: 50) })
            shown.display.end()
            shown.show(.move, (0.1, 0.1))
            shown.overlay.close()
            shown.overlay.close()
            shown.show(.move, (0.1, 0.1))
        }

        @Test func namesOfAllAlphabetsAreRendered() throws {
            let rasterizer = try #require(TextRasterizer(pixels: 14))
            for name in ["Ann", "Жанна", "Ελένη", "a\u{301}"] {
                let text = try #require(rasterizer.render(name, width: 200), "\(name)")
                #expect(text.coverage.contains { $0 > 200 })
            }
            let (short, long) = (rasterizer.render("il", width: 200), rasterizer.render("iliilil", width: 200))
            #expect(short.map { $0.size.width } ?? 0 < long.map { $0.size.width } ?? 0)
            #expect(rasterizer.render(String(repeating: "W", count: 1_000), width: 150)?.size.width == 150)
            #expect(rasterizer.render("", width: 100) == nil && rasterizer.render(" ", width: 100) == nil)
        }
    }

    struct ControlNoticeTests {
        private static let red: UInt32 = 0xB3261E

        @Test func itIsAboveAllAndCatchesNoInput() throws {
            let display = try ControlledDisplay()
            let window = display.window(x: 0, y: 0, width: 640, height: 480)
            display.paint(window, 0x10C020)
            let notice = try ControlNotice("Ann controls this window  -  Esc takes it back", display: display.name)
            #expect(eventually { display.color(x: 320, y: 0) == Self.red })
            let row = display.screenshot().prefix(640)
            let strip = row.indices.filter { row[$0] == Self.red }
            #expect(strip.count > 100 && abs((strip.first ?? 0) + (strip.last ?? 0) - 639) <= 1, "in the middle")
            #expect(display.screenshot().contains(0xFFFFFF), "the text")
            try display.run("xdotool", ["mousemove", "320", "2", "click", "1"])
            #expect(
                display.noted(2) == [
                    .button(1, isPressed: true, x: 320, y: 2), .button(1, isPressed: false, x: 320, y: 2),
                ])
            // Another window comes up.
            let above = display.window(x: 0, y: 0, width: 640, height: 480, isMenu: true)
            display.paint(above, 0x202020)
            #expect(eventually { display.color(x: 320, y: 0) == Self.red })
            notice.close()
            #expect(eventually { display.color(x: 320, y: 0) == 0x202020 })
            notice.close()
        }
    }
}
