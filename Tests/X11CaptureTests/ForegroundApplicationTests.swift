import CXCB
import Foundation
import LinuxRuntime
import MediaCore
import Testing

@testable import X11Capture

struct ForegroundApplicationTests {
    private func activate(_ window: xcb_window_t, on display: XvfbDisplay) {
        let name = "_NET_ACTIVE_WINDOW"
        let cookie = xcb_intern_atom(display.connection, 0, UInt16(name.utf8.count), name)
        guard let reply = xcb_intern_atom_reply(display.connection, cookie, nil) else { return }
        defer { free(reply) }
        var window = window
        xcb_change_property(
            display.connection, UInt8(XCB_PROP_MODE_REPLACE.rawValue), display.root, reply.pointee.atom,
            xcb_atom_t(XCB_ATOM_WINDOW.rawValue), 32, 1, &window)
        xcb_flush(display.connection)
    }

    @Test func theApplicationInFrontIsToldOnEachChange() throws {
        let display = try XvfbDisplay()
        let windows = try ["Editor", "Secret", "Viewer"].map {
            try display.window(x: 0, y: 0, width: 64, height: 48, 0xFF_FFFF, title: $0)
        }
        activate(windows[0], on: display)
        let told = Monitor<[ForegroundApplication]>([])
        let observer = try ForegroundApplicationObserver(
            display: display.name, hiddenWindows: [try #require(WindowPattern("Secret"))],
            onChange: { application in told.change { $0.append(application) } })
        defer { observer.close() }
        func waitFor(_ name: String) -> Bool {
            told.wait(until: MonotonicClock.now + .seconds(30)) { $0.last?.name == name ? () : nil } != nil
        }
        #expect(waitFor("Editor"))
        // A hidden one is not told of.
        activate(windows[1], on: display)
        activate(windows[2], on: display)
        #expect(waitFor("Viewer"))
        #expect(told.with { $0.map(\.name) } == ["Editor", "Viewer"])
    }

    @Test func theObserverEndsWithItsServerAndWithoutOne() throws {
        let display = try XvfbDisplay()
        let observer = try ForegroundApplicationObserver(
            display: display.name, hiddenWindows: [], onChange: { _ in })
        display.end()
        observer.close()
        observer.close()
        #expect(throws: SourceFailure.self) {
            try ForegroundApplicationObserver(display: display.name, hiddenWindows: [], onChange: { _ in })
        }
    }
}
