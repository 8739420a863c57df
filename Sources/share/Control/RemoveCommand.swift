import ArgumentParser
import CommandSupport
import Control
import MediaCore

struct RemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a viewer from a broadcast.",
        discussion: """
            Ends all sessions of the viewer, who is told so and cannot come back without being \
            admitted again. Exit codes: 0 removed, 64 nobody or more than one is meant, or \
            several broadcasts run, 72 none runs.
            """)

    @OptionGroup var control: ControlOptions

    @Argument(help: "The name, the number in 'share viewers', or the beginning of the fingerprint (4 digits or more).")
    var viewer: [String]

    func run() throws {
        try complaining { () throws(CommandError) in
            let broadcast = try control.one()
            let answer = try broadcast.answer(to: .remove(viewer.joined(separator: " ")))
            for viewer in answer.error == nil ? [] : answer.viewers ?? [] { ErrorOutput.writeLine(viewer.line) }
            if let error = answer.error {
                throw CommandError(
                    sentence: answer.message.map { UntrustedText.clean($0, limit: 256, fallback: "") }
                        ?? error.rawValue,
                    remedy: error == .ambiguous
                        ? "Give the number or the beginning of the fingerprint instead." : "List them: share viewers",
                    status: error == .ended ? .noBroadcast : .usage)
            }
            guard let removed = answer.removed else { return }
            let who = "\(UntrustedText.quote(removed.name)) (\(removed.kind), \(removed.address))"
            ErrorOutput.writeLine("share: removed: \(who)")
            ErrorOutput.writeLine("       \(UntrustedText.clean(removed.readmission, limit: 256, fallback: ""))")
        }
    }
}
