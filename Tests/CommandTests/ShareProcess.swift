import Foundation
import TestSupport

/// The `share` executable, started as a user would. Killed when the value is released.
final class ShareProcess {
    private let program: Program
    private let folder: TemporaryFolder

    /// - Parameters:
    ///   - folder: the folder of its identity; nil for a new one.
    ///   - launcher: a program, with its arguments, that executes it.
    ///   - name: the program beside these tests.
    init(
        _ arguments: [String], in folder: TemporaryFolder? = nil, environment: [String: String] = [:],
        input: String? = nil, launcher: [String] = [], of name: String = "share"
    ) throws {
        self.folder = try folder ?? TemporaryFolder()
        let own: [String: String?] = [
            "DISPLAY": nil, "WAYLAND_DISPLAY": nil, "XDG_SESSION_TYPE": nil, "SHARE_LINK": nil, "SHARE_TOKEN": nil,
            "XDG_RUNTIME_DIR": nil,
            "DBUS_SESSION_BUS_ADDRESS": nil, "DBUS_SYSTEM_BUS_ADDRESS": "",
        ]
        let all = own.merging(self.folder.environment) { $1 }.merging(environment) { $1 }
        let words = launcher + [try Program.built(name)] + arguments
        program = try Program(words[0], Array(words.dropFirst()), environment: all, input: input)
    }

    var errorText: String { program.text.errors }
    var lines: [String] { program.lines(.standard) }
    var isRunning: Bool { program.isRunning }
    var processID: pid_t { program.processID }

    /// The first line of stdout.
    func firstLine() -> String? { program.line(seconds: 30) { $0 } }

    /// Returns the first event, past or future, that has this name and satisfies the condition.
    func event(
        _ name: String, seconds: Double = 30, where condition: ([String: Any]) -> Bool = { _ in true }
    ) -> [String: Any]? {
        program.line(seconds: seconds) { line in
            let event = (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any]
            guard let event, event["event"] as? String == name, condition(event) else { return nil }
            return event
        }
    }

    /// How many frames the viewer has told of so far.
    var frames: Int {
        let told = lines.compactMap { line -> Int? in
            let event = (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any]
            return event?["event"] as? String == "statistics" ? event?["frames"] as? Int : nil
        }
        return told.max() ?? 0
    }

    /// Waits until the viewer has more frames than it knew of before a change of the screen, and no further ones come:
    /// the change has arrived.
    func rests(after known: Int) -> Bool {
        var last = -1
        return event("statistics") { event in
            let frames = event["frames"] as? Int ?? 0
            defer { last = frames }
            return frames > known && frames == last
        } != nil
    }

    /// Waits until stderr has so many lines that contain the text, for 30 s at most.
    func waitForError(_ text: String, times: Int = 1) -> Bool {
        var found = 0
        return program.line(.error, seconds: 30) { line in
            if line.contains(text) { found += 1 }
            return found >= times ? true : nil
        } ?? false
    }

    func exitCode(seconds: Double = 30) -> Int32? { program.exitCode(seconds: seconds) }
    func interrupt() { program.interrupt() }
    func requestEnd() { program.requestEnd() }
    func kill() { program.kill() }
    func suspend() { program.suspend() }
    func resume() { program.resume() }
}

extension TemporaryFolder {
    /// The environment for a `share` that keeps its identity and its control socket in this folder, and finds no
    /// PulseAudio server.
    var environment: [String: String] {
        ["XDG_DATA_HOME": path, "XDG_STATE_HOME": path, "TMPDIR": path, "PULSE_SERVER": "unix:\(file("no-pulse"))"]
    }
}
