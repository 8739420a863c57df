#if RecordingsAndWHIP
internal import FoundationEssentials
internal import LinuxRuntime
internal import Recording
import Synchronization

/// Records the whole screen, or another source of the display, without a broadcast: no viewers, no port, no link.
///
/// It runs `share record --screen`, so the recording is that of the user's session: it is in the tray, may be stopped
/// elsewhere (`share stop`), and a session has one broadcast or recording of its screen at a time. A ``ScreenRecorder``
/// records the app's own frames instead.
public final class SystemRecorder: Sendable {
    /// What the app's user is asked.
    public struct Request: Sendable, Equatable {
        /// The `id` of a ``ShareableSource``; nil: the whole screen.
        public let source: String?
        /// Whether the microphone would be recorded, too.
        public let withMicrophone: Bool
    }

    private struct State {
        var isStarting = false
        var process: HostProcess?
        var path = ""
    }

    private let program: String
    private let environment: [String: String]
    private let confirm: @Sendable (Request) async -> Bool
    private let state = Mutex(State())

    /// Makes a recorder. A recording that runs ends when the recorder is released.
    /// - Parameters:
    ///   - program: `share`, to be found in PATH, or a path to it.
    ///   - confirm: asks the app's user, each time.
    public convenience init(program: String = "share", confirm: @escaping @Sendable (Request) async -> Bool) {
        self.init(program: program, environment: ProcessInfo.processInfo.environment, confirm: confirm)
    }

    init(
        program: String, environment: [String: String], confirm: @escaping @Sendable (Request) async -> Bool
    ) {
        (self.program, self.environment, self.confirm) = (program, environment, confirm)
    }

    deinit { state.withLock { $0.process }?.terminate() }

    /// Whether it records now.
    public var isRecording: Bool { state.withLock { $0.process.map { !$0.hasEnded } ?? false } }

    /// Starts to record. Returns when the program runs; ``stopRecording()`` says what became of it.
    /// - Parameters:
    ///   - path: of a file that does not exist yet; nil: one in the user's cache, for ``Recording/save(to:)``.
    ///   - source: the `id` of a ``ShareableSource``; nil: the whole screen.
    ///   - withMicrophone: whether the microphone is recorded, too.
    /// - Throws: `.alreadyStarted`, `.declined`, `.noProgram`, `.badFile`.
    public func startRecording(
        to path: String? = nil, source: String? = nil, withMicrophone: Bool = false
    ) async throws(ShareKitError) {
        let isFree = state.withLock { state in
            guard !state.isStarting, state.process == nil else { return false }
            state.isStarting = true
            return true
        }
        guard isFree else { throw ShareKitError(.alreadyStarted, "the screen is being recorded already") }
        defer { state.withLock { $0.isStarting = false } }
        guard await confirm(Request(source: source, withMicrophone: withMicrophone)) else {
            throw ShareKitError(.declined, "the recording was not allowed")
        }
        let file = if let path { path } else { try RecordingStorage.newPath() }
        // In one argument each, so that no value is taken for an option.
        var arguments = ["record", "--screen", "--output=\(file)"]
        if let source { arguments.append("--source=\(source)") }
        if withMicrophone { arguments.append("--mic") }
        let process = try HostProcess(program, arguments, environment: environment)
        state.withLock {
            $0.process = process
            $0.path = file
        }
    }

    /// Ends the recording and completes its file; also of one that was stopped elsewhere.
    /// - Throws: `.notRunning`; `.alreadyBroadcasting` if the screen was broadcast or recorded besides; why there is
    ///   none.
    public func stopRecording() async throws(ShareKitError) -> Recording {
        let (process, path) = state.withLock { state in
            defer { state.process = nil }
            return (state.process, state.path)
        }
        guard let process else { throw ShareKitError(.notRunning, "the screen is not being recorded") }
        process.terminate()
        guard let end = await process.end() else {
            throw ShareKitError(.interrupted, "the task was cancelled before the recording was complete")
        }
        guard end.code == 0 else { throw ShareKitError(end) }
        return try await Recording.onDisk { () throws(RecordingFailure) in
            let stored = try StoredRecording(reading: path)
            return RecordedFile(path: path, duration: stored.duration, bytes: stored.bytes)
        }
    }

    /// Ends the recording and removes its file. Does nothing if none runs.
    public func discardRecording() async {
        guard let recording = try? await stopRecording() else { return }
        recording.discard()
    }
}
#endif
