import BusSupport
import Foundation
import TestSupport
import Testing

/// The screen of a Wayland desktop is shared through the real portal and PipeWire, and its pixels are compared at the
/// viewer.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct PortalVerbTests {
    /// - Parameter bed: the desktop, of which the host is a program.
    private func host(_ bed: PortalBed, _ arguments: [String]) throws -> HostedScreen {
        try HostedScreen(arguments + ["--audio", "none"], environment: bed.environment)
    }

    @Test func theGrantedScreenArrivesAtTheViewer() throws {
        let bed = try PortalBed(["size 800 600"])
        let host = try host(bed, ["--source", "portal"])
        try bed.tell("fill 2060c0 0 0 800 600")
        let file = host.folder.file("seen.png")
        let viewer = try host.join(["--snapshot", file])
        let first = try #require(viewer.event("first-picture"), "\(viewer.errorText) \(host.process.errorText)")
        #expect(first["width"] as? Int == 800)
        #expect(first["height"] as? Int == 600)
        let frames = viewer.frames
        try bed.tell("fill c02020 0 0 400 600")
        #expect(viewer.rests(after: frames))
        viewer.interrupt()
        #expect(viewer.exitCode() == 0)
        let snapshot = try Snapshot(file)
        #expect(snapshot.isColor(0xc02020, x: 200, y: 300))
        #expect(snapshot.isColor(0x2060c0, x: 600, y: 300))
    }

    @Test func waylandSessionChoosesThePortalAndAsksOnce() throws {
        let bed = try PortalBed()
        for _ in 0..<2 {
            let host = try host(bed, [])
            #expect(host.process.waitForError("a monitor that the desktop portal grants, 640 x 480"))
            host.process.interrupt()
            #expect(host.process.exitCode() == 0)
        }
        #expect(bed.news.filter { $0.hasPrefix("start") } == ["start asked", "start restored"])
        let again = try host(bed, ["--ask-again"])
        #expect(bed.news.filter { $0.hasPrefix("start") }.last == "start asked")
        again.process.interrupt()
        let token = bed.stateFolder + "/share/screencast-token"
        let mode = try FileManager.default.attributesOfItem(atPath: token)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func anotherSizeAndARestartOfPipeWireNeedNoNewJoin() throws {
        let bed = try PortalBed()
        let host = try host(bed, ["--source", "portal"])
        let file = host.folder.file("seen.png")
        let viewer = try host.join(["--snapshot", file])
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        try bed.tell("size 800 600")
        _ = try #require(viewer.event("statistics") { $0["width"] as? Int == 800 && $0["height"] as? Int == 600 })
        try bed.restartPipeWire()
        #expect(host.process.waitForError("the screen is shared again"))
        let frames = viewer.frames
        try bed.tell("size 320 240")
        try bed.tell("fill 20c020 0 0 320 240")
        _ = try #require(viewer.event("statistics") { $0["width"] as? Int == 320 })
        #expect(viewer.rests(after: frames))
        viewer.interrupt()
        #expect(viewer.exitCode() == 0)
        #expect(try Snapshot(file).isColor(0x20c020, x: 100, y: 100))
    }

    @Test func dismissedQuestionEndsTheHostInWords() throws {
        let bed = try PortalBed(["answer dismiss"])
        let folder = try TemporaryFolder()
        let host = try ShareProcess(
            ["host", "--accept", "any", "--listen", "127.0.0.1:0", "--source", "portal"], in: folder,
            environment: bed.environment)
        #expect(host.exitCode() == 66)
        #expect(host.errorText.contains("dismissed"))
    }

    @Test func openQuestionEndsWithTheHost() throws {
        let bed = try PortalBed(["answer hang"])
        let folder = try TemporaryFolder()
        let host = try ShareProcess(
            ["host", "--accept", "any", "--listen", "127.0.0.1:0", "--source", "portal"], in: folder,
            environment: bed.environment)
        #expect(bed.hears("start asked"))
        host.interrupt()
        #expect(host.exitCode() == 0)
    }

    @Test func missingPortalIsSaidByHostAndDoctor() throws {
        let bed = try PortalBed(hasPortal: false)
        let folder = try TemporaryFolder()
        let host = try ShareProcess(
            ["host", "--accept", "any", "--listen", "127.0.0.1:0"], in: folder, environment: bed.environment)
        #expect(host.exitCode() == 66)
        #expect(host.errorText.contains("no desktop portal"))
        let doctor = try ShareProcess(["doctor"], in: folder, environment: bed.environment)
        #expect(doctor.exitCode() == 1)
        #expect(doctor.lines.contains { $0.hasPrefix("missing capture") && $0.contains("no desktop portal") })
    }

    @Test func doctorSaysWhatThePortalCan() throws {
        let bed = try PortalBed()
        let folder = try TemporaryFolder()
        let doctor = try ShareProcess(["doctor"], in: folder, environment: bed.environment)
        _ = doctor.exitCode()
        #expect(doctor.lines.contains { $0.hasPrefix("ok      capture") && $0.contains("monitors and windows") })
        #expect(doctor.lines.contains { $0.contains("viewers can control monitors") })
        bed.endPipeWire()
        let another = try ShareProcess(["doctor"], in: folder, environment: bed.environment)
        #expect(another.exitCode() == 1)
        #expect(another.lines.contains { $0.hasPrefix("missing capture") && $0.contains("PipeWire") })
    }
}
