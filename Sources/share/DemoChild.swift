import CommandSupport
import Foundation

/// A child process of `share demo` or `share bench`. Its stderr is kept for an error message.
final class DemoChild: @unchecked Sendable {
    // SAFETY: `Process` is used from the command's thread, and from the signal thread only to end it.
    private let process = Process()
    private let output = Pipe()
    private let errors = Pipe()

    /// Starts this executable again with other arguments.
    convenience init(_ arguments: [String], environment: [String: String] = [:]) throws {
        try self.init(executable: "/proc/self/exe", arguments, environment: environment)
    }

    /// - Parameter mergesErrors: stderr is read as stdout.
    init(
        executable: String, _ arguments: [String], environment: [String: String] = [:], mergesErrors: Bool = false
    ) throws {
        if executable.hasPrefix("/") {
            process.executableURL = URL(fileURLWithPath: executable).resolvingSymlinksInPath()
            process.arguments = arguments
        } else {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = [executable] + arguments
        }
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = mergesErrors ? output : errors
        try process.run()
    }

    /// - Parameter seconds: how long to wait for each part of the line.
    /// - Returns: nil at the end of the output, or when nothing comes in time.
    func readLine(seconds: Double = .infinity) -> String? {
        var line = [UInt8]()
        let file = output.fileHandleForReading.fileDescriptor
        let limit = seconds.isFinite ? Int32(seconds * 1_000) : -1
        while isReadable(file, limit), let byte = try? output.fileHandleForReading.read(upToCount: 1)?.first {
            if byte == 10 { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }

    private func isReadable(_ file: Int32, _ milliseconds: Int32) -> Bool {
        var wait = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
        return poll(&wait, 1, milliseconds) != 0
    }

    func readEvent() -> [String: Any]? {
        guard let line = readLine() else { return nil }
        return (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any] ?? [:]
    }

    /// The stderr of the process. Ends the process first.
    var errorText: String {
        end()
        return String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
    }

    /// Waits for the end of the process.
    var exitCode: Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }

    var isRunning: Bool { process.isRunning }
    private var figures: ProcessFigures { ProcessFigures(process.processIdentifier) }
    var cpuSeconds: Double { figures.cpuSeconds }
    /// Memory in RAM.
    var residentBytes: Int { figures.residentBytes }
    /// Memory in RAM without mapped files.
    var privateBytes: Int { figures.privateBytes }

    /// Nil if the process does not let its descriptors be counted.
    var openFiles: Int? {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.processIdentifier)/fd"))?.count
    }

    /// Ends the process at once, without a last word.
    func kill() {
        guard process.isRunning else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    func end() {
        guard process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
    }
}
