internal import FoundationEssentials
internal import Glibc
internal import LinuxRuntime

/// Calls the app when the share button of a game controller is pressed, as a trigger of clips:
///
///     let trigger = ControllerTrigger { try? await recorder.exportClip(to: newPath()) }
///     try await trigger.start()
///
/// The button is "share" of an Xbox controller, "create" of a PlayStation one, "capture" of a Switch one, and "back" or
/// "select" of others. It counts while another program has the focus, too. Controllers may be attached later.
///
/// The program `share` reads the controllers, so that the app may read them itself, with whatever library.
public final class ControllerTrigger: Sendable {
    private struct State {
        var isStarting = false
        /// The end of the program's stdin: it ends when this is closed.
        var input: FileDescriptor?
        var isPressing = false
    }

    private let program: String
    private let environment: [String: String]
    private let onPress: @Sendable () async -> Void
    private let state = Monitor(State())

    /// Makes a trigger. It watches controllers from ``start()`` on.
    /// - Parameters:
    ///   - program: `share`, to be found in PATH, or a path to it.
    ///   - onPress: called each time the button goes down; presses while it runs are ignored.
    public convenience init(program: String = "share", onPress: @escaping @Sendable () async -> Void) {
        self.init(program: program, environment: ProcessInfo.processInfo.environment, onPress: onPress)
    }

    init(program: String, environment: [String: String], onPress: @escaping @Sendable () async -> Void) {
        (self.program, self.environment, self.onPress) = (program, environment, onPress)
    }

    deinit { stop() }

    /// Whether presses call the app.
    public var isRunning: Bool { state.with { $0.input != nil } }

    /// Whether the app is being called, so that presses are ignored.
    var isPressing: Bool { state.with { $0.isPressing } }

    /// Begins to watch the controllers.
    /// - Throws: `.alreadyStarted`; `.noProgram` without a program `share`; `.failed` if controllers cannot be read.
    public func start() async throws(ShareKitError) {
        let isFree = state.with { state in
            guard !state.isStarting, state.input == nil else { return false }
            state.isStarting = true
            return true
        }
        guard isFree else { throw ShareKitError(.alreadyStarted, "the controllers are being watched already") }
        let (program, environment) = (program, environment)
        let started = await onThread("controller") {
            Result { () throws(ShareKitError) in try Watcher(program, environment) }
        }
        guard let started else {
            state.with { $0.isStarting = false }
            throw ShareKitError(.failed, "no thread is left to watch controllers")
        }
        do throws(ShareKitError) {
            let watcher = try started.get()
            state.with { ($0.isStarting, $0.input) = (false, watcher.input) }
            watcher.follow(
                onPress: { [weak self] in self?.press(watcher.input) },
                onEnd: { [weak self] in self?.stop(watcher.input) })
        } catch {
            state.with { $0.isStarting = false }
            throw error
        }
    }

    /// Ends it. Does nothing if it does not run.
    public func stop() {
        let input = state.with { state in
            defer { state.input = nil }
            return state.input
        }
        input?.close()
    }

    /// Ends it, unless it was started anew.
    private func stop(_ ended: FileDescriptor) {
        if state.with({ $0.input === ended }) { stop() }
    }

    private func press(_ input: FileDescriptor) {
        let isFirst = state.with { state in
            guard state.input === input, !state.isPressing else { return false }
            state.isPressing = true
            return true
        }
        guard isFirst else { return }
        Task { [onPress, state] in
            await onPress()
            state.with { $0.isPressing = false }
        }
    }
}

/// The program that reads the controllers, and writes a line for each press.
private struct Watcher: Sendable {
    let input: FileDescriptor
    private let output: LineReader
    /// Open as long as the program runs, which would be ended by what it writes otherwise (SIGPIPE).
    private let errors: FileDescriptor

    /// Starts it, and waits until it watches. Blocks.
    init(_ program: String, _ environment: [String: String]) throws(ShareKitError) {
        let process = try Subprocess(share: program, ["controller"], environment, input: .pipe)
        guard let input = FileDescriptor(end: process.input), let output = FileDescriptor(end: process.output),
            let errors = FileDescriptor(end: process.errors)
        else { preconditionFailure("each stream is a pipe") }
        (self.input, self.output, self.errors) = (input, LineReader(output), errors)
        guard self.output.next() == "ready" else {
            input.close()
            let errorText = errors.textToEnd()
            let end = HostProcess.end(process.wait(), errorText)
            throw ShareKitError(
                .failed, end.sentence.isEmpty ? "controllers cannot be read" : end.sentence, remedy: end.remedy)
        }
    }

    /// Reads its lines on a thread of its own, until it ends.
    func follow(onPress: @escaping @Sendable () -> Void, onEnd: @escaping @Sendable () -> Void) {
        _ = NamedThread("controller") { [output, errors] in
            defer { withExtendedLifetime(errors) {} }
            while let line = output.next() { if line == "pressed" { onPress() } }
            onEnd()
        }
    }
}

/// Reads lines of at most 4,096 bytes.
// SAFETY: one thread after the other reads.
private final class LineReader: @unchecked Sendable {
    private let file: FileDescriptor
    private var bytes = Data()
    private static let longest = 4_096

    init(_ file: FileDescriptor) { self.file = file }

    /// Nil at the end.
    func next() -> String? {
        while true {
            if let end = bytes.firstIndex(of: 10) {
                defer { bytes = Data(bytes[(end + 1)...]) }
                return String(decoding: bytes[..<end], as: UTF8.self)
            }
            guard bytes.count <= Self.longest else { return nil }
            // A line that is there does not wait for more.
            var buffer = [UInt8](repeating: 0, count: 1_024)
            let count = read(file.number, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            bytes += buffer[..<count]
        }
    }
}
