import Foundation
import TestSupport
import Testing

/// The examples, run as their first lines say.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ExampleTests {
    private func start(_ name: String, _ arguments: [String], in folder: TemporaryFolder, on desktop: Desktop?) throws
        -> Program
    {
        let own: [String: String?] = ["DISPLAY": desktop?.display.name, "WAYLAND_DISPLAY": nil]
        return try Program(
            Program.built(name), arguments, environment: own.merging(folder.environment) { $1 })
    }

    @Test func whatIsDrawnInOneMirrorIsSeenInTheOther() throws {
        let (here, there) = (try Desktop(), try Desktop())
        let folders = (try TemporaryFolder(), try TemporaryFolder())
        let host = try start("Mirror", [], in: folders.0, on: here)
        let link = try #require(host.line(seconds: 20) { $0.hasPrefix("https://") ? $0 : nil }, "\(host.text.errors)")
        let viewer = try start("Mirror", [link], in: folders.1, on: there)
        try here.accept("Mirror")
        let sheet = try #require(try here.window("Mirror", showing: 0xFFFFFF, x: 100, y: 100))
        // 24 x 8 pixels, from three points.
        for x in [304, 312, 320] {
            try here.act("mousemove", "\(sheet.x + x)", "\(sheet.y + 200)", "click", "1")
        }
        #expect(try there.window("Mirror", showing: 0x2040C0, x: 312, y: 200) != nil, "\(viewer.text.errors)")
        #expect(try there.window("Mirror", showing: 0xFFFFFF, x: 312, y: 300) != nil)
        host.interrupt()
        #expect(host.exitCode(seconds: 30) == 0)
        #expect(viewer.exitCode(seconds: 30) == 0, "\(viewer.text.errors)")
    }

    /// What Budget draws: a header, the number of the account (a digit with an upper left stroke, or a dash), bars.
    private struct Sheet {
        static let header = (color: 0x1F5F4A, x: 300, y: 30)
        static let bar = (color: 0x2E8B6D, x: 72, y: 420)
        static let (paper, ink) = (0xF4F1EA, 0x202020)
        static let digit = (x: 42, y: 118)
        static let dash = (x: 52, y: 130)
    }

    /// Waits until the place of a digit has that colour in the window of Budget.
    private func number(_ color: Int, on desktop: Desktop) throws -> Desktop.Place? {
        try desktop.window("Budget", showing: color, x: Sheet.digit.x, y: Sheet.digit.y)
    }

    private func expectHiddenNumber(in file: String) throws {
        let seen = try Snapshot(file)
        #expect((seen.width, seen.height) == (640, 480))
        #expect(seen.isColor(Sheet.header.color, x: Sheet.header.x, y: Sheet.header.y))
        #expect(seen.isColor(Sheet.bar.color, x: Sheet.bar.x, y: Sheet.bar.y))
        #expect(seen.isColor(Sheet.paper, x: Sheet.digit.x, y: Sheet.digit.y), "a digit of the account's number")
        #expect(!seen.isColor(Sheet.paper, x: Sheet.dash.x, y: Sheet.dash.y), "no dash in place of the digit")
    }

    @Test func budgetBroadcastsToConferenceAndHidesItsAccount() throws {
        let desktop = try Desktop()
        let (service, user) = (try TemporaryFolder(), try TemporaryFolder())
        let snapshot = service.file("seen.png")
        let conference = try start(
            "Conference", ["--headless", "--accept", "any", "--listen", "127.0.0.1", "--snapshot", snapshot],
            in: service, on: nil)
        let link = try #require(conference.line(seconds: 20) { $0 }, "\(conference.text.errors)")
        let install = try ShareProcess(["extension", "install", link], in: user)
        #expect(install.exitCode() == 0, "\(install.errorText)")
        let budget = try start(
            "Budget", ["com.example.conference", "--title", "Household"], in: user, on: desktop)
        let window = try #require(try number(Sheet.ink, on: desktop), "\(budget.text.errors)")

        try desktop.press("b", in: window) { try desktop.isAsking("Budget") }
        try desktop.accept("Budget")
        #expect(conference.line(seconds: 20) { $0 == "shows Budget: Household" ? true : nil } == true)
        // Even the first frame is without the number.
        try expectHiddenNumber(in: snapshot)
        #expect(try number(Sheet.paper, on: desktop) != nil)
        #expect(budget.line(.error, seconds: 20) { $0.contains("Conference: Welcome!") ? true : nil } == true)
        #expect(
            budget.line(.error, seconds: 20) { $0 == "Budget: 1 watch" ? true : nil } == true, "\(budget.text.errors)")

        try desktop.press("f", in: window) {
            conference.line(.error, seconds: 1) { $0.contains("Budget has ended") ? true : nil } == true
        }
        #expect(try number(Sheet.ink, on: desktop) != nil)
        conference.interrupt()
        #expect(conference.exitCode(seconds: 30) == 0, "\(conference.text.errors)")
        try expectHiddenNumber(in: snapshot)
        budget.interrupt()
        #expect(budget.exitCode(seconds: 30) == 0, "\(budget.text.errors)")
    }

    /// Budget does not tell ShareKit that its window is hidden: the display does. Behind the question on return the
    /// window is drawn, also where the question was.
    @Test func budgetIsPausedWhileItsWindowIsHiddenAndAsksOnReturn() throws {
        let desktop = try Desktop()
        let (service, user) = (try TemporaryFolder(), try TemporaryFolder())
        let conference = try start(
            "Conference", ["--headless", "--accept", "any", "--listen", "127.0.0.1"], in: service, on: nil)
        let link = try #require(conference.line(seconds: 20) { $0 }, "\(conference.text.errors)")
        #expect(try ShareProcess(["extension", "install", link], in: user).exitCode() == 0)
        let budget = try start("Budget", ["com.example.conference"], in: user, on: desktop)
        let window = try #require(try number(Sheet.ink, on: desktop), "\(budget.text.errors)")
        try desktop.press("b", in: window) { try desktop.isAsking("Budget") }
        try desktop.accept("Budget")
        #expect(conference.line(seconds: 20) { $0 == "shows Budget: Budget" ? true : nil } == true)

        let id = try desktop.client("Budget")
        try desktop.act("windowunmap", id)
        let paused = "paused while the window is hidden"
        #expect(budget.line(.error, seconds: 20) { $0.contains(paused) ? true : nil } == true, "\(budget.text.errors)")
        try desktop.act("windowmap", id)
        #expect(try desktop.wait { try desktop.isAsking("Budget") ? true : nil } == true, "\(budget.text.errors)")
        for place in [Sheet.header, Sheet.bar] {
            #expect(
                try desktop.window("Budget", showing: place.color, x: place.x, y: place.y) != nil,
                "\(place) is not drawn behind the question")
        }
        try desktop.moveQuestion("Budget", x: 0, y: 0)
        #expect(try desktop.window("Budget", showing: Sheet.paper, x: 320, y: 230) != nil)
        try desktop.accept("Budget")
        budget.interrupt()
        #expect(budget.exitCode(seconds: 30) == 0, "\(budget.text.errors)")
    }

    @Test func theUserOfBudgetChoosesAServiceAndMayRefuse() throws {
        let desktop = try Desktop()
        let (service, user) = (try TemporaryFolder(), try TemporaryFolder())
        let conference = try start(
            "Conference", ["--headless", "--accept", "any", "--listen", "127.0.0.1"], in: service, on: nil)
        let link = try #require(conference.line(seconds: 20) { $0 }, "\(conference.text.errors)")
        let budget = try start("Budget", [], in: user, on: desktop)
        let window = try #require(try number(Sheet.ink, on: desktop), "\(budget.text.errors)")
        try desktop.press("c", in: window) {
            budget.line(.error, seconds: 1) { $0.contains("no service is installed") ? true : nil } == true
        }
        #expect(try ShareProcess(["extension", "install", link], in: user).exitCode() == 0)
        try desktop.press("c", in: window) { try desktop.isAsking("Budget") }
        let height = try desktop.accept("Budget")
        // The alert follows the choice; it has the service's terms.
        try desktop.accept("Budget", higherThan: height)
        #expect(conference.line(seconds: 20) { $0 == "shows Budget: Budget" ? true : nil } == true)
        conference.interrupt()
        #expect(conference.exitCode(seconds: 30) == 0)
        #expect(budget.line(.error, seconds: 20) { $0.contains("the service has stopped") ? true : nil } == true)
    }

    @Test func theDemoOfPairingSavesWhatConferenceSaw() throws {
        let folder = try TemporaryFolder()
        let snapshot = folder.file("pairing.png")
        let demo = try ShareProcess(
            ["demo", "--pairing", "--for", "1s", "--snapshot", snapshot], in: folder, of: "share-lab")
        #expect(demo.exitCode(seconds: 60) == 0, "\(demo.errorText)")
        try expectHiddenNumber(in: snapshot)
        // The user's own folder has no service after it.
        #expect(!FileManager.default.fileExists(atPath: folder.file("share/extensions")))
    }
}
