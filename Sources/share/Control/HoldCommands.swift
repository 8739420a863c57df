import ArgumentParser
import CommandSupport
import Control
import MediaCore

struct PauseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Pause a broadcast: nothing is captured or sent.",
        discussion: "The viewers keep the last frame and are told. Exit codes: 0 paused, 64 several run, 72 none runs.")

    @OptionGroup var control: ControlOptions

    func run() throws { try set(.pause, true, control) }
}

struct ResumeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Resume a paused broadcast.",
        discussion: "Exit codes: 0 resumed, 64 several run, 72 none runs.")

    @OptionGroup var control: ControlOptions

    func run() throws { try set(.pause, false, control) }
}

struct BlankCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "blank", abstract: "Hide the picture of a broadcast, at once.",
        discussion: """
            Viewers and recordings get a grey frame and no audio, and nothing is captured until \
            'share unblank'. Exit codes: 0 blanked, 64 several run, 72 none runs.
            """)

    @OptionGroup var control: ControlOptions

    func run() throws { try set(.blank, true, control) }
}

struct UnblankCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unblank", abstract: "Show the picture of a blanked broadcast again.",
        discussion: "Exit codes: 0 unblanked, 64 several run, 72 none runs.")

    @OptionGroup var control: ControlOptions

    func run() throws { try set(.blank, false, control) }
}

struct FreezeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "freeze", abstract: "Let the picture of a broadcast stand still.",
        discussion:
            "The viewers keep the last frame; audio goes on. Exit codes: 0 frozen, 64 several run, 72 none runs.")

    @OptionGroup var control: ControlOptions

    func run() throws { try set(.freeze, true, control) }
}

struct UnfreezeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unfreeze", abstract: "Let the picture of a frozen broadcast go on.",
        discussion: "Exit codes: 0 unfrozen, 64 several run, 72 none runs.")

    @OptionGroup var control: ControlOptions

    func run() throws { try set(.freeze, false, control) }
}

private func set(_ hold: BroadcastHold, _ isOn: Bool, _ control: ControlOptions) throws {
    try complaining { () throws(CommandError) in
        let answer = try control.one().perform(.hold(hold, isOn))
        let isNew = answer.changed == true
        let sentence =
            isOn
            ? (isNew ? "\(hold.participle); share \(hold.ending) continues" : "it is \(hold.participle) already")
            : (isNew ? hold.endingParticiple : "it is not \(hold.participle)")
        let others = answer.broadcast?.holds.map { Set($0).effective } ?? nil
        let rest = isOn || others == nil ? "" : others.map { ", and still \($0.participle)" } ?? ""
        ErrorOutput.writeLine("share: \(sentence)\(rest)")
    }
}
