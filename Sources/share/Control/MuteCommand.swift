import ArgumentParser
import CommandSupport
import Control

/// Which audio `mute` and `unmute` are for.
struct AudioOptions: ParsableArguments {
    @Flag(help: "The microphone. Without --mic and --system: both.")
    var mic = false

    @Flag(help: "What the machine plays.")
    var system = false

    /// Nil for all.
    var tracks: [AudioTrackName]? {
        if mic == system { return mic ? AudioTrackName.allCases : nil }
        return [mic ? .microphone : .system]
    }
}

struct MuteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mute", abstract: "Mute the audio of a broadcast.",
        discussion: "Exit codes: 0 muted, 64 several broadcasts run or this one has no such audio, 72 none runs.")

    @OptionGroup var control: ControlOptions
    @OptionGroup var audio: AudioOptions

    func run() throws { try setMuted(true, audio, control) }
}

struct UnmuteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unmute", abstract: "Share the audio of a broadcast again.",
        discussion: "Exit codes: 0 unmuted, 64 several broadcasts run or this one has no such audio, 72 none runs.")

    @OptionGroup var control: ControlOptions
    @OptionGroup var audio: AudioOptions

    func run() throws { try setMuted(false, audio, control) }
}

private func setMuted(_ isMuted: Bool, _ audio: AudioOptions, _ control: ControlOptions) throws {
    try complaining { () throws(CommandError) in
        let answer = try control.one().perform(.setMuted(audio.tracks, isMuted))
        let tracks = (answer.broadcast?.audio ?? []).map(\.sentence)
        ErrorOutput.writeLine("share: \(tracks.joined(separator: ", "))")
    }
}

extension BroadcastStatus.Audio {
    /// "microphone on"; "microphone unmuted, but none is there" if nothing is captured.
    var sentence: String {
        let name = track == .system ? "system audio" : "microphone"
        if muted { return name + " muted" }
        return captured ? name + " on" : name + " unmuted, but there is none to capture now"
    }
}
