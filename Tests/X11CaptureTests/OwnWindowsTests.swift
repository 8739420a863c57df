import CXCB
import Foundation
import LinuxRuntime
import MediaCore
import TestSupport
import Testing

@testable import X11Capture

/// Whether a process's windows are hidden, as the X server and a window manager say.
@Suite(.timeLimit(.minutes(1)))
struct OwnWindowsTests {
    /// What was told, in order.
    private final class Told: Sendable {
        let states = Monitor<[Bool]>([])
        func waitFor(_ states: [Bool]) -> Bool {
            self.states.wait(until: MonotonicClock.now + .seconds(30)) { $0 == states ? () : nil } != nil
        }
        var note: @Sendable (Bool) -> Void {
            { [states] isHidden in states.change { $0.append(isHidden) } }
        }
    }

    private static let process: Int32 = 4_711

    private func own(
        _ title: String, on display: XvfbDisplay, process: Int32 = process, machine: String? = nil
    ) throws -> xcb_window_t {
        let id = try display.window(x: 10, y: 10, width: 64, height: 48, 0xFF_FFFF, title: title)
        if let machine { display.setMachine(machine, of: id) }
        try display.setProperty("_NET_WM_PID", of: id, type: XCB_ATOM_CARDINAL, [UInt32(process)])
        return id
    }

    /// Looks at the display from now on.
    private func observer(_ display: XvfbDisplay, _ told: Told) throws -> OwnWindowsObserver {
        let observer = try OwnWindowsObserver(display: display.name, of: Self.process, onChange: told.note)
        #expect(told.waitFor([false]))
        return observer
    }

    @Test func windowsThatAreNotMappedAreHidden() throws {
        let display = try XvfbDisplay()
        let (one, two) = (try own("One", on: display), try own("Two", on: display))
        _ = try own("Another", on: display, process: 4_712)
        let told = Told()
        let observer = try observer(display, told)
        defer { observer.close() }
        display.unmap(one)
        display.unmap(two)
        #expect(told.waitFor([false, true]))
        display.map(two)
        #expect(told.waitFor([false, true, false]))
        display.close(two)
        #expect(told.waitFor([false, true, false, true]))
    }

    @Test func whatTheWindowManagerHasMinimisedIsHiddenAlsoWhileItIsMapped() throws {
        let display = try XvfbDisplay()
        let window = try own("One", on: display)
        let told = Told()
        let observer = try observer(display, told)
        defer { observer.close() }
        let hidden = try display.atom("_NET_WM_STATE_HIDDEN")
        try display.setProperty("_NET_WM_STATE", of: window, type: XCB_ATOM_ATOM, [hidden])
        #expect(told.waitFor([false, true]))
        try display.setProperty("_NET_WM_STATE", of: window, type: XCB_ATOM_ATOM, [])
        #expect(told.waitFor([false, true, false]))
        // IconicState, then NormalState.
        try display.setProperty("WM_STATE", of: window, type: XCB_ATOM_CARDINAL, [3, 0])
        #expect(told.waitFor([false, true, false, true]))
        try display.setProperty("WM_STATE", of: window, type: XCB_ATOM_CARDINAL, [1, 0])
        #expect(told.waitFor([false, true, false, true, false]))
    }

    /// A window that was never shown, one that is covered, one of another machine, and one that is made anew.
    @Test func whatIsNotHiddenIsNotTold() throws {
        let display = try XvfbDisplay()
        let never = try own("Never", on: display)
        display.unmap(never)
        let told = Told()
        let observer = try observer(display, told)
        defer { observer.close() }
        let other = try own("Other", on: display, machine: "another.example")
        display.unmap(other)
        let window = try own("One", on: display)
        _ = try display.window(x: 0, y: 0, width: 640, height: 480, 0, title: "Cover")
        for _ in 0..<20 {
            display.unmap(window)
            display.map(window)
        }
        display.unmap(window)
        #expect(told.waitFor([false, true]), "\(told.states.with { $0 })")
    }

    @Test func theObserverEndsWithItsServerAndWithoutOne() throws {
        let display = try XvfbDisplay()
        let window = try own("One", on: display)
        let told = Told()
        let observer = try observer(display, told)
        display.unmap(window)
        #expect(told.waitFor([false, true]))
        display.end()
        #expect(told.waitFor([false, true, false]))
        observer.close()
        observer.close()
        #expect(throws: SourceFailure.self) {
            try OwnWindowsObserver(display: display.name, of: Self.process, onChange: { _ in })
        }
    }
}
