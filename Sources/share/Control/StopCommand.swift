import ArgumentParser
import CommandSupport
import Control
import ControlSocket

struct StopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "End a broadcast that runs on this machine, for all viewers.",
        discussion: "Returns when the broadcast has ended. Exit codes: 0 ended, 64 several run, 72 none runs.")

    @OptionGroup var control: ControlOptions

    func run() throws {
        try complaining { () throws(CommandError) in
            let broadcast = try control.one()
            let hasEnded: Bool
            do throws(ControlSocketFailure) {
                hasEnded = try broadcast.stop()
            } catch {
                throw CommandError(sentence: error.message, status: error.code == .notListening ? .noBroadcast : .lost)
            }
            guard hasEnded else {
                throw CommandError(
                    sentence: "the broadcast has not ended within 10 s",
                    remedy: "End its process: kill \(broadcast.status.process)", status: .lost)
            }
            ErrorOutput.writeLine("share: the broadcast \(broadcast.status.id) has ended")
        }
    }
}
