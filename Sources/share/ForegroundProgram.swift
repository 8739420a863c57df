import CommandSupport
import Foundation
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
    static func run(_ path: String, _ arguments: [String], memory: Int? = nil) throws(Complaint) -> Int32 {
        let former = signal(SIGINT, SIG_IGN)
        defer { signal(SIGINT, former) }
        return try runBeside(path, arguments, memory: memory)
    }

    /// Runs a program; Ctrl-C ends it and this process.
    /// - Parameter memory: how much address space it may have, in bytes; nil: as this process.
    static func runBeside(_ path: String, _ arguments: [String], memory: Int? = nil) throws(Complaint) -> Int32 {
        let words = ([path] + arguments).map { strdup($0) } + [nil]
        let variables = ProgramEnvironment.texts.map { strdup($0) } + [nil]
        defer { for word in words + variables { free(word) } }
        var interrupt = sigset_t()
        sigemptyset(&interrupt)
        sigaddset(&interrupt, SIGINT)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setsigdefault(&attributes, &interrupt)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        var process: pid_t = 0
        let code = posix_spawn(&process, path, nil, &attributes, words, variables)
        guard code == 0 else {
            throw Complaint(
                sentence: "\(path) cannot be started: \(String(cString: strerror(code)))", status: .failed)
        }
        if let memory { AddressSpace.limit(process, to: memory) }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    }

    /// What a program that reads a foreign file may have: a half of the machine's memory, 4 GiB at least.
    static var foreignFileMemory: Int { max(Int(clamping: ProcessInfo.processInfo.physicalMemory / 2), 1 << 32) }

    /// Starts a program of the desktop that may stay, in a session of its own: Ctrl-C does not reach it.
    static func open(_ path: String, _ arguments: [String]) {
        let environment = ProgramEnvironment.selected(of: ProcessInfo.processInfo.environment)
        _ = NamedThread("browser") {
            guard let (process, errors) = try? DetachedProgram.start(path, arguments, environment: environment) else {
                return
            }
            // A pipe that nobody reads would stop it.
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while read(errors, &buffer, buffer.count) > 0 {}
            close(errors)
            while waitpid(process, nil, 0) < 0, errno == EINTR {}
        }
    }
}
