import Foundation
import NetworkBed
import TestSupport

/// A `share` with `--json` in a node of an emulated network. Killed with the value.
final class Endpoint: Sendable {
    typealias Event = [String: Any]

    private let program: Program

    /// Runs a program in a terminal, which its stdout is not, and answers each question with yes, a moment after it was
    /// shown: keys are ignored before.
    private static let agreeing = [
        "python3", "-c",
        """
        import os, pty, select, sys, time
        output = os.dup(1)
        child, terminal = pty.fork()
        if child == 0:
            os.dup2(output, 1)
            os.execvp(sys.argv[1], sys.argv[1:])
        seen, answer = b'', None
        while True:
            wait = None if answer is None else max(0, answer - time.monotonic())
            if not select.select([terminal], [], [], wait)[0]:
                os.write(terminal, b'y')
                seen, answer = b'', None
                continue
            try: data = os.read(terminal, 65536)
            except OSError: break
            if not data: break
            os.write(2, data)
            seen = (seen + data)[-4096:]
            if b'[n]o' in seen and answer is None: answer = time.monotonic() + 1.2
        """,
    ]

    /// - Parameters:
    ///   - agrees: a user answers each question with yes.
    ///   - environment: changes to the test's own environment.
    init(
        _ arguments: [String], in node: NetworkNode, _ folder: TemporaryFolder, link: String? = nil,
        agrees: Bool = false, environment: [String: String] = [:]
    ) throws {
        let command = (agrees ? Self.agreeing : []) + [try Program.share()] + arguments + ["--json"]
        let (launcher, words) = node.command(command[0], Array(command.dropFirst()))
        program = try Program(
            launcher, words,
            environment: [
                "XDG_DATA_HOME": folder.path, "PULSE_SERVER": "unix:\(folder.file("no-pulse"))", "DISPLAY": nil,
                "WAYLAND_DISPLAY": nil, "SHARE_TOKEN": nil, "SHARE_LINK": link, "TMPDIR": folder.path,
                "XDG_RUNTIME_DIR": nil, "DBUS_SESSION_BUS_ADDRESS": nil,
            ].merging(environment) { $1 })
    }

    /// Returns the first event of that name, past or future, that satisfies the condition.
    /// - Throws: with the program's output, if there is none in that time.
    @discardableResult
    func event(_ name: String, seconds: Double = 30, where condition: (Event) -> Bool = { _ in true }) throws -> Event {
        let event = program.line(seconds: seconds) { line -> Event? in
            guard let event = Self.parse(line), event["event"] as? String == name, condition(event) else { return nil }
            return event
        }
        if let event { return event }
        throw Program.Failure(
            "no such '\(name)' in \(seconds) s: "
                + (program.lines(.standard).suffix(4) + program.lines(.error).suffix(8)).joined(separator: "\n"))
    }

    /// The events of that name so far.
    func events(_ name: String) -> [Event] {
        program.lines(.standard).compactMap(Self.parse).filter { $0["event"] as? String == name }
    }

    /// Waits for so many further reports, one a second.
    /// - Returns: the last report.
    @discardableResult
    func reports(_ count: Int) throws -> Event {
        let wanted = events("statistics").count + count
        var seen = 0
        return try event("statistics", seconds: Double(count) * 3 + 10) { _ in
            seen += 1
            return seen >= wanted
        }
    }

    private static func parse(_ line: String) -> Event? {
        (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? Event
    }

    var isRunning: Bool { program.isRunning }
    var errorText: String { program.text.errors }
    /// The processor time used so far, in s.
    var processorSeconds: Double? { program.processorSeconds }
    func exitCode(seconds: Double = 20) -> Int32? { program.exitCode(seconds: seconds) }
    func interrupt() { program.interrupt() }
    func kill() { program.kill() }
}

extension Endpoint.Event {
    func number(_ field: String) -> Double? { self[field] as? Double ?? (self[field] as? Int).map(Double.init) }
}
