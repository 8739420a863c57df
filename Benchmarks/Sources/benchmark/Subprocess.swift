import Foundation
import NetworkBed

/// A program under measurement, or a helper; its lines are kept as events, its stderr as text.
final class Subprocess {
    private let process = Process()
    private let output = Pipe()
    private let errors: URL
    let name: String
    let events: EventReader

    /// - Parameters:
    ///   - executable: a path, or a name to be found in PATH.
    ///   - node: the node to run in; nil for this machine's own network.
    convenience init(
        _ executable: String, _ arguments: [String], environment: [String: String] = [:], in node: NetworkNode?
    ) throws {
        let (launcher, words) = node?.command(executable, arguments) ?? (executable, arguments)
        try self.init(launcher, words, environment: environment)
    }

    /// - Parameter executable: a path, or a name to be found in PATH.
    init(_ executable: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        name = (executable as NSString).lastPathComponent
        // The kernel ends the program when the benchmark ends, as it gets neither a Ctrl-C nor the benchmark's signals.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        process.arguments = ["--pdeathsig", "TERM", executable] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        errors = FileManager.default.temporaryDirectory.appendingPathComponent("share-benchmark-\(UUID().uuidString)")
        _ = FileManager.default.createFile(atPath: errors.path, contents: nil)
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        events = EventReader(output.fileHandleForReading.fileDescriptor)
    }

    deinit { try? FileManager.default.removeItem(at: errors) }

    var figures: ProcessFigures { ProcessFigures(identifier: process.processIdentifier) }
    var isRunning: Bool { process.isRunning }
    /// The exit status; waits for the end.
    var exitStatus: Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }
    var errorText: String { (try? String(contentsOf: errors, encoding: .utf8)) ?? "" }

    /// Waits for an event; an error contains the program's messages.
    func wait(for name: String, after seen: Int = 0, seconds: Double = 20) throws -> Event {
        do {
            return try events.wait(for: name, after: seen, seconds: seconds)
        } catch {
            throw BenchmarkFailure("\(self.name): \(error) \(errorText)")
        }
    }

    func interrupt() {
        guard process.isRunning else { return }
        process.interrupt()
        process.waitUntilExit()
    }

    func terminate() {
        guard process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
    }
}

/// An Xvfb of 1920 x 1080 on a display number that it chooses itself.
final class VirtualDisplay {
    let name: String
    private let server: Subprocess

    init() throws {
        server = try Subprocess(
            "Xvfb", ["-displayfd", "1", "-screen", "0", "1920x1080x24", "-nolisten", "tcp", "-noreset"])
        name = ":" + (try server.wait(for: "line").text)
    }

    func close() { server.terminate() }
    deinit { close() }
}

/// Runs `body` with a sender's display and a viewer's display.
/// - Parameter start: starts the programs on the sender's display.
func withDisplays<Result>(
    start: (String) throws -> [Subprocess], _ body: (_ from: String, _ to: String) throws -> Result
) throws -> Result {
    let from = try VirtualDisplay()
    let to = try VirtualDisplay()
    defer {
        from.close()
        to.close()
    }
    let actors = try start(from.name)
    defer { actors.forEach { $0.terminate() } }
    return try body(from.name, to.name)
}

/// A directory that is removed with its owner.
final class TemporaryDirectory {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("share-bench-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// A program built beside this one.
func tool(_ name: String) -> String {
    URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
        .appendingPathComponent(name).path
}

struct BenchmarkFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
