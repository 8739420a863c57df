import ArgumentParser

/// What a host or a viewer keeps of its session.
struct KeepOptions: ParsableArguments {
    @Option(
        defaultAsFlag: ".",
        help: ArgumentHelp(
            "Also record the session to this file, or to a file in this folder; the current folder without a value.",
            valueName: "file|folder"))
    var record: String? = nil

    @Flag(help: ArgumentHelp("Also save the comments beside the recording, as subtitles (WebVTT): FILE.vtt."))
    var recordComments = false

    @Option(
        defaultAsFlag: 15,
        help: ArgumentHelp(
            "Keep the last seconds in memory, so that 'share clip' can save them; 15 without a value.",
            valueName: "seconds"))
    var clips: Int? = nil

    @Flag(
        help: ArgumentHelp(
            "Save a clip when the share button of a game controller is pressed, to the folder of --clip-folder."))
    var clipButton = false

    @Option(help: ArgumentHelp("Where --clip-button saves clips; the current folder if omitted.", valueName: "folder"))
    var clipFolder: String?

    /// The longest clip, in seconds.
    static let longest = 600

    func validate() throws {
        if let clips, !(1...Self.longest).contains(clips) {
            throw ValidationError("--clips is 1 to \(Self.longest) seconds, not \(clips).")
        }
        if recordComments, record == nil { throw ValidationError("--record-comments needs --record.") }
        if clipButton, clips == nil { throw ValidationError("--clip-button needs --clips.") }
        if clipFolder != nil, !clipButton { throw ValidationError("--clip-folder needs --clip-button.") }
    }

    var isEmpty: Bool { record == nil && clips == nil }
}
