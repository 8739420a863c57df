import ArgumentParser
import CommandSupport
import Control

struct PauseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Pause a broadcast: nothing is captured or sent.",
        discussion: "The viewers keep the last frame and are told. Exit codes: 0 paused, 64 several run, 72 none runs.")

    @OptionGroup var control: ControlOptions

    func run() throws {
        try complaining { () throws(CommandError) in
            let isNew = try control.one().perform(.pause).changed == true
            ErrorOutput.writeLine("share: \(isNew ? "paused; share resume continues" : "it is paused already")")
        }
    }
}

struct ResumeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Resume a paused broadcast.",
        discussion: "Exit codes: 0 resumed, 64 several run, 72 none runs.")

    @OptionGroup var control: ControlOptions

    func run() throws {
        try complaining { () throws(CommandError) in
            let isNew = try control.one().perform(.resume).changed == true
            ErrorOutput.writeLine("share: \(isNew ? "resumed" : "it is not paused")")
        }
    }
}
