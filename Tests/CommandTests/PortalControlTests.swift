import BusSupport
import Foundation
import SessionBus
import ShareKit
import TestSupport
import Testing

/// `share host` in a Wayland session, whose monitor a viewer controls.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct PortalControlTests {
    private static let notifications = "org.freedesktop.Notifications"
    private static let letter: UInt32 = 0x61

    private func host(_ bed: PortalBed, _ arguments: [String]) throws -> HostedScreen {
        try HostedScreen(["--source", "portal", "--audio", "none"] + arguments, environment: bed.environment)
    }

    private func share(_ arguments: [String], _ host: HostedScreen, _ bed: PortalBed) throws -> ShareProcess {
        let process = try ShareProcess(arguments, in: host.folder, environment: bed.environment)
        _ = process.exitCode()
        return process
    }

    /// Runs a verb that succeeds.
    private func succeed(_ arguments: [String], _ host: HostedScreen, _ bed: PortalBed) throws {
        let process = try share(arguments, host, bed)
        #expect(process.exitCode() == 0, "\(arguments): \(process.errorText)")
    }

    /// Presses a key and a button, has the control taken back, and waits until the desktop got the releases.
    /// - Parameter times: how often that was done so far, with this one.
    private func press(_ viewer: ControllingViewer, _ bed: PortalBed, times: Int, takeBack: () throws -> Void)
        async throws
    {
        await viewer.send(.move(.init(x: 0.5, y: 0.5)))
        await viewer.send(.button(1, isPressed: true))
        await viewer.send(.key(keysym: Self.letter, isPressed: true))
        try #require(bed.hears("NotifyKeyboardKeysym 97 1", times: times), "\(bed.news)")
        try takeBack()
        #expect(bed.hears("NotifyKeyboardKeysym 97 0", times: times), "\(bed.news)")
        #expect(bed.hears("NotifyPointerButton 272 0", times: times), "\(bed.news)")
    }

    @Test func aViewerControlsTheMonitorUntilItIsTakenBack() async throws {
        let bed = try PortalBed(["size 800 600"])
        let desktop = try bed.bus.service(Self.notifications) { call in
            switch call.member {
            case "GetCapabilities": [.array(of: "s", [.text("actions")])]
            case "Notify": [.uint32(7)]
            default: []
            }
        }
        let host = try host(bed, ["--control", "yes"])
        #expect(host.process.errorText.contains("and whether viewers may control it"))
        #expect(bed.news.contains("devices 3"))
        let viewer = try ControllingViewer(host.link)
        try await viewer.control()
        #expect(
            host.process.waitForError("controls this screen; x, or the button of the desktop's notification, takes"))

        let shown = try #require(
            desktop.message { $0.member == "Notify" && $0.arguments[3].text == "\"Ann\" controls this screen" })
        var times = 1
        try await press(viewer, bed, times: times) {
            let button = try #require(shown.arguments[5].list?.first?.text)
            desktop.connection.signal(
                "/org/freedesktop/Notifications", Self.notifications, "ActionInvoked", [.uint32(7), .text(button)])
        }
        #expect(bed.hears("NotifyPointerMotionAbsolute"))
        let ended = try #require(host.process.event("control") { $0["state"] as? String != "begun" })
        #expect(ended["state"] as? String == "taken-back" && ended["inputs"] as? Int == 3, "\(ended)")
        #expect(desktop.message { $0.member == "CloseNotification" } != nil)

        for (verb, undo) in [
            (["revoke", "Ann", "control"], []), (["pause"], ["resume"]), (["blank"], ["unblank"]),
            (["freeze"], ["unfreeze"]),
        ] {
            times += 1
            try succeed(["grant", "Ann", "control"], host, bed)
            try await press(viewer, bed, times: times) { try succeed(verb, host, bed) }
            if !undo.isEmpty { try succeed(undo, host, bed) }
        }

        // A pointer that somebody moves on the machine itself releases everything, and the control goes on.
        try succeed(["grant", "Ann", "control"], host, bed)
        try bed.tell("shape ff0000 8 8 4 4")
        times += 1
        try await press(viewer, bed, times: times) {
            let begun = host.process.lines.count
            var x = 0
            _ = try eventually {
                x += 20
                try bed.tell("cursor \(x % 300) 20")
                return bed.news.filter { $0 == "NotifyKeyboardKeysym 97 0" }.count == times
            }
            #expect(!host.process.lines.dropFirst(begun).contains { $0.contains("taken-back") })
        }

        // The desktop ends the session, and its user shares the screen again.
        try succeed(["revoke", "Ann", "control"], host, bed)
        try succeed(["grant", "Ann", "control"], host, bed)
        let begun = host.process.lines.filter { $0.contains("taken-back") }.count
        try bed.tell("close")
        #expect(eventually { host.process.lines.filter { $0.contains("taken-back") }.count == begun + 1 })
        #expect(host.process.waitForError("the screen is shared again"))
        try bed.tell("fill ff0000 0 0 800 600")
        try succeed(["grant", "Ann", "control"], host, bed)
        times += 1
        try await press(viewer, bed, times: times) { try succeed(["stop"], host, bed) }
        #expect(bed.hears("session closed by the application"))
    }

    @Test func aViewerThatLeavesHoldsNothing() async throws {
        let bed = try PortalBed(["devices 1"])
        let host = try host(bed, ["--control", "yes"])
        #expect(host.process.waitForError("has the keyboard alone"))
        let viewer = try ControllingViewer(host.link)
        try await viewer.control()
        await viewer.send(.move(.init(x: 0.5, y: 0.5)))
        await viewer.send(.key(keysym: Self.letter, isPressed: true))
        #expect(bed.hears("NotifyKeyboardKeysym 97 1"))
        try await viewer.end()
        #expect(bed.hears("NotifyKeyboardKeysym 97 0"))
        #expect(!bed.news.contains { $0.hasPrefix("NotifyPointer") })
    }

    @Test(arguments: [
        (true, [], [], "the desktop was not asked for that"),
        (false, [], ["--control", "ask"], "the desktop portal lets no program use the pointer and the keyboard"),
        (true, ["devices 0"], ["--control", "yes"], "the desktop did not grant the pointer and the keyboard"),
        (true, ["kind 2"], ["--control", "yes"], "a whole monitor, and no window"),
    ])
    func whatCannotBeControlledIsShared(
        takesInput: Bool, commands: [String], arguments: [String], words: String
    ) async throws {
        let bed = try PortalBed(commands, takesInput: takesInput)
        let host = try host(bed, arguments)
        if !arguments.isEmpty { #expect(host.process.waitForError("viewers cannot control the screen: ")) }
        #expect(bed.news.contains { $0.hasPrefix("devices") } == (takesInput && !arguments.isEmpty))
        let viewer = try ControllingViewer(host.link)
        #expect(try await viewer.right() == .none)
        let grant = try share(["grant", "Ann", "control"], host, bed)
        #expect(grant.exitCode() != 0)
        #expect(grant.errorText.contains("what is shared cannot be controlled: ") && grant.errorText.contains(words))
        try await viewer.end()
        #expect(!bed.news.contains { $0.hasPrefix("Notify") })
    }
}
