import CommandSupport
import FoundationEssentials
import Glibc
import LinuxRuntime

/// A child process of a demo or a benchmark. Its stderr is kept for an error message.
final class DemoChild: Sendable {
    private let process: Subprocess
    private let output: FileDescriptor
    private let errors: FileDescriptor?

    /// Starts `share`, which lies beside this program.
    convenience init(_ arguments: [String], environment: [String: String] = [:]) throws {
        try self.init(executable: LabProgram.beside("share"), arguments, environment: environment)
    }

    /// - Parameters:
    ///   - executable: a path, or a name to be found in PATH.
    ///   - mergesErrors: stderr is read as stdout.
    init(
        executable: String, _ arguments: [String], environment: [String: String] = [:], mergesErrors: Bool = false
    ) throws {
        let environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        do throws(Subprocess.Failure) {
            process = try Subprocess(
                executable, arguments, environment: environment, output: .pipe,
                errors: mergesErrors ? .output : .pipe)
        } catch {
            throw CommandError(
                sentence: "\(executable) cannot be started: \(String(cString: strerror(error.code)))", status: .failed)
        }
        output = FileDescriptor(process.output ?? -1)
        errors = process.errors.map { FileDescriptor($0) }
    }

    /// - Parameter seconds: how long to wait for each part of the line.
    /// - Returns: nil at the end of the output, or when nothing comes in time.
    func readLine(seconds: Double = .infinity) -> String? {
        var line = [UInt8]()
        let file = output.number
        let limit = seconds.isFinite ? Int32(seconds * 1_000) : -1
        while isReadable(file, limit), let byte = output.read(upTo: 1)?.first {
            if byte == 10 { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }

    private func isReadable(_ file: Int32, _ milliseconds: Int32) -> Bool {
        var wait = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
        return poll(&wait, 1, milliseconds) != 0
    }

    func readEvent() -> ProgramEvent? { readLine().map { ProgramEvent($0) } }

    /// The stderr of the process. Ends the process first.
    var errorText: String {
        end()
        return errors?.textToEnd() ?? ""
    }

    /// Waits for the end of the process.
    var exitCode: Int32 { process.wait() }

    var isRunning: Bool { process.isRunning }
    private var figures: ProcessFigures { ProcessFigures(process.id) }
    var cpuSeconds: Double { figures.cpuSeconds }
    /// Memory in RAM.
    var residentBytes: Int { figures.residentBytes }
    /// Memory in RAM without mapped files.
    var privateBytes: Int { figures.privateBytes }

    /// Nil if the process does not let its descriptors be counted.
    var openFiles: Int? {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.id)/fd"))?.count
    }

    /// Ends the process at once, without a last word.
    func kill() {
        process.send(SIGKILL)
        process.wait()
    }

    func end() {
        process.send(SIGTERM)
        process.wait()
    }
}
