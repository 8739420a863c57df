public import ArgumentParser
import CommandSupport
import Control
public import MediaCore

struct GrantCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grant", abstract: "Let a viewer write, point, or control the screen.",
        discussion: """
            The right ends with the viewer's session, or with 'share revoke'. One viewer controls the screen at a \
            time: it is taken from the one before. Exit codes: 0 granted, \
            64 nobody or more than one is meant, or several broadcasts run, 72 none runs.
            """)

    @OptionGroup var control: ControlOptions
    @OptionGroup var right: RightArguments

    func run() throws { try right.set(true, control) }
}

struct RevokeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Take the right to write, point, or control the screen back from a viewer.",
        discussion: """
            The viewer cannot ask for it again. Exit codes: 0 taken back, 64 nobody or more than one \
            is meant, or several broadcasts run, 72 none runs.
            """)

    @OptionGroup var control: ControlOptions
    @OptionGroup var right: RightArguments

    func run() throws { try right.set(false, control) }
}

struct RightArguments: ParsableArguments {
    @Argument(help: "The name, the number in 'share viewers', or the beginning of the fingerprint (4 digits or more).")
    var viewer: String

    @Argument(help: "The right: comment, point or control.")
    var right: ViewerRight

    func set(_ isGranted: Bool, _ control: ControlOptions) throws {
        try complaining { () throws(CommandError) in
            let answer = try control.one().perform(.setRight(right, isGranted: isGranted, viewer: viewer))
            let isNew = answer.changed == true
            let who = UntrustedText.quote(UntrustedText.clean(viewer, fallback: ""))
            ErrorOutput.writeLine(
                isGranted
                    ? "share: \(who) \(isNew ? "may \(right.rawValue) from now on" : "may \(right.rawValue) already")"
                    : "share: \(who) \(isNew ? "may not \(right.rawValue) any more" : "may not \(right.rawValue) already")"
            )
        }
    }
}

struct SayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "say", abstract: "Write a comment that all viewers see.",
        discussion: "Exit codes: 0 said, 64 several broadcasts run, 72 none runs.")

    @OptionGroup var control: ControlOptions

    @Argument(help: "What to say: one line, 500 characters at most.")
    var text: [String]

    func run() throws {
        try complaining { () throws(CommandError) in
            _ = try control.one().perform(.say(text.joined(separator: " ")))
        }
    }
}

extension ViewerRight: ExpressibleByArgument {}
extension RightState: ExpressibleByArgument {}
