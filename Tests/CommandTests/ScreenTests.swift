import Foundation
import TestSupport
import Testing

/// A real X display is shared, and its pixels are compared at the viewer.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ScreenTests {
    @Test func theScreenArrivesAtTheViewer() throws {
        let display = try VirtualDisplay(width: 800, height: 600)
        try display.run("xsetroot", ["-solid", "#2060c0"])
        let host = try HostedScreen(["--display", display.name, "--audio", "none"])
        let file = host.folder.file("seen.png")
        let viewer = try host.join(["--snapshot", file, "--for", "1"])
        let first = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        #expect(first["width"] as? Int == 800)
        #expect(first["height"] as? Int == 600)
        #expect(viewer.exitCode() == 0)
        let snapshot = try Snapshot(file)
        #expect(snapshot.width == 800 && snapshot.height == 600)
        #expect(snapshot.isColor(0x2060c0, x: 200, y: 150))
        #expect(snapshot.isColor(0x2060c0, x: 5, y: 595))
        #expect(host.process.event("viewer-left") != nil)
    }

    @Test func aChangeOfTheScreenArrives() throws {
        let display = try VirtualDisplay(width: 640, height: 480)
        try display.run("xsetroot", ["-solid", "#101010"])
        let host = try HostedScreen(["--display", display.name, "--audio", "none"])
        let file = host.folder.file("seen.png")
        let viewer = try host.join(["--snapshot", file])
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        let frames = viewer.frames
        try display.run("xsetroot", ["-solid", "#c02020"])
        #expect(viewer.rests(after: frames))
        viewer.interrupt()
        #expect(viewer.exitCode() == 0)
        #expect(try Snapshot(file).isColor(0xc02020, x: 100, y: 240))
    }

    @Test func anotherScreenSizeNeedsNoNewJoin() throws {
        let display = try VirtualDisplay(width: 1024, height: 768, arguments: ["+extension", "RANDR"])
        try display.run("xsetroot", ["-solid", "#208020"])
        let host = try HostedScreen(["--display", display.name, "--audio", "none"])
        let file = host.folder.file("seen.png")
        let viewer = try host.join(["--snapshot", file])
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        try display.run(
            "xrandr", ["--newmode", "small", "38.25", "800", "832", "912", "1024", "600", "603", "607", "624"])
        try display.run("xrandr", ["--addmode", "screen", "small"])
        try display.run("xrandr", ["--output", "screen", "--mode", "small"])
        _ = try #require(
            viewer.event("statistics") { $0["width"] as? Int == 800 && $0["height"] as? Int == 600 },
            "\(viewer.lines.suffix(2)) \(host.process.errorText)")
        viewer.interrupt()
        #expect(viewer.exitCode() == 0)
        #expect(try Snapshot(file).width == 800)
    }

    @Test func aStillScreenSendsNothing() throws {
        let display = try VirtualDisplay(width: 1280, height: 720)
        try display.run("xsetroot", ["-mod", "4", "4"])
        let host = try HostedScreen(["--display", display.name, "--audio", "none"])
        let viewer = try host.join()
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        // When the frame is as sharp as the source, two reports in succession have the same number of frames.
        var last = -1
        let rests = viewer.event("statistics") { event in
            let frames = event["frames"] as? Int ?? 0
            defer { last = frames }
            return frames == last
        }
        #expect(rests != nil, "\(viewer.lines.suffix(3))")
    }

    @Test func theTestVideoNeedsNoDisplay() throws {
        let host = try HostedScreen(["--source", "test"])
        let file = host.folder.file("seen.png")
        let viewer = try host.join(["--snapshot", file, "--for", "5"])
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        #expect(viewer.event("statistics") { ($0["audioFrames"] as? Int ?? 0) > 0 } != nil, "no sound arrived")
        #expect(viewer.exitCode() == 0)
        let snapshot = try Snapshot(file)
        #expect(snapshot.isColor(0xff0000, x: 32, y: 32, within: 40))
        #expect(snapshot.isColor(0x00ff00, x: snapshot.width - 32, y: 32, within: 40))
    }

    @Test func systemAudioArrives() throws {
        let sound = try PulseAudioServer()
        let display = try VirtualDisplay(width: 320, height: 240)
        let host = try HostedScreen(["--display", display.name], environment: sound.environment)
        let viewer = try host.join()
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        let tone = try sound.playTone(440, seconds: 30)
        defer { tone.kill() }
        let heard = viewer.event("statistics") { ($0["audioPeak"] as? Int ?? 0) > 4_000 }
        #expect(heard != nil, "\(viewer.lines.suffix(2)) \(host.process.errorText)")
    }

    @Test func twoViewersSeeTheSame() throws {
        let display = try VirtualDisplay(width: 640, height: 480)
        try display.run("xsetroot", ["-solid", "#a0a020"])
        let host = try HostedScreen(["--display", display.name, "--audio", "none"])
        let files = [host.folder.file("one.png"), host.folder.file("two.png")]
        let viewers = try files.map { file in
            let viewer = try host.join(["--snapshot", file, "--for", "2"])
            // They have one identity, and a knock takes the place of one that still waits.
            _ = try #require(viewer.event("accepted"), "\(viewer.errorText)")
            return viewer
        }
        for (viewer, file) in zip(viewers, files) {
            #expect(viewer.exitCode() == 0, "\(viewer.errorText)")
            #expect(try Snapshot(file).isColor(0xa0a020, x: 100, y: 240))
        }
    }
}
