internal import FoundationEssentials
internal import Identifiers

/// Starts and stops the broadcast of the whole screen: the counterpart of `RPSystemBroadcastPickerView`.
///
/// The broadcast belongs to the user's session, not to the app: it may be started or stopped elsewhere (`share host`,
/// `share stop`), goes on when the app ends, and its state is that of the session bus. The user is asked about it each
/// time, in a window.
public struct SystemBroadcastPicker: Sendable {
    /// The identifier of the only service that is offered; nil: the user chooses among the installed ones.
    public var preferredExtension: String?
    /// The source that is broadcast: the `id` of a ``ShareableSource``; nil: the whole screen, or on Wayland what the
    /// user chooses in the desktop's own dialog.
    public var source: String?
    /// Whether the microphone is shared, too.
    public var sharesMicrophone = false
    /// The program `share`, to be found in PATH, or a path to it.
    public var program: String

    private let monitor: SystemBroadcastMonitor
    let environment: [String: String]

    /// Makes a picker without a `source`. Nothing is started or checked yet.
    public init(preferredExtension: String? = nil, program: String = "share") {
        self.init(preferredExtension: preferredExtension, program: program, monitor: .shared)
    }

    init(
        preferredExtension: String?, program: String, monitor: SystemBroadcastMonitor,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        self.preferredExtension = preferredExtension
        self.program = program
        self.monitor = monitor
        self.environment = environment
    }

    /// Whether the screen is broadcast now, whoever has started that. The first call may block for a second at most.
    public var isBroadcasting: Bool { monitor.isBroadcasting }

    /// Whether the screen is broadcast: now, and after each change.
    public var changes: AsyncStream<Bool> { monitor.broadcasting() }

    /// Starts the broadcast; returns when it has begun, after the user has agreed. A task that is cancelled before that
    /// takes the question back.
    /// - Throws: `.alreadyBroadcasting`; `.declined`, `.unknownService`, `.refused`, `.unanswered`, `.busy`,
    ///   `.untrusted`, `.unreachable` as for ``BroadcastActivity``; `.noDesktop` if there is no session bus,
    ///   `.noProgram` without a program `share`.
    public func startBroadcast() async throws(ShareKitError) {
        guard monitor.hasBus else {
            throw ShareKitError(.noDesktop, "there is no session bus", remedy: "System broadcasts need one.")
        }
        guard !monitor.isBroadcasting else { throw Self.alreadyBroadcasting }
        var arguments = ["host", "--preferred-extension"]
        if let preferredExtension {
            guard let service = ServiceID(preferredExtension) else {
                throw ShareKitError(.unknownService, "'\(preferredExtension)' is no identifier of a service")
            }
            arguments.append(service.text)
        }
        // In one argument, so that no value is taken for an option.
        if let source { arguments.append("--source=\(source)") }
        if sharesMicrophone { arguments.append("--mic") }
        let host = try HostProcess(program, arguments, environment: environment)
        let start = await withTaskCancellationHandler {
            await outcome(of: host)
        } onCancel: {
            host.terminate()
        }
        switch start {
        case .begun: return
        case .ended(let end): throw ShareKitError(end)
        case .cancelled: throw ShareKitError(.declined, "the broadcast was cancelled before it began")
        }
    }

    /// Ends the broadcast, whoever has started it; returns when it has ended.
    /// - Throws: `.notRunning` if no screen is broadcast, `.failed` if the broadcast has not ended within 10 s.
    public func stopBroadcast() async throws(ShareKitError) {
        guard monitor.isBroadcasting else { throw ShareKitError(.notRunning, "the screen is not broadcast") }
        monitor.stop()
        let hasEnded = await withTaskGroup(of: Bool.self) { group in
            group.addTask { [monitor] in
                for await isBroadcasting in monitor.broadcasting() where !isBroadcasting { return true }
                return false
            }
            group.addTask {
                try? await Task.sleep(for: .seconds(10))
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
        if !hasEnded { throw ShareKitError(.failed, "the broadcast has not ended within 10 s") }
    }

    static let alreadyBroadcasting = ShareKitError(
        .alreadyBroadcasting, "the screen of this session is being broadcast already", remedy: "share stop ends it.")

    private enum Start: Sendable {
        case begun
        case ended(HostProcess.End)
        case cancelled
    }

    /// Waits until the broadcast has begun, or the program has ended.
    private func outcome(of host: HostProcess) async -> Start {
        await withTaskGroup(of: Start.self) { group in
            group.addTask { await host.end().map { .ended($0) } ?? .cancelled }
            group.addTask { [monitor] in
                for await isBroadcasting in monitor.broadcasting() where isBroadcasting { return .begun }
                return .cancelled
            }
            defer { group.cancelAll() }
            return await group.next() ?? .cancelled
        }
    }
}

extension ShareKitError {
    /// Why `share host` has ended before the broadcast began, by its exit code (Docs/manual.md) and its last words.
    init(_ end: HostProcess.End) {
        let code: Code =
            switch end.code {
            case 67: .unknownService
            case 68: .unreachable
            case 71: .busy
            case 74: .serviceEnded
            case 75: .unanswered
            case 76: .untrusted
            case 77: .refused
            case 78: .declined
            case 79: .alreadyBroadcasting
            default: .failed
            }
        self.init(
            code, end.sentence.isEmpty ? "share host has ended with \(end.code)" : end.sentence, remedy: end.remedy)
    }
}
