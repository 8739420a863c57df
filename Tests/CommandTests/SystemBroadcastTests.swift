import BusSupport
import Foundation
import Host
import Identity
import MediaCore
import SessionBus
import TestSupport
import Testing

@testable import CommandSupport
@testable import RelayVerb
@testable import share

/// The one broadcast of a session's screen: a second one, and a session that is locked.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct SystemBroadcastTests {
    private func arguments(_ display: VirtualDisplay) -> [String] {
        ["host", "--accept", "any", "--listen", "127.0.0.1:0", "--json", "--display", display.name, "--audio", "none"]
    }

    @Test func theSessionsOwnDisplayIsTheSystemBroadcast() {
        #expect(SystemBroadcast.isSession(nil, ["DISPLAY": ":0"]))
        #expect(SystemBroadcast.isSession(":0", ["DISPLAY": ":0"]))
        #expect(SystemBroadcast.isSession(":0.1", ["DISPLAY": ":0.0"]))
        #expect(SystemBroadcast.isSession(":3", [:]))
        #expect(SystemBroadcast.isSession(":3", ["DISPLAY": ""]))
        #expect(!SystemBroadcast.isSession(":3", ["DISPLAY": ":0"]))
        #expect(!SystemBroadcast.isSession(":10", ["DISPLAY": ":1"]))
        #expect(!SystemBroadcast.isSession("far.example:0", ["DISPLAY": ":0"]))
    }

    // MARK: A second one

    @Test func aSecondBroadcastOfTheScreenIsRefusedWithoutABus() throws {
        let display = try VirtualDisplay(width: 320, height: 240)
        let first = try HostedScreen(["--display", display.name, "--audio", "none"])
        let second = try ShareProcess(arguments(display), in: first.folder)
        #expect(second.exitCode() == 79)
        #expect(second.errorText.contains("is being broadcast already (by the process \(first.process.processID))"))
        #expect(second.errorText.contains("share stop ends it"))
        #expect(second.lines.isEmpty)
        // The test video, and a display that is not the session's, are none.
        let video = try ShareProcess(
            ["host", "--accept", "any", "--listen", "127.0.0.1:0", "--json", "--source", "test", "--audio", "none"],
            in: first.folder)
        #expect(video.event("link") != nil)
        let other = try ShareProcess(arguments(display), in: first.folder, environment: ["DISPLAY": ":999"])
        #expect(other.event("link") != nil, "\(other.errorText)")
        // The lock ends with its process, even if that is killed.
        first.process.kill()
        _ = first.process.exitCode()
        let third = try ShareProcess(arguments(display), in: first.folder)
        #expect(third.event("link") != nil, "\(third.errorText)")
        third.interrupt()
        #expect(third.exitCode() == 0)
        let left = try FileManager.default.contentsOfDirectory(atPath: first.folder.file("share-\(geteuid())"))
        #expect(!left.contains { $0.hasSuffix(".lock") })
    }

    @Test func aSecondBroadcastOfTheScreenIsRefusedOverTheBus() throws {
        let bus = try TestBus()
        let display = try VirtualDisplay(width: 320, height: 240)
        let environment = ["DBUS_SESSION_BUS_ADDRESS": bus.address]
        let first = try HostedScreen(["--display", display.name, "--audio", "none"], environment: environment)
        let second = try ShareProcess(arguments(display), environment: environment)
        #expect(second.exitCode() == 79, "\(second.errorText)")
        #expect(second.errorText.contains("is being broadcast already"))
        first.process.interrupt()
        #expect(first.process.exitCode() == 0)
        let third = try ShareProcess(arguments(display), environment: environment)
        #expect(third.event("link") != nil, "\(third.errorText)")
    }

    // MARK: A locked session

    @Test func aLockPausesTheBroadcastAndItStaysPausedWhereNobodyCanBeAsked() throws {
        let bus = try TestBus()
        let saver = try FakeScreenSaver(bus)
        let display = try VirtualDisplay(width: 320, height: 240)
        let host = try HostedScreen(
            ["--display", display.name, "--audio", "none"], environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address])
        #expect(saver.isObserved())
        let viewer = try host.join()
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        saver.setActive(true)
        #expect(host.process.event("session-locked") != nil && host.process.event("paused") != nil)
        #expect(viewer.event("paused") != nil)
        saver.setActive(false)
        #expect(host.process.event("session-unlocked") != nil)
        #expect(host.process.waitForError("stays paused; share resume continues"))
        #expect(viewer.event("resumed", seconds: 0.1) == nil)
        #expect(try ShareProcess(["resume"], in: host.folder).exitCode() == 0)
        #expect(viewer.event("resumed") != nil)
        // A pause that the user made himself is not ended by coming back, and asks nothing.
        #expect(try ShareProcess(["pause"], in: host.folder).exitCode() == 0)
        let before = host.process.errorText
        saver.setActive(true)
        saver.setActive(false)
        var unlocks = 0
        #expect(
            host.process.event("session-unlocked") { _ in
                unlocks += 1
                return unlocks == 2
            } != nil)
        #expect(!host.process.errorText.dropFirst(before.count).contains("stays paused"))
    }

    @Test(arguments: [true, false])
    func onReturnTheUserIsAskedInTheTerminal(_ resumes: Bool) throws {
        let bus = try TestBus()
        let login = try FakeLogin(bus)
        let display = try VirtualDisplay(width: 320, height: 240)
        let terminal = try Terminal(
            ["host", "--accept", "any", "--listen", "127.0.0.1:0", "--display", display.name, "--audio", "none"],
            environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address, "DISPLAY": ""])
        let link = try #require(terminal.waitFor { $0.firstLink }, "\(terminal.screen())")
        #expect(login.isObserved())
        let viewer = try terminal.join(link, name: "Ann")
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        let question = "Resume the broadcast? [y]es, [n]o (ends it):"
        login.send("Lock")
        #expect(viewer.event("paused") != nil)
        #expect(terminal.waitUntil { $0.contains("your session is locked") })
        login.send("Unlock")
        #expect(terminal.waitUntil { $0.hasSuffix(question) }, "\(terminal.screen())")
        // A session that is locked again takes the question back until the next return.
        login.send("Lock")
        #expect(terminal.waitUntil { !$0.contains(question) })
        login.send("Unlock")
        #expect(terminal.waitUntil { $0.hasSuffix(question) })
        // A key counts from a second after the question; "a" is no answer to this one.
        #expect(terminal.typeUntil("a") { $0.contains("Press y or n.") })
        // Keys that are read together are no answer, and an "a" may still be on its way.
        var isAnswered = false
        for _ in 0..<5 where !isAnswered {
            try terminal.type(resumes ? "y" : "n")
            isAnswered =
                viewer.event(resumes ? "resumed" : "ended", seconds: 5) {
                    resumes || $0["code"] as? String == "hostEnded"
                } != nil
        }
        #expect(isAnswered, "\(terminal.screen())")
        #expect(
            terminal.waitUntil { $0.contains(resumes ? "LIVE 00:" : "ended after your session was locked") })
    }
}

extension Terminal {
    /// Types keys again and again, each time that the screen changes, until the condition holds.
    func typeUntil(_ keys: String, _ isSo: (String) -> Bool) -> Bool {
        let deadline = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < deadline {
            try? type(keys)
            if isSo(screen()) { return true }
        }
        return false
    }
}

/// What a lock of the session does to a broadcast.
@Suite struct LockPausePolicyTests {
    private func run(_ events: [LockPausePolicy.Event]) -> [LockPausePolicy.Action] {
        var policy = LockPausePolicy()
        return events.compactMap { policy.handle($0) }
    }

    @Test func aLockPausesAndTheReturnAsks() {
        #expect(run([.locked, .paused(true), .unlocked]) == [.pause, .ask])
        #expect(run([.locked, .paused(true), .unlocked, .answered(resumes: true)]) == [.pause, .ask, .resume])
        #expect(run([.locked, .paused(true), .unlocked, .answered(resumes: false)]) == [.pause, .ask, .end])
    }

    @Test func aPauseOfTheUsersOwnStays() {
        #expect(run([.locked, .paused(false), .unlocked]) == [.pause])
    }

    @Test func aResumptionElsewhereAnswersTheQuestion() {
        #expect(
            run([.locked, .paused(true), .unlocked, .resumed, .answered(resumes: false)]) == [.pause, .ask, .withdraw])
        #expect(run([.locked, .paused(true), .resumed, .unlocked]) == [.pause])
    }

    @Test func aSecondLockTakesTheQuestionBackAndTheNextReturnAsksAgain() {
        let twice: [LockPausePolicy.Event] = [.locked, .paused(true), .unlocked, .locked, .unlocked]
        #expect(run(twice) == [.pause, .ask, .withdraw, .ask])
        #expect(run(twice + [.answered(resumes: true), .locked]) == [.pause, .ask, .withdraw, .ask, .resume, .pause])
    }

    @Test func whatComesAtTheWrongTimeDoesNothing() {
        #expect(run([.unlocked, .answered(resumes: true), .answered(resumes: false), .resumed]).isEmpty)
        #expect(run([.locked, .paused(true), .locked, .answered(resumes: false)]) == [.pause])
    }
}

/// What the tray says and offers.
@Suite struct BroadcastIndicatorTests {
    @Test func theMenuOffersWhatCanBeDone() {
        var content = BroadcastIndicator.content(
            holds: [], connected: 2, viewers: 2, isMicrophoneMuted: nil, service: "")
        #expect(content.toolTip == "Your screen is broadcast to 2 viewers" && content.isLive)
        #expect(content.menu.map(\.label) == [content.toolTip, "Hide the picture", "Pause", "Stop the broadcast"])
        #expect(content.menu.map(\.isEnabled) == [false, true, true, true])
        content = BroadcastIndicator.content(
            holds: [.pause], connected: 2, viewers: 2, isMicrophoneMuted: true, service: "")
        #expect(content.toolTip == "The broadcast of your screen is paused" && !content.isLive)
        #expect(
            content.menu.dropFirst().map(\.label) == [
                "Hide the picture", "Resume", "Unmute the microphone", "Stop the broadcast",
            ])
        content = BroadcastIndicator.content(
            holds: [.pause, .blank], connected: 2, viewers: 2, isMicrophoneMuted: nil, service: "")
        #expect(content.toolTip == "The broadcast of your screen is blanked" && !content.isLive)
        #expect(content.menu.dropFirst().map(\.label) == ["Show the picture again", "Resume", "Stop the broadcast"])
        content = BroadcastIndicator.content(
            holds: [], connected: 1, viewers: 0, isMicrophoneMuted: false,
            service: "com.example.conference My Conference")
        #expect(content.toolTip == "Your screen is broadcast to \"My Conference\"")
        #expect(content.menu.map(\.label).contains("Mute the microphone"))
        content = BroadcastIndicator.content(
            holds: [], connected: 1, viewers: 3, isMicrophoneMuted: nil, service: "io.sharekit.relay Relay",
            destination: BroadcastReceiver(name: "Relay", countsViewers: true))
        #expect(content.toolTip == "Your screen is broadcast to \"Relay\", 3 viewers")
        content = BroadcastIndicator.content(
            holds: [], connected: 0, viewers: 0, isMicrophoneMuted: nil, service: "")
        #expect(content.toolTip == "Your screen waits for viewers" && !content.isLive)
    }
    private func viewer(
        _ number: Int, _ name: String, _ rights: ViewerRights?, print: UInt8? = nil
    ) -> ViewerSessionInfo {
        let print = [UInt8](repeating: print ?? UInt8(clamping: number), count: 32)
        var viewer = ViewerSessionInfo(
            number: number, id: .random(),
            description: ViewerDescription(name: name, kind: "browser", address: "192.0.2.1", words: ""),
            fingerprint: print, identity: nil, connectedFor: nil, isInterrupted: false, path: "", bitrate: .kilobits(1))
        viewer.rights = rights
        return viewer
    }

    private func content(_ viewers: [ViewerSessionInfo], rights: Set<ViewerRight>) -> StatusNotifierItem.Content {
        BroadcastIndicator.content(
            holds: [], connected: 1, viewers: viewers.count, isMicrophoneMuted: true, service: "",
            audience: TrayAudience(viewers, possibleRights: rights))
    }

    @Test func theNewestViewersHaveSubmenus() {
        var viewers = (1...14).map { viewer($0, "Viewer \($0)", ViewerRights()) }
        // A second session of viewer 14, and a player with the fixed token.
        viewers.append(viewer(15, "Viewer 14", ViewerRights(), print: 14))
        viewers.append(viewer(16, "\u{202E}\u{1B}[2J", nil))
        let menu = content(viewers, rights: [.comment, .point]).menu
        let labels = menu.map(\.label)
        #expect(labels[1] == "\"[2J\" (browser)" && labels[2] == "\"Viewer 14\" (browser)")
        #expect(labels[13] == "\u{2026}and 3 more: share viewers" && !menu[13].isEnabled)
        #expect(menu.count { !$0.children.isEmpty } == TrayAudience.limit)
        #expect(menu[1].children.map(\.label) == ["Remove"])
        // What is shared cannot be controlled.
        #expect(menu[2].children.map(\.label) == ["Comment", "Point", "Remove"])
        #expect(ViewerChoice(item: menu[2].children[0].id) == ViewerChoice(15, .grant(.comment)))
        let ids = menu.flatMap { [$0.id] + $0.children.map(\.id) }
        #expect(Set(ids).count == ids.count && ids.allSatisfy { Int32(exactly: $0) != nil })
        // A session number that no item can have is left out.
        let far = content([viewer(ViewerChoice.numberLimit, "Far", nil)], rights: [])
        #expect(far.menu.allSatisfy { $0.children.isEmpty })
    }

    @Test func whileAViewerControlsNothingIsGranted() {
        let viewers = [
            viewer(1, "Ann", ViewerRights(comment: .yes, control: .yes)), viewer(2, "Bob", ViewerRights()),
        ]
        let content = content(viewers, rights: Set(ViewerRight.allCases))
        #expect(content.toolTip == "\"Ann\" controls your screen" && content.isControlled && content.isLive)
        #expect(content.menu.prefix(2).map(\.label) == ["Take control back", content.toolTip])
        let (bob, ann) = (content.menu[2], content.menu[3])
        #expect(bob.children.map(\.isEnabled) == [false, false, false, true])
        #expect(ann.children.map(\.isChecked) == [true, false, true, nil])
        #expect(ann.children.map(\.isEnabled) == [true, false, true, true])
        #expect(ann.children.map { ViewerChoice(item: $0.id)?.action }[2] == .revoke(.control))
        #expect(content.menu.first { $0.label == "Unmute the microphone" }?.isEnabled == false)
    }
}
