import CommandSupport
import FoundationEssentials
import Glibc
import LinuxRuntime

/// Programs in $PATH.
enum ExecutablePath {
    static func find(_ name: String) -> String? {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        return folders.lazy.filter { $0.hasPrefix("/") }.map { $0 + "/" + name }
            .first { access($0, X_OK) == 0 }
    }
}

/// A program that is waited for. It gets the variables of `ProgramEnvironment`.
enum ForegroundProgram {
    /// Runs a program that has the terminal as long as it runs, as from a shell. For one at a time: Ctrl-C ends the
    /// program alone, so that what it leaves can be removed.
    /// - Parameter memory: see `runBeside`.
    /// - Returns: the exit code, or 128 and the number of the signal that has ended it.
    /// - Throws: if it cannot be started.
    static func run(_ path: String, _ arguments: [String], memory: Int? = nil) throws(CommandError) -> Int32 {
        let former = signal(SIGINT, SIG_IGN)
        defer { signal(SIGINT, former) }
        return try runBeside(path, arguments, memory: memory)
    }

    /// Runs a program; Ctrl-C ends it and this process.
    /// - Parameter memory: how much address space it may have, in bytes; nil: as this process.
    static func runBeside(_ path: String, _ arguments: [String], memory: Int? = nil) throws(CommandError) -> Int32 {
        let environment = ProgramEnvironment.selected(of: ProcessInfo.processInfo.environment)
        let process: Subprocess
        do throws(Subprocess.Failure) {
            process = try Subprocess(
                path, arguments, environment: environment, input: .descriptor(STDIN_FILENO),
                output: .descriptor(STDOUT_FILENO), errors: .descriptor(STDERR_FILENO), group: .same)
        } catch {
            throw CommandError(
                sentence: "\(path) cannot be started: \(String(cString: strerror(error.code)))", status: .failed)
        }
        if let memory { process.whileRunning { AddressSpace.limit($0, to: memory) } }
        return process.wait()
    }

    /// What a program that reads a foreign file may have: a half of the machine's memory, 4 GiB at least.
    static var foreignFileMemory: Int { max(Int(clamping: ProcessInfo.processInfo.physicalMemory / 2), 1 << 32) }

    /// Starts a program of the desktop that may stay, in a session of its own: Ctrl-C does not reach it.
    static func open(_ path: String, _ arguments: [String]) {
        let environment = ProgramEnvironment.selected(of: ProcessInfo.processInfo.environment)
        _ = try? Subprocess(path, arguments, environment: environment, group: .session)
    }
}
