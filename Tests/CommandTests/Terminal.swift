import Foundation
import TestSupport

/// Runs `share` in a tmux session.
final class Terminal {
    let hostFolder: TemporaryFolder
    private let viewerFolder: TemporaryFolder
    private let socket: String
    private let server: Program
    /// Writes a line for each change of the screen: a client in tmux's control mode.
    private let changes: Program

    /// Runs `share` directly.
    convenience init(_ arguments: [String], environment: [String: String] = [:], columns: Int = 220) throws {
        let command = try ([Program.share()] + arguments).map { "'\($0)'" }.joined(separator: " ")
        try self.init(command: "\(command); cat", environment: environment, columns: columns)
    }

    /// Types the command into an interactive shell, which has job control.
    convenience init(shell arguments: [String], environment: [String: String] = [:]) throws {
        try self.init(command: "PS1='ready> ' bash --norc --noprofile -i", environment: environment, columns: 220)
        _ = waitFor { $0.hasSuffix("ready>") ? true : nil }
        try type(try ([Program.share()] + arguments).joined(separator: " "), "Enter")
    }

    private init(command: String, environment: [String: String], columns: Int) throws {
        hostFolder = try TemporaryFolder()
        viewerFolder = try TemporaryFolder()
        socket = hostFolder.file("tmux.socket")
        // tmux stays in the foreground; a server that forks would keep inherited pipes open, whose end the test waits
        // for.
        let own: [String: String?] = [
            "SHARE_LINK": nil, "SHARE_TOKEN": nil, "DBUS_SESSION_BUS_ADDRESS": nil, "XDG_RUNTIME_DIR": nil,
            "DBUS_SYSTEM_BUS_ADDRESS": "",
        ]
        let all = own.merging(hostFolder.environment) { $1 }.merging(environment) { $1 }
        server = try Program("tmux", ["-u", "-S", socket, "-f", "/dev/null", "-D"], environment: all)
        guard hostFolder.waitForFile("tmux.socket", seconds: 20) else {
            throw Program.Failure("tmux did not start: \(server.text.errors)")
        }
        try Program("tmux", ["-S", socket, "set-option", "-s", "set-clipboard", "on"]).finish()
        try Program(
            "tmux", ["-u", "-S", socket, "new-session", "-d", "-x", "\(columns)", "-y", "80", command], environment: all
        ).finish()
        // It leaves at the end of its stdin.
        changes = try Program(
            "sh", ["-c", "sleep infinity | exec tmux -S '\(socket)' -C attach -f ignore-size,read-only"])
    }

    deinit { _ = try? Program("tmux", ["-S", socket, "kill-server"]).finish() }

    /// - Parameter joining: joins the lines that tmux has wrapped.
    func screen(joining: Bool = true) -> String {
        let arguments = ["-S", socket, "capture-pane", "-p"] + (joining ? ["-J"] : [])
        let text = (try? Program("tmux", arguments).finish()) ?? ""
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Reads the screen whenever it changes, for 30 s at most.
    func waitFor<Result>(_ found: (String) -> Result?) -> Result? {
        changes.wait(seconds: 30) { _, _ in found(screen()) }
    }

    /// Reads the screen until the condition holds, for 30 s at most.
    func waitUntil(_ isSo: (String) -> Bool) -> Bool { waitFor { isSo($0) ? true : nil } ?? false }

    /// Sends keys in tmux's notation. Several characters in one string are typed without a pause.
    func type(_ keys: String...) throws {
        try Program("tmux", ["-S", socket, "send-keys"] + keys).finish()
    }

    /// Whether the terminal passes single keys without an echo, and is not that of a shell that edits a line: Enter is
    /// a line feed.
    var hasSingleKeys: Bool {
        guard
            let device = try? Program("tmux", ["-S", socket, "display-message", "-p", "#{pane_tty}"]).finish()
                .trimmingCharacters(in: .whitespacesAndNewlines),
            let text = try? Program("stty", ["-F", device, "-a"]).finish()
        else { return false }
        let modes = text.split { $0.isWhitespace || $0 == ";" }
        return modes.contains("-icanon") && modes.contains("-echo") && modes.contains("icrnl")
    }

    /// What a program has copied by OSC 52; empty: nothing.
    var clipboard: String { (try? Program("tmux", ["-S", socket, "show-buffer"]).finish()) ?? "" }

    private var recording: String { hostFolder.file("recording") }

    /// Records what is written to the terminal from now on.
    func record() throws {
        try Program("tmux", ["-S", socket, "pipe-pane", "cat > '\(recording)'"]).finish()
    }

    var recorded: Data { (try? Data(contentsOf: URL(fileURLWithPath: recording))) ?? Data() }

    /// - Parameter folder: the folder of the identity to join with; nil for the same one each time.
    func join(_ link: String, name: String, from folder: TemporaryFolder? = nil) throws -> ShareProcess {
        try ShareProcess(
            ["join", "--headless", "--json", "--name", name], in: folder ?? viewerFolder,
            environment: ["SHARE_LINK": link])
    }

    /// Records with the identity of `join`.
    func record(_ link: String, name: String) throws -> ShareProcess {
        try ShareProcess(
            ["record", "--json", "--name", name, "-o", viewerFolder.file("recording.webm")], in: viewerFolder,
            environment: ["SHARE_LINK": link])
    }
}

extension String {
    /// Returns the screen if its last line is the question about that viewer.
    func isAsking(about name: String) -> String? {
        contains("\"\(name)\" (") && hasSuffix("s left:") ? self : nil
    }

    /// Returns the same as `isAsking(about:)`, but only after the question has been shown for over a second, so that
    /// keys count.
    func takesAnswer(about name: String) -> String? {
        secondsLeft.map { $0 <= 58 } == true ? isAsking(about: name) : nil
    }

    /// The countdown of the question on the screen.
    var secondsLeft: Int? {
        guard hasSuffix(" s left:") else { return nil }
        return Int(dropLast(8).split(separator: " ").last ?? "")
    }

    var firstLink: String? {
        split(whereSeparator: \.isWhitespace).first { $0.hasPrefix("https://") && $0.contains("#") }.map(String.init)
    }
}
