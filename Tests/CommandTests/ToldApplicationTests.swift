import Foundation
import TestSupport
import Testing

/// `share host --tell-application`: the application in front, where a broadcast goes.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct ToldApplicationTests {
    /// A terminal in front, whose window has an icon of 4 x 4 red pixels (xprop sets 64 numbers at most).
    private final class FrontDisplay {
        let display: VirtualDisplay
        private let terminal: Program

        init() throws {
            display = try VirtualDisplay(width: 640, height: 480)
            terminal = try Program("xterm", ["-T", "Editor"], environment: ["DISPLAY": display.name])
            let icon = (["4", "4"] + Array(repeating: "\(0xFFFF_0000)", count: 16)).joined(separator: ",")
            let window = try Self.window("--class", "xterm", on: display)
            try display.run("xprop", ["-id", window, "-f", "_NET_WM_ICON", "32c", "-set", "_NET_WM_ICON", icon])
            try activate(window)
        }

        deinit { terminal.kill() }

        /// Puts a window in front, as a window manager tells it.
        private func activate(_ window: String) throws {
            try display.run(
                "xprop", ["-root", "-f", "_NET_ACTIVE_WINDOW", "32x", "-set", "_NET_ACTIVE_WINDOW", window])
        }

        /// Puts a window of another application in front, which has no icon and stays until the program ends.
        func openCalculator() throws -> Program {
            let calculator = try Program(
                "xterm", ["-name", "calc", "-class", "Calculator", "-xrm", "*iconHint: none", "-T", "Sums"],
                environment: ["DISPLAY": display.name])
            try activate(try Self.window("--class", "^Calculator$", on: display))
            return calculator
        }

        /// Waits for a window, and returns its number.
        static func window(_ arguments: String..., on display: VirtualDisplay) throws -> String {
            let found = try Program(
                "xdotool", ["search", "--sync", "--onlyvisible"] + arguments, environment: ["DISPLAY": display.name])
            guard found.exitCode(seconds: 30) == 0, let last = found.text.output.split(separator: "\n").last else {
                throw Program.Failure("no window \(arguments): \(found.text.errors)")
            }
            return String(last)
        }
    }

    private func install(_ link: String, in folder: TemporaryFolder) throws {
        let process = try ShareProcess(["extension", "install", link], in: folder)
        #expect(process.exitCode() == 0, "\(process.errorText)")
    }

    private func host(
        _ arguments: [String], _ front: FrontDisplay, in folder: TemporaryFolder
    ) throws -> Terminal {
        let host = try Terminal(
            [
                "host", "--display", front.display.name, "--source", "screen", "--audio", "none", "--name", "Anna",
                "--tell-application",
            ] + arguments, environment: ["XDG_DATA_HOME": folder.path, "DISPLAY": front.display.name])
        if arguments.first != "--relay" {
            try #require(host.waitUntil { $0.hasSuffix("[n]o:") }, "\(host.screen())")
            try host.type("y", "Enter")
        }
        return host
    }

    @Test func theProgramOfAnExtensionIsTold() async throws {
        let front = try FrontDisplay()
        let folder = try TemporaryFolder()
        let own = try TemporaryFolder()
        try install(folder.probeManifest("record"), in: own)
        let host = try host(["--preferred-extension", "com.example.probe"], front, in: own)
        #expect(await folder.waitForLines("log") { $0.contains("annotated xterm") }, "\(host.screen())")
        let calculator = try front.openCalculator()
        #expect(await folder.waitForLines("log") { $0.contains("annotated calc") }, "\(host.screen())")
        calculator.kill()
        try host.type("C-c")
        #expect(host.waitUntil { $0.contains("ended by") })
    }

    /// What a relay lists, with an image at `/broadcasts/ID/icon`.
    @Test(arguments: ["relay", "direct"]) func aRelaysDirectoryListsIt(route: String) throws {
        let front = try FrontDisplay()
        let relay = try ShareProcess([
            "relay", "--listen", "127.0.0.1:0", "--media", "127.0.0.1:0", "--accept", "any", "--json",
        ])
        let link = try #require(relay.event("link")?["link"] as? String, "\(relay.errorText)")
        let host = try host(
            ["--relay", link, "--route", route, "--listed", "--accept", "any"], front, in: TemporaryFolder())
        try #require(relay.event("listed") != nil)
        var application: [String: Any]?
        let isListed = try (0..<200).contains { _ in
            let list = try ShareProcess(["list", "--relay", link, "--json"])
            guard list.exitCode() == 0, let line = list.lines.first,
                let entry = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            else { return false }
            application = entry["application"] as? [String: Any]
            return application?["id"] as? String == "xterm"
        }
        #expect(isListed && application?["name"] as? String == "XTerm", "\(application ?? [:])")
        #expect(application?["hasIcon"] as? Bool == true)
        try host.type("C-c")
        #expect(host.waitUntil { $0.contains("ended by") })
    }

    /// The window of a service has the name and the icon of the application, and its own again after the broadcast.
    @Test func aServicesWindowShowsNameAndIcon() throws {
        let front = try FrontDisplay()
        let seen = try VirtualDisplay(width: 800, height: 600)
        let service = try ShareProcess(
            [
                "service", "--id", "com.example.conference", "--name", "Conference", "--listen", "127.0.0.1:0",
                "--json",
                "--accept", "any", "--field", "title:Title",
            ], environment: ["DISPLAY": seen.name, "SDL_VIDEODRIVER": "x11"])
        let link = try #require(service.event("link")?["link"] as? String, "\(service.errorText)")
        let window = try FrontDisplay.window("--name", "^Conference - share$", on: seen)
        func icon() throws -> String {
            let read = try Program(
                "xprop", ["-id", window, "-f", "_NET_WM_ICON", "32c", "_NET_WM_ICON"],
                environment: ["DISPLAY": seen.name])
            return read.finish().split(separator: "=").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? ""
        }
        #expect(try icon().hasPrefix("64, 64, "))
        let folder = try TemporaryFolder()
        try install(link, in: folder)
        let host = try host(["--preferred-extension", "com.example.conference"], front, in: folder)
        #expect(host.waitUntil { $0.hasSuffix("Title:") })
        try host.type("Accounts", "Enter")
        let told = service.event("application")
        #expect(told?["shown"] as? String == "XTerm" && told?["hasIcon"] as? Bool == true)
        #expect(try FrontDisplay.window("--name", "^XTerm - Accounts - Anna$", on: seen) == window)
        #expect(try (0..<200).contains { _ in try icon().hasPrefix("4, 4, \(0xFFFF_0000), ") })
        let calculator = try front.openCalculator()
        #expect(service.event("application") { $0["shown"] as? String == "Calculator" } != nil)
        #expect(try FrontDisplay.window("--name", "^Calculator - Accounts - Anna$", on: seen) == window)
        calculator.kill()
        try host.type("C-c")
        #expect(service.event("broadcast-closed") != nil)
        #expect(try FrontDisplay.window("--name", "^Conference - share$", on: seen) == window)
        #expect(try (0..<200).contains { _ in try icon().hasPrefix("64, 64, ") })
        service.interrupt()
        #expect(service.exitCode() == 0)
    }
}
