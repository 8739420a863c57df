import BusSupport
import Foundation
import SessionBus
import TestSupport
import Testing

/// Knocks as notifications of a desktop, which is a program of the test on a private bus.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct KnockNotificationTests {
    private static let name = "org.freedesktop.Notifications"
    private let bus: TestBus
    private let desktop: BusService

    init() throws {
        let bus = try TestBus()
        self.bus = bus
        desktop = try bus.service(Self.name) { call in
            switch call.member {
            case "GetCapabilities": [.array(of: "s", [.text("body"), .text("actions")])]
            case "Notify": [.uint32(7)]
            case "CloseNotification": []
            default: nil
            }
        }
    }

    private func host() throws -> (Terminal, link: String) {
        let terminal = try Terminal(
            ["host", "--source", "test", "--audio", "none", "--listen", "127.0.0.1:0"],
            environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address])
        return (terminal, try #require(terminal.waitFor { $0.firstLink }, "\(terminal.screen())"))
    }

    private func notification(about name: String) throws -> BusMessage {
        try #require(desktop.message { $0.member == "Notify" && $0.arguments[3].text?.contains(name) == true })
    }

    /// The keys of the buttons.
    private func keys(of notification: BusMessage) -> [String] {
        notification.arguments[5].list?.compactMap(\.text) ?? []
    }

    private func click(_ key: String) {
        desktop.connection.signal(
            "/org/freedesktop/Notifications", Self.name, "ActionInvoked", [.uint32(7), .text(key)])
    }

    @Test func theButtonsAnswerAndTheNotificationGoes() throws {
        let (terminal, link) = try host()
        let viewer = try terminal.join(link, name: "<b>Ann</b> &")
        let words = try #require(viewer.event("knock")?["words"] as? String)
        let shown = try notification(about: "Ann")
        #expect(shown.arguments[3].text == "\"<b>Ann</b> &\" (share, 127.0.0.1) wants to watch")
        #expect(shown.arguments[4].text?.hasPrefix("The words on their side should be: \(words)\n") == true)
        let buttons = keys(of: shown)
        #expect(buttons.count == 4 && buttons[1] == "Accept" && buttons[3] == "Refuse", "\(buttons)")
        // A click in the first second was meant for something else; the notification comes again.
        click(buttons[0])
        let again = try #require(desktop.messages(2) { $0.member == "Notify" }.last)
        let accept = try #require(keys(of: again).first)
        #expect(!buttons.contains(accept))
        // It has a quiet second of its own.
        let left = try #require(terminal.waitFor { $0.isAsking(about: "<b>Ann</b> &") != nil ? $0.secondsLeft : nil })
        #expect(terminal.waitUntil { $0.secondsLeft.map { $0 < left - 2 } == true })
        click(accept)
        #expect(viewer.event("first-picture") != nil, "\(viewer.errorText)")
        #expect(terminal.waitUntil { $0.contains("s left: yes (in the notification)") }, "\(terminal.screen())")
        #expect(desktop.call(of: "CloseNotification")?.arguments == [.uint32(7)])

        let second = try terminal.join(link, name: "Bob", from: TemporaryFolder())
        let refuse = try #require(keys(of: try notification(about: "Bob")).dropFirst(2).first)
        _ = try #require(terminal.waitFor { $0.takesAnswer(about: "Bob") })
        // A button of a question that is over does nothing.
        click(accept)
        click(refuse)
        #expect(second.exitCode() == 77)
        #expect(terminal.waitUntil { $0.contains("s left: no (in the notification)") }, "\(terminal.screen())")
    }

    @Test func whoDoesNotShowTheNotificationCannotAnswerAndTheTerminalsAnswerTakesItBack() throws {
        let (terminal, link) = try host()
        let viewer = try terminal.join(link, name: "Mallory")
        let accept = try #require(keys(of: try notification(about: "Mallory")).first)
        _ = try #require(terminal.waitFor { $0.takesAnswer(about: "Mallory") })
        // Sent to share alone, such a signal reaches it without a match.
        let shown = try notification(about: "Mallory")
        try Program(
            "dbus-send",
            [
                "--bus=\(bus.address)", "--type=signal", "--dest=\(shown.sender)", "/org/freedesktop/Notifications",
                "\(Self.name).ActionInvoked", "uint32:7", "string:\(accept)",
            ]
        ).finish()
        try terminal.type("n")
        #expect(viewer.exitCode() == 77)
        #expect(desktop.call(of: "CloseNotification")?.arguments == [.uint32(7)])
        #expect(!terminal.screen().contains("in the notification"))
        // The desktop's own late click finds no question.
        click(accept)
        desktop.settle()
        #expect(terminal.waitUntil { $0.contains("was not let in: the host said no") }, "\(terminal.screen())")
    }
}
