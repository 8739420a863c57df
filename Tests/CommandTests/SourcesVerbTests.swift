import Foundation
import TestSupport
import Testing

/// `share sources`, and hosts that share one of them.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct SourcesVerbTests {
    /// A terminal with this title on the display, once `share sources` lists it; and its line there.
    private func terminal(
        _ title: String, color: String, on display: VirtualDisplay, in folder: TemporaryFolder
    ) throws -> (program: Program, source: [String: Any]) {
        let program = try Program(
            "xterm", ["-T", title, "-geometry", "40x10+50+50", "-bg", color, "-e", "cat"],
            environment: ["DISPLAY": display.name])
        for _ in 0..<100 {
            let found = try sources(display, in: folder).first { $0["name"] as? String == title }
            // It has its size of 40 characters a moment after its title.
            if let found, let width = found["width"] as? Int, width > 200 { return (program, found) }
        }
        throw Program.Failure("no window \(title) is listed")
    }

    private func sources(
        _ display: VirtualDisplay, in folder: TemporaryFolder, _ arguments: [String] = []
    ) throws -> [[String: Any]] {
        let list = try ShareProcess(["sources", "--json", "--display", display.name] + arguments, in: folder)
        guard list.exitCode() == 0 else { throw Program.Failure(list.errorText) }
        return list.lines.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
    }

    @Test func monitorsAndWindowsAreListedWithPictures() throws {
        let display = try VirtualDisplay(width: 800, height: 600)
        let folder = try TemporaryFolder()
        let shown = try terminal("Report", color: "#2060c0", on: display, in: folder)
        defer { shown.program.kill() }
        let pictures = folder.file("pictures")
        let list = try sources(display, in: folder, ["--pictures", pictures])
        let monitor = try #require(list.first { $0["kind"] as? String == "monitor" })
        #expect(monitor["id"] as? String == "monitor:1" && monitor["width"] as? Int == 800)
        let window = try #require(list.first { $0["kind"] as? String == "window" })
        #expect(window["application"] as? String == "XTerm" && window["name"] as? String == "Report")
        #expect((window["id"] as? String)?.hasPrefix("window:0x") == true)
        let whole = try Snapshot(try #require(monitor["picture"] as? String))
        #expect(whole.width == 320 && whole.height == 240)
        let picture = try Snapshot(try #require(window["picture"] as? String))
        #expect(picture.isColor(0x2060c0, x: picture.width - 10, y: picture.height - 10))
    }

    @Test func picturesThatCannotBeWrittenAreAnError() throws {
        let display = try VirtualDisplay(width: 640, height: 480)
        let folder = try TemporaryFolder()
        // A folder in the place of the picture.
        try FileManager.default.createDirectory(
            atPath: folder.file("pictures/monitor-1.png"), withIntermediateDirectories: true)
        let list = try ShareProcess(
            ["sources", "--display", display.name, "--pictures", folder.file("pictures")], in: folder)
        #expect(list.exitCode() == 73)
        #expect(list.lines.contains { $0.hasPrefix("monitor:1") })
        #expect(list.errorText.contains("not all pictures could be written"), "\(list.errorText)")
    }

    /// In a terminal, without `--source`.
    @Test func aListIsOfferedWhereThereIsAChoice() throws {
        let display = try VirtualDisplay(width: 800, height: 600)
        let folder = try TemporaryFolder()
        let shown = try terminal("Report", color: "#2060c0", on: display, in: folder)
        defer { shown.program.kill() }
        let arguments = ["host", "--display", display.name, "--audio", "none", "--listen", "127.0.0.1:0"]
        let host = try Terminal(arguments)
        #expect(host.waitUntil { $0.hasSuffix("Number, 1 to 2 (Enter: 1):") }, "\(host.screen())")
        #expect(host.screen().contains("1  the whole screen, 800 x 600"))
        #expect(host.screen().contains("2  Report (XTerm), "))
        // What is no number of the list is asked for again, with what is wanted.
        try host.type("7", "Enter")
        let again = "1): 7\n  Type a number, 1 to 2, and press Enter.\n  Number, 1 to 2 (Enter: 1):"
        #expect(host.waitUntil { $0.hasSuffix(again) }, "\(host.screen())")
        try host.type("2", "Enter")
        let link = try #require(host.waitFor { $0.firstLink }, "\(host.screen())")
        let viewer = try host.join(link, name: "Dora")
        _ = try #require(host.waitFor { $0.takesAnswer(about: "Dora") }, "\(host.screen())")
        try host.type("y")
        let first = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        #expect(first["width"] as? Int == shown.source["width"] as? Int)
        // The end of the input.
        let none = try Terminal(arguments)
        #expect(none.waitUntil { $0.hasSuffix("(Enter: 1):") }, "\(none.screen())")
        try none.type("C-d")
        #expect(none.waitUntil { $0.contains("nothing was chosen to be shared") }, "\(none.screen())")
    }

    /// What lies above it is not in the picture, and it comes back after it was closed.
    @Test func aWindowIsSharedAlone() throws {
        let display = try VirtualDisplay(width: 800, height: 600)
        let folder = try TemporaryFolder()
        let shown = try terminal("Report", color: "#2060c0", on: display, in: folder)
        let above = try terminal("Chat", color: "#c02020", on: display, in: folder)
        defer { above.program.kill() }
        let id = try #require(shown.source["id"] as? String)
        let host = try HostedScreen(["--display", display.name, "--source", id, "--audio", "none"])
        let file = host.folder.file("seen.png")
        let viewer = try host.join(["--snapshot", file])
        let first = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        #expect(first["width"] as? Int == shown.source["width"] as? Int)
        shown.program.kill()
        #expect(host.process.waitForError("was closed: viewers see black until it is opened again"))
        let frames = viewer.frames
        let again = try terminal("Report", color: "#20a020", on: display, in: folder)
        defer { again.program.kill() }
        #expect(host.process.waitForError("is open again"))
        #expect(viewer.rests(after: frames))
        viewer.interrupt()
        #expect(viewer.exitCode() == 0)
        let snapshot = try Snapshot(file)
        #expect(snapshot.isColor(0x20a020, x: snapshot.width - 10, y: snapshot.height - 10))
    }

    @Test func hiddenWindowsAreBlackInASharedScreen() throws {
        let display = try VirtualDisplay(width: 800, height: 600)
        try display.run("xsetroot", ["-solid", "#208020"])
        let folder = try TemporaryFolder()
        let hidden = try terminal("Passwords", color: "#c02020", on: display, in: folder)
        defer { hidden.program.kill() }
        let host = try HostedScreen(
            ["--display", display.name, "--source", "region:400x300+0+0", "--hide-window", "pass*", "--audio", "none"])
        let file = host.folder.file("seen.png")
        let viewer = try host.join(["--snapshot", file, "--for", "1"])
        let first = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        #expect(first["width"] as? Int == 400 && first["height"] as? Int == 300)
        #expect(viewer.exitCode() == 0)
        let snapshot = try Snapshot(file)
        #expect(snapshot.isColor(0, x: 150, y: 100))
        #expect(snapshot.isColor(0x208020, x: 20, y: 20))
    }

    @Test(arguments: [
        ("monitor:7", "there is no monitor:7"), ("window:nothing", "no window has 'nothing'"),
        ("window:0x1", "there is no window:0x1"), ("region:10x10+900+0", "is outside of display"),
        ("region:0x10+1+1", "is empty"), ("camera:200", "there is no camera"), ("desk", "is no source"),
    ])
    func aSourceThatIsNotThereIsASentence(source: String, words: String) throws {
        let display = try VirtualDisplay(width: 800, height: 600)
        let host = try ShareProcess(
            ["host", "--accept", "any", "--display", display.name, "--source", source, "--audio", "none"],
            in: try TemporaryFolder())
        #expect([64, 66].contains(host.exitCode()))
        #expect(host.errorText.contains(words), "\(host.errorText)")
    }
}
