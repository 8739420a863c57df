public import ExtensionChannel
import LinuxRuntime
public import PeerConnection

/// Runs the setup program of an extension.
public enum ExtensionSetup {
    /// Starts the program and waits for what the user answers, as long as that takes. Cancelling the task ends the
    /// program.
    /// - Parameter name: the extension's name, for people.
    /// - Returns: what the upload program gets; nil if the user does not want to broadcast.
    /// - Throws: why the program gave no answer.
    public static func run(
        _ program: ExtensionProcess.Program, name: String, start: ExtensionStart,
        limits: ExtensionLifecycle.Limits = .init()
    ) async throws(EndReason) -> [String: String]? {
        let values = OneShot<[String: String]?>()
        let end = OneShot<ExtensionEnd>()
        let process: ExtensionProcess
        do throws(ExtensionFailure) {
            process = try ExtensionProcess(program, limits: limits) { event in
                switch event {
                case .message(.setup(let setup)): values.fulfil(setup)
                case .ended(let why):
                    values.fulfil(nil)
                    end.fulfil(why)
                case .began, .message: break
                }
            }
            try process.start(start)
        } catch {
            throw EndReason(.failed, "cannot start the setup of \(name): \(error.sentence)")
        }
        let (setup, why) = await withTaskCancellationHandler {
            (await values.value, await end.value)
        } onCancel: {
            process.finish()
        }
        switch why {
        case .finished: return setup
        case .cancelled: return nil
        default: throw why.reason(of: name)
        }
    }
}
