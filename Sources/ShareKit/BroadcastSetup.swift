internal import ExtensionChannel
internal import Glibc

/// The setup program of an extension: signs the user in, shows terms, asks for a title. The counterpart of ReplayKit's
/// setup extension. It runs before the upload program, each time, and may use the terminal of its host.
///
///     @main final class Setup: BroadcastSetup {
///         override func setUp(for application: SampleHandler.Application) -> [String: String]? { ... }
///     }
open class BroadcastSetup {
    /// Called by ``main()``, before the user is asked.
    public required init() {}

    /// Asks the user.
    /// - Parameter application: that wants to broadcast.
    /// - Returns: what the upload program gets; nil if the user does not want to broadcast.
    open func setUp(for application: SampleHandler.Application) -> [String: String]? { [:] }

    /// The same with the values that the user has given for the fields of the manifest, by their names. The default
    /// asks without them.
    open func setUp(for application: SampleHandler.Application, values: [String: String]) -> [String: String]? {
        setUp(for: application)
    }

    /// Runs the program until the user has answered. A program that no host has started says so and exits with 64.
    public static func main() {
        guard let connection = ProgramConnection.inherited() else {
            let text = "This is a setup program; a host starts it (share host).\n"
            _ = write(STDERR_FILENO, text, text.utf8.count)
            exit(64)
        }
        let setup = Self()
        let end = connection.run { event in
            guard case .started(let start) = event else { return }
            connection.send(.ready(ExtensionReadiness(media: .none)))
            if let values = setup.setUp(for: SampleHandler.Application(start.application), values: start.setup) {
                connection.send(.setup(values))
            } else {
                connection.send(.cancelled)
            }
        }
        exit(end == .finished ? 0 : 1)
    }
}
