import Foundation

/// `share`, started as a person would start it. Killed with the value.
final class ShareProcess {
    private let program: Program
    private var seenLines = 0

    /// The program that was built with these tests: beside the test bundle.
    static let binary: String = {
        var folder = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        while folder.path != "/" {
            folder = folder.deletingLastPathComponent()
            let candidate = folder.appendingPathComponent("share").path
            var isFolder: ObjCBool = false
            if FileManager.default.fileExists(atPath: candidate, isDirectory: &isFolder), !isFolder.boolValue {
                return candidate
            }
        }
        return ".build/debug/share"
    }()

    init(_ arguments: [String], environment: [String: String] = [:], input: String? = nil) throws {
        var all = ProcessInfo.processInfo.environment
        for name in ["DISPLAY", "WAYLAND_DISPLAY", "SHARE_LINK", "SHARE_TOKEN"] { all[name] = nil }
        program = try Program(
            Self.binary, arguments, environment: all.merging(environment) { $1 }, input: input)
    }

    var errorText: String { program.text.errors }
    var lines: [String] { Self.lines(program.text.output) }

    private static func lines(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }

    /// Sleeps until `found` makes something of the lines on stdout.
    func wait<Result>(seconds: Double = 30, _ found: ([String]) -> Result?) -> Result? {
        program.wait(seconds: seconds) { output, _ in found(Self.lines(String(decoding: output, as: UTF8.self))) }
    }

    /// The first line of stdout.
    func firstLine(seconds: Double = 30) -> String? {
        program.wait(seconds: seconds) { output, _ in
            output.firstIndex(of: 10).map { String(decoding: output[..<$0], as: UTF8.self) }
        }
    }

    /// The first event of that name, past or future, that also satisfies the condition.
    func event(
        _ name: String, seconds: Double = 30, where condition: ([String: Any]) -> Bool = { _ in true }
    ) -> [String: Any]? {
        var seen = 0
        return program.wait(seconds: seconds) { output, _ in
            let whole = output.lastIndex(of: 10).map { output[..<$0] } ?? Data()
            let lines = Self.lines(String(decoding: whole, as: UTF8.self))
            while seen < lines.count {
                defer { seen += 1 }
                let event = (try? JSONSerialization.jsonObject(with: Data(lines[seen].utf8))) as? [String: Any]
                if let event, event["event"] as? String == name, condition(event) { return event }
            }
            return nil
        }
    }

    func exitCode(seconds: Double = 30) -> Int32? { program.exitCode(seconds: seconds) }
    func interrupt() { program.interrupt() }
    func kill() { program.kill() }
}

/// A folder of the test's own, gone with the value.
final class TemporaryFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("share-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func file(_ name: String) -> String { url.appendingPathComponent(name).path }

    /// An environment in which `share` keeps its identity here, and finds no sound server.
    var environment: [String: String] { ["XDG_DATA_HOME": url.path, "PULSE_SERVER": "unix:\(file("no-pulse"))"] }
}
