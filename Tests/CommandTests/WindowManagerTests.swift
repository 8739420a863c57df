import Foundation
import TestSupport
import Testing

/// The window of `share join` under a window manager with frames, on a desktop with a panel.
@Suite(.timeLimit(.minutes(3)))
struct WindowManagerTests {
    private struct Place: Equatable {
        var x = 0
        var y = 0
        var width = 0
        var height = 0
    }

    private static let panel = 30
    private let display: VirtualDisplay
    private let folder: TemporaryFolder
    private let manager: Program

    init() throws {
        display = try VirtualDisplay(width: 1280, height: 800)
        folder = try TemporaryFolder()
        let configuration = """
            <openbox_config xmlns="http://openbox.org/3.4/rc">
            <theme><name>Clearlooks</name></theme><margins><top>\(Self.panel)</top></margins></openbox_config>
            """
        try configuration.write(toFile: folder.file("rc.xml"), atomically: true, encoding: .utf8)
        manager = try Program(
            "openbox", ["--sm-disable", "--config-file", folder.file("rc.xml")],
            environment: ["DISPLAY": display.name, "HOME": folder.path, "XDG_CACHE_HOME": folder.path])
        let area = try wait {
            try read(["xprop", "-root", "_NET_WORKAREA"]).contains("= 0, 30, 1280, 770") ? true : nil
        }
        try #require(area == true, "\(manager.text.errors)")
    }

    private func wait<Result>(_ found: () throws -> Result?) throws -> Result? {
        let deadline = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < deadline {
            if let result = try found() { return result }
        }
        return nil
    }

    private func read(_ words: [String]) throws -> String {
        try Program(words[0], Array(words.dropFirst()), environment: ["DISPLAY": display.name]).finish()
    }

    private func join(_ host: HostedScreen) throws -> (viewer: ShareProcess, window: String) {
        let viewer = try ShareProcess(
            ["join", "--json"], in: folder,
            environment: ["SHARE_LINK": host.link, "DISPLAY": display.name, "SDL_VIDEODRIVER": "x11"])
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        let found = try read(["xdotool", "search", "--sync", "--onlyvisible", "--name", "Desk - share$"])
        return (viewer, String(try #require(found.split(separator: "\n").last)))
    }

    /// Where the picture is on the desktop.
    private func place(of window: String) throws -> Place {
        let lines = try read(["xwininfo", "-id", window]).split(separator: "\n")
        func number(_ name: String) -> Int {
            lines.first { $0.contains(name) }.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) } ?? .min
        }
        return Place(
            x: number("Absolute upper-left X"), y: number("Absolute upper-left Y"), width: number("Width:"),
            height: number("Height:"))
    }

    /// The picture has the size of the viewer's whole screen.
    @Test func theWindowIsWholeAndIsFoundAgainWhereItsUserHasLeftIt() throws {
        let screen = try VirtualDisplay(width: 1280, height: 800)
        let host = try HostedScreen(["--display", screen.name, "--audio", "none", "--name", "Desk"])
        let (first, window) = try join(host)
        // Left, right, top, bottom.
        let frame = try read(["xprop", "-id", window, "_NET_FRAME_EXTENTS"]).split { !$0.isNumber }.compactMap {
            Int($0)
        }
        try #require(frame.count == 4 && frame[2] > 10)
        var last = Place()
        let isWhole = try wait { () throws -> Bool? in
            last = try place(of: window)
            let isInside =
                last.x >= frame[0] && last.y >= Self.panel + frame[2] && last.x + last.width + frame[1] <= 1280
                && last.y + last.height + frame[3] <= 800
            // 90 % of the height that the panel leaves, in the picture's proportions, and in the middle.
            let isCentred = abs(last.x * 2 + last.width - 1280) <= 8 && abs(last.y * 2 + last.height - 830) <= 40
            return isInside && isCentred && (680...693).contains(last.height)
                && abs(last.width - last.height * 8 / 5) <= 4
                ? true : nil
        }
        #expect(isWhole == true, "\(last), frame \(frame)")

        try display.run("xdotool", ["windowsize", window, "640", "420"])
        #expect(try wait { try place(of: window).height == 420 ? true : nil } == true)
        try display.run("xdotool", ["windowmove", window, "100", "150"])
        #expect(try wait { try (100...110).contains(place(of: window).x) ? true : nil } == true)
        let left = try place(of: window)
        try display.run("xdotool", ["windowactivate", "--sync", window, "key", "Escape"])
        #expect(first.exitCode() == 0, "\(first.errorText)")

        let (second, next) = try join(host)
        var found = Place()
        let isThere = try wait { () throws -> Bool? in
            found = try place(of: next)
            return found == left ? true : nil
        }
        #expect(isThere == true, "\(found) instead of \(left)")
        second.interrupt()
        #expect(second.exitCode() == 0, "\(second.errorText)")
    }
}
