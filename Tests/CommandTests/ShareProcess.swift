import Foundation

/// `share`, started as a person would start it. Ends with the value.
// SAFETY: the pipes' readers run on their own queues and meet the test under `lock`.
final class ShareProcess: @unchecked Sendable {
    private let process = Process()
    private let lock = NSCondition()
    private var outputLines: [String] = []
    private var errorData = Data()
    private var partial = Data()
    private var hasEnded = false

    /// The program that was built with these tests.
    static let binary: URL = {
        #if os(Linux)
            let tests = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
            var folder = tests.deletingLastPathComponent()
            while folder.path != "/" {
                let candidate = folder.appendingPathComponent("share")
                if FileManager.default.isExecutableFile(atPath: candidate.path) { return candidate }
                folder = folder.deletingLastPathComponent()
            }
        #endif
        return URL(fileURLWithPath: ".build/debug/share")
    }()

    init(_ arguments: [String], environment: [String: String] = [:], input: String? = nil) throws {
        process.executableURL = Self.binary
        process.arguments = arguments
        var all = ProcessInfo.processInfo.environment
        all["DISPLAY"] = nil
        all["SHARE_LINK"] = nil
        process.environment = all.merging(environment) { $1 }
        let output = Pipe()
        let errors = Pipe()
        process.standardOutput = output
        process.standardError = errors
        if let input {
            let pipe = Pipe()
            process.standardInput = pipe
            try pipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try pipe.fileHandleForWriting.close()
        } else {
            process.standardInput = FileHandle.nullDevice
        }
        output.fileHandleForReading.readabilityHandler = { [weak self] in self?.arrived($0.availableData, from: $0) }
        errors.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            self?.change { $0.errorData += data }
        }
        process.terminationHandler = { [weak self] _ in self?.change { $0.hasEnded = true } }
        try process.run()
    }

    deinit { kill() }

    private func change(_ body: (ShareProcess) -> Void) {
        lock.lock()
        body(self)
        lock.broadcast()
        lock.unlock()
    }

    private func arrived(_ data: Data, from handle: FileHandle) {
        if data.isEmpty { handle.readabilityHandler = nil }
        change { me in
            me.partial += data
            while let end = me.partial.firstIndex(of: 10) {
                me.outputLines.append(String(decoding: me.partial[me.partial.startIndex..<end], as: UTF8.self))
                me.partial = Data(me.partial[me.partial.index(after: end)...])
            }
        }
    }

    var identifier: Int32 { process.processIdentifier }

    var errorText: String {
        lock.lock()
        defer { lock.unlock() }
        return String(decoding: errorData, as: UTF8.self)
    }

    var lines: [String] {
        lock.lock()
        defer { lock.unlock() }
        return outputLines
    }

    /// Sleeps until `found` returns something; nil after `seconds`, or when the process has ended without it.
    func wait<Result>(seconds: Double = 30, _ found: ([String], String) -> Result?) -> Result? {
        let deadline = Date(timeIntervalSinceNow: seconds)
        lock.lock()
        defer { lock.unlock() }
        while true {
            if let result = found(outputLines, String(decoding: errorData, as: UTF8.self)) { return result }
            if hasEnded, !process.isRunning {
                // What is still in the pipes arrives within a moment.
                if !lock.wait(until: min(deadline, Date(timeIntervalSinceNow: 0.5))) {
                    return found(outputLines, String(decoding: errorData, as: UTF8.self))
                }
            } else if !lock.wait(until: deadline) {
                return nil
            }
        }
    }

    /// The first line of stdout.
    func firstLine(seconds: Double = 30) -> String? { wait(seconds: seconds) { lines, _ in lines.first } }

    /// The first event of that name that also satisfies the condition.
    func event(
        _ name: String, seconds: Double = 30, where condition: @escaping ([String: Any]) -> Bool = { _ in true }
    ) -> [String: Any]? {
        var seen = 0
        return wait(seconds: seconds) { lines, _ in
            while seen < lines.count {
                let line = lines[seen]
                seen += 1
                guard let event = Self.parse(line), event["event"] as? String == name, condition(event) else { continue }
                return event
            }
            return nil
        }
    }

    static func parse(_ line: String) -> [String: Any]? {
        (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any]
    }

    /// Waits for the end by itself.
    /// - Returns: the exit code; nil if it still runs after that time, or a signal ended it.
    func exitCode(seconds: Double = 30) -> Int32? {
        let deadline = Date(timeIntervalSinceNow: seconds)
        lock.lock()
        while !hasEnded, lock.wait(until: deadline) {}
        let ended = hasEnded
        lock.unlock()
        guard ended, process.terminationReason == .exit else { return nil }
        return process.terminationStatus
    }

    /// Ctrl-C.
    func interrupt() { process.interrupt() }

    /// As a crash would.
    func kill() {
        guard process.isRunning else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
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
