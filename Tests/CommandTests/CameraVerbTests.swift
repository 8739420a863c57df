import Foundation
import TestSupport
import Testing

/// A camera in the corner of a host's screen, as viewers see it, and its control from other processes.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct CameraVerbTests {
    private static let (red, blue, screen) = (0xc02020, 0x2020c0, 0x208020)

    private func run(
        _ arguments: [String], _ bed: CameraBed, in folder: TemporaryFolder
    ) throws -> (code: Int32?, lines: [String], words: String) {
        let process = try ShareProcess(arguments, in: folder, environment: bed.environment)
        let code = process.exitCode()
        return (code, process.lines, process.errorText)
    }

    /// Looks as a viewer that joins now and watches for a second. The camera is opened for it, and may take longer, so
    /// it looks again.
    private func sees(_ host: HostedScreen, _ isRight: (Snapshot) -> Bool) throws -> Bool {
        for _ in 0..<8 {
            let file = host.folder.file("seen-\(UUID().uuidString).png")
            let viewer = try host.join(["--snapshot", file, "--for", "1"])
            guard viewer.exitCode() == 0 else {
                throw Program.Failure("\(viewer.errorText) \(host.process.errorText)")
            }
            if isRight(try Snapshot(file)) { return true }
        }
        return false
    }

    private func display() throws -> VirtualDisplay {
        let display = try VirtualDisplay(width: 800, height: 600)
        try display.run("xsetroot", ["-solid", "#208020"])
        return display
    }

    @Test func viewersSeeTheCameraWhereItIsPut() throws {
        let (display, bed) = (try display(), try CameraBed())
        try bed.plug("desk cam", ["colour=c02020"])
        try bed.plug("other cam", ["colour=2020c0"])
        let host = try HostedScreen(
            ["--display", display.name, "--camera", "desk", "--camera", "other", "--audio", "none"],
            environment: bed.environment)
        // 160 x 120 at the lower right.
        #expect(try sees(host) { $0.isColor(Self.red, x: 700, y: 520) && $0.isColor(Self.screen, x: 300, y: 300) })
        var answer = try run(["camera"], bed, in: host.folder)
        #expect(answer.code == 0 && answer.words.contains("the front camera"), "\(answer.words)")
        #expect(answer.words.contains("bottom-right, 20%"))

        answer = try run(["camera", "at", "top-left"], bed, in: host.folder)
        #expect(answer.code == 0 && answer.words.contains("top-left"))
        #expect(try sees(host) { $0.isColor(Self.red, x: 100, y: 80) && $0.isColor(Self.screen, x: 700, y: 520) })

        #expect(try run(["camera", "back"], bed, in: host.folder).code == 0)
        #expect(try run(["camera", "size", "50%"], bed, in: host.folder).code == 0)
        #expect(try sees(host) { $0.isColor(Self.blue, x: 100, y: 80) && $0.isColor(Self.blue, x: 380, y: 280) })

        answer = try run(["camera", "off"], bed, in: host.folder)
        #expect(answer.words.contains("the camera is off"))
        #expect(try sees(host) { $0.isColor(Self.screen, x: 100, y: 80) })
        #expect(try run(["camera", "on"], bed, in: host.folder).code == 0)
        #expect(try sees(host) { $0.isColor(Self.blue, x: 100, y: 80) })
    }

    @Test func hostGoesOnWithoutACameraUntilItIsThere() throws {
        let (display, bed) = (try display(), try CameraBed())
        let host = try HostedScreen(
            ["--display", display.name, "--camera", "0", "--camera-at", "16,16", "--audio", "none"],
            environment: bed.environment)
        #expect(try sees(host) { $0.isColor(Self.screen, x: 60, y: 60) })
        #expect(host.process.waitForError("there is no camera"))
        try bed.plug("desk cam", ["colour=c02020"])
        #expect(try sees(host) { $0.isColor(Self.red, x: 60, y: 60) })
    }

    @Test func cameraIsASourceOfItsOwn() throws {
        let bed = try CameraBed()
        try bed.plug("desk cam")
        let host = try HostedScreen(
            ["--source", "camera:0", "--audio", "none"], environment: bed.environment)
        #expect(host.process.waitForError("showing the camera desk cam, 640 x 480"))
        let isSeen = try sees(host) { seen in
            #expect(seen.width == 640 && seen.height == 480)
            return seen.isColor(0xc02020, x: 60, y: 60) && seen.isColor(0xe0e0e0, x: 600, y: 440)
        }
        #expect(isSeen)
        let answer = try run(["camera", "at", "top-left"], bed, in: host.folder)
        #expect(answer.code == 64 && answer.words.contains("the whole picture"))
    }

    @Test func sourcesListCamerasWithPictures() throws {
        let bed = try CameraBed()
        try bed.plug("desk cam")
        let folder = try TemporaryFolder()
        let answer = try run(["sources", "--pictures", folder.file("pictures")], bed, in: folder)
        #expect(answer.code == 0)
        #expect(answer.lines.contains { $0.hasPrefix("camera:0 ") && $0.hasSuffix("desk cam") }, "\(answer.lines)")
        let picture = try Snapshot(folder.file("pictures/camera-0.png"))
        #expect(picture.width == 320 && picture.isColor(0xc02020, x: 40, y: 40))
        let json = try run(["sources", "--json"], bed, in: folder)
        #expect(json.lines.contains { $0.contains("\"kind\":\"camera\"") && $0.contains("\"id\":\"camera:0\"") })
    }

    @Test(arguments: [
        (["--camera-at", "middle", "--camera", "0"], "is no place"),
        (["--camera-size", "1%", "--camera", "0"], "is no size"),
        (["--camera-at", "top-left"], "are for --camera"), (["--camera", ""], "needs a number"),
        (["--camera", "0", "--camera", "1", "--camera", "2"], "twice at most"),
        (["--camera", "0", "--camera", "1", "--source", "camera:2"], "is given once"),
        (["--source", "camera:7"], "there is no camera"),
    ])
    func unclearCameraIsASentence(arguments: [String], words: String) throws {
        let bed = try CameraBed()
        let folder = try TemporaryFolder()
        let answer = try run(
            ["host", "--accept", "any", "--listen", "127.0.0.1:0"] + arguments, bed, in: folder)
        #expect([64, 66].contains(answer.code), "\(String(describing: answer.code))")
        #expect(answer.words.contains(words), "\(answer.words)")
    }

    @Test(arguments: [["up"], ["at"], ["at", "middle"], ["size", "0%"], ["on", "off"]])
    func unclearActionIsASentence(action: [String]) throws {
        let bed = try CameraBed(hasPipeWire: false)
        let answer = try run(["camera"] + action, bed, in: try TemporaryFolder())
        #expect(answer.code == 64 && answer.words.contains("'"), "\(answer.words)")
    }

    @Test func hostWithoutACameraSaysSo() throws {
        let bed = try CameraBed(hasPipeWire: false)
        let host = try HostedScreen(["--source", "test"], environment: bed.environment)
        let answer = try run(["camera", "off"], bed, in: host.folder)
        #expect(answer.code == 64 && answer.words.contains("shows no camera"), "\(answer.words)")
    }
}
