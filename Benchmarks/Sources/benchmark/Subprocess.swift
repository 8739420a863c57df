import Foundation

/// A program under measurement; its stdout is kept, its stderr too.
final class Subprocess {
    private let process = Process()
    private let output = Pipe()
    private let errors: URL
    let name: String

    init(
        _ executable: String, _ arguments: [String], environment: [String: String] = [:], keepsErrors: Bool = true
    ) throws {
        name = (executable as NSString).lastPathComponent
        if executable.hasPrefix("/") {
            process.executableURL = URL(fileURLWithPath: executable)
            process.arguments = arguments
        } else {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = [executable] + arguments
        }
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        errors = FileManager.default.temporaryDirectory.appendingPathComponent("share-benchmark-\(UUID().uuidString)")
        _ = FileManager.default.createFile(atPath: errors.path, contents: nil)
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
    }

    deinit { try? FileManager.default.removeItem(at: errors) }

    var identifier: Int32 { process.processIdentifier }
    var isRunning: Bool { process.isRunning }
    var errorText: String { (try? String(contentsOf: errors, encoding: .utf8)) ?? "" }

    /// One line of stdout, without its end; nil at the end of output.
    func readLine() -> String? {
        var line = [UInt8]()
        while true {
            guard let byte = try? output.fileHandleForReading.read(upToCount: 1)?.first else {
                return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
            }
            if byte == 10 { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
    }

    /// Waits for the end and gives the rest of stdout.
    func finish() -> String {
        let data = (try? output.fileHandleForReading.readToEnd()) ?? Data()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
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

    /// User and system time so far, in milliseconds, of the process with all its threads.
    var cpuMilliseconds: Double {
        guard let text = try? String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return 0 }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) * 1_000 / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Resident memory in MB.
    var residentMegabytes: Double {
        guard let text = try? String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") }),
            let kilobytes = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap({ Double($0) })
        else { return 0 }
        return kilobytes / 1_024
    }
}

/// An Xvfb of 1920 x 1080 on a display number that it chose itself.
final class VirtualDisplay {
    let name: String
    private let server: Subprocess

    init() throws {
        server = try Subprocess(
            "Xvfb", ["-displayfd", "1", "-screen", "0", "1920x1080x24", "-nolisten", "tcp", "-noreset"])
        guard let number = server.readLine(), !number.isEmpty else {
            throw BenchmarkFailure("Xvfb did not start: \(server.errorText)")
        }
        name = ":\(number)"
    }

    var cpuMilliseconds: Double { server.cpuMilliseconds }
    func close() { server.terminate() }
    deinit { close() }
}

struct BenchmarkFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
