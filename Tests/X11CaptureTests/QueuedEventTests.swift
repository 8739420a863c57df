import CXCB
import Foundation
import LinuxRuntime
import MediaCore
import Synchronization
import TestSupport
import Testing

@testable import X11Capture

extension X11Tests {
    /// Events that are in xcb's queue, of which the connection's descriptor does not tell.
    @Suite struct QueuedEventTests {
        /// A window is mapped at a random moment and draws in one place, 30 times a second from then on.
        @Test(arguments: [false, true])
        func aWindowThatDrawsAtOnceIsSeen(hidesWindows: Bool) throws {
            let display = try XvfbDisplay()
            var options = CaptureOptions()
            if hidesWindows {
                options.hiddenWindows = [try #require(WindowPattern("*secret*"))]
                _ = try display.window(x: 400, y: 300, width: 80, height: 80, 0x204080, title: "a secret")
            }
            let watcher = try Watcher(display, options: options)
            var random = SeededGenerator(seed: 33)
            var slowest = MediaDuration.zero
            for round in 0..<200 {
                // The capture reads something else, or sleeps, when the window comes.
                if Bool.random(using: &random) {
                    display.fill(x: 500, y: 20, width: 64, height: 64, UInt32.random(in: 0...0xffffff, using: &random))
                }
                do {
                    let drawer = try Drawer(display, after: .microseconds(Int.random(in: 0..<5_000, using: &random)))
                    defer { drawer.stop() }
                    while !watcher.shows(0x0000fe, x: 120, y: 120) {
                        let isSeen = try watcher.wait(milliseconds: 5_000) == .damaged
                        try #require(isSeen, "round \(round): nothing is seen of the window")
                        try watcher.update()
                    }
                    slowest = max(slowest, MonotonicClock.now - (try #require(drawer.firstDrawn)))
                }
                while watcher.shows(0x0000fe, x: 120, y: 120) { try watcher.updateUntilChanged() }
            }
            // What no event told of would be noticed after a second.
            #expect(slowest < .milliseconds(800), "the slowest was seen after \(slowest.inMilliseconds) ms")
        }

        /// An event that was lost hides what is drawn in its place until the server is asked.
        @Test func damageThatNoEventToldOfIsNoticedAllTheSame() throws {
            let display = try XvfbDisplay()
            let watcher = try Watcher(display)
            let raw = try #require(watcher.screen.connection).raw
            display.fill(x: 100, y: 100, width: 50, height: 50, 0xff0000)
            free(xcb_get_input_focus_reply(raw, xcb_get_input_focus(raw), nil))
            var lost = 0
            while let event = xcb_poll_for_event(raw) {
                lost += 1
                free(event)
            }
            #expect(lost > 0)
            display.fill(x: 100, y: 100, width: 50, height: 50, 0x00ff00)
            let start = MonotonicClock.now
            #expect(try watcher.wait() == .damaged)
            #expect(MonotonicClock.now - start < .seconds(4))
            try watcher.update()
            #expect(watcher.shows(0x00ff00, x: 120, y: 120))
        }
    }
}

/// Maps a window and draws on it until it is stopped, on a thread of its own; then the window is closed.
private final class Drawer: Sendable {
    private let thread: NamedThread
    private let wakeup: Wakeup
    private let first: FirstDrawn

    private final class FirstDrawn: Sendable {
        let instant = Mutex<MediaInstant?>(nil)
    }

    /// - Parameter delay: between now and the window.
    init(_ display: XvfbDisplay, after delay: MediaDuration) throws {
        let wakeup = try Wakeup()
        let first = FirstDrawn()
        let start = MonotonicClock.now + delay
        self.wakeup = wakeup
        self.first = first
        thread = NamedThread("drawer") {
            while MonotonicClock.now < start, !wakeup.wait(until: start) {}
            guard let window = try? display.window(x: 100, y: 100, width: 64, height: 48, nil, title: "drawing") else {
                return
            }
            var next = MonotonicClock.now
            var color: UInt32 = 0x0000fe
            while !wakeup.consume() {
                first.instant.withLock { $0 = $0 ?? MonotonicClock.now }
                display.fill(x: 100, y: 100, width: 64, height: 48, color)
                color ^= 0x000003
                next = next + .milliseconds(33)
                wakeup.wait(until: next)
            }
            display.close(window)
            display.fill(x: 100, y: 100, width: 64, height: 48, 0)
        }
    }

    var firstDrawn: MediaInstant? { first.instant.withLock { $0 } }

    func stop() {
        wakeup.signal()
        thread.join()
    }
}
