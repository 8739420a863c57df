import Foundation
import TestSupport
import Testing

/// The states of the window of `share join`, as `Docs/screens.md` shows them.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct WindowScreensTests {
    private let folder: TemporaryFolder
    private let screen: VirtualDisplay
    private let display: VirtualDisplay

    init() throws {
        folder = try TemporaryFolder()
        // A picture that stands still.
        screen = try VirtualDisplay(width: 960, height: 600)
        display = try VirtualDisplay(width: 960, height: 600)
    }

    /// The pixels of the viewer's display.
    private func pixels() throws -> Data {
        let file = folder.file("screen.xwd")
        try display.run("xwd", ["-root", "-silent", "-out", file])
        return try Data(contentsOf: URL(fileURLWithPath: file))
    }

    /// Those of the display where the test draws.
    private func lines(_ pixels: Data) -> Data {
        let width = 960 * 4
        return pixels.suffix(600 * width).dropFirst(150 * width).prefix(40 * width)
    }

    /// Waits until the display shows something else than before, and then the same twice.
    private func change(from before: Data) throws -> Data? {
        var last = before
        var changed: Data?
        _ = try eventually {
            let now = try pixels()
            let isStill = now == last && now != before
            last = now
            if isStill { changed = now }
            return isStill
        }
        return changed
    }

    /// Into the folder SHARE_SCREENS, if there is one (Scripts/screens).
    private func save(_ name: String) throws {
        guard let target = ProcessInfo.processInfo.environment["SHARE_SCREENS"] else { return }
        let program = try Program(
            "ffmpeg", ["-v", "error", "-y", "-i", folder.file("screen.xwd"), "\(target)/window-\(name).png"])
        #expect(program.exitCode(seconds: 30) == 0, "\(program.text.errors)")
    }

    /// A line that is drawn over the picture, and control of the host's screen.
    private func participate(_ live: Data) throws {
        try display.run("xdotool", ["key", "p"])
        // What is drawn before the socket is open is lost.
        let isDrawn = try eventually {
            try display.run(
                "xdotool",
                [
                    "mousemove", "60", "170", "mousedown", "1", "mousemove", "200", "176", "sleep", "0.1", "mousemove",
                    "340", "170", "mouseup", "1",
                ])
            return try lines(pixels()) != lines(live)
        }
        #expect(isDrawn)
        try save("4-pointing")
        try display.run("xdotool", ["key", "p"])
        #expect(try eventually { try pixels() == live }, "pointing")
        try display.run("xdotool", ["key", "r"])
        #expect(try change(from: live) != nil, "controlling")
        try save("5-controlling")
        // By its code: by its name xdotool presses the left one, too.
        try display.run("xdotool", ["key", "105"])
        try display.run("xdotool", ["key", "g"])
        #expect(try eventually { try pixels() == live }, "controlled")
    }

    @Test func eachStateIsShown() throws {
        let text = try Program(
            "xterm",
            [
                "-fa", "DejaVu Sans Mono", "-fs", "14", "-geometry", "200x60+0+0", "-bg", "white", "-fg", "black", "-b",
                "20",
                "+sb", "-e", "sh", "-c",
                "tput civis; printf 'Quarterly report\\n\\nTotal of region 1: 117\\nTotal of region 2: 234\\n'; sleep 600",
            ], environment: ["DISPLAY": screen.name])
        let host = try HostedScreen([
            "--display", screen.name, "--audio", "none", "--name", "Quarterly report", "--pointer", "yes", "--control",
            "yes",
        ])
        let empty = try pixels()
        let viewer = try ShareProcess(
            ["join", "--json", "--fullscreen"], environment: ["SHARE_LINK": host.link, "DISPLAY": display.name])
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        var live = try #require(try change(from: empty))
        try save("0-live")
        // The bar comes with the mouse, and goes after a while.
        try display.run("xdotool", ["mousemove", "400", "300"])
        #expect(try eventually { try pixels() != live })
        _ = try #require(try change(from: live), "bar")
        try save("1-bar")
        #expect(try eventually { try pixels() == live }, "bar")
        for (key, name) in [("question", "2-help"), ("s", "3-statistics")] {
            try display.run("xdotool", ["key", key])
            #expect(try eventually { try pixels() != live }, "\(name)")
            // Statistics are there after a second, and change each second.
            let first = try pixels()
            if key == "s" { #expect(try eventually { try pixels() != first }, "\(name)") }
            try save(name)
            try display.run("xdotool", ["key", key])
            #expect(try eventually { try pixels() == live }, "\(name)")
        }
        try participate(live)
        func control(_ verb: String) throws {
            let program = try ShareProcess([verb], in: host.folder)
            #expect(program.exitCode() == 0, "\(verb): \(program.errorText)")
        }
        for (begin, end, name) in [("pause", "resume", "6-paused"), ("blank", "unblank", "7-blank")] {
            try control(begin)
            let held = try #require(try change(from: live), "\(name)")
            try save(name)
            try control(end)
            live = try #require(try change(from: held), "\(name)")
        }
        host.process.interrupt()
        _ = try #require(viewer.event("ended"))
        #expect(try change(from: live) != nil)
        try save("8-ended")
        viewer.interrupt()
        text.kill()
    }
}
