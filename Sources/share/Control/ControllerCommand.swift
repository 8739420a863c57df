import ArgumentParser
import CommandSupport
import Glibc
import LinuxRuntime
import MediaCore
import WindowPlayout

/// The hidden command `share controller`: writes a line for each press of the share button of a game controller, until
/// the end of stdin. ShareKit's `ControllerTrigger` runs it, as SDL would take an app's controllers from the app.
struct ControllerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "controller", abstract: "Say when a controller's share button is pressed.", shouldDisplay: false)

    func run() throws {
        try complaining { () throws(CommandError) in
            let button: ControllerButton
            do throws(SourceFailure) {
                button = try ControllerButton { Self.write("pressed") }
            } catch {
                throw CommandError(sentence: error.message, remedy: error.remedy, status: .failed)
            }
            Self.write("ready")
            _ = FileDescriptor.read(STDIN_FILENO)
            button.close()
        }
    }

    private static func write(_ line: String) {
        // The reader may have gone; the end of stdin follows.
        _ = CommandSupport.write(STDOUT_FILENO, line + "\n")
    }
}
