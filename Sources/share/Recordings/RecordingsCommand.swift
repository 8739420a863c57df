import ArgumentParser
import CommandSupport
import MediaCore
import Recording

struct RecordingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recordings", abstract: "List, show, cut, join, export, share and repair recordings and clips.",
        discussion: "A recording is named by its file, or by its number in 'share recordings list'.",
        subcommands: [
            ListRecordingsCommand.self, ShowRecordingsCommand.self, PlayRecordingCommand.self,
            TrimRecordingCommand.self, ReelCommand.self,
            ExportRecordingCommand.self, OpenRecordingsCommand.self, ShareRecordingCommand.self,
            RepairRecordingsCommand.self,
            RemoveRecordingsCommand.self, NotifyRecordingCommand.self,
        ])
}

struct ShowRecordingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print a line for each file: length, size, tracks, title.")

    @Argument(help: "The files.")
    var files: [String]

    @Flag(help: "Print one JSON object a line.")
    var json = false

    @Option(
        help: ArgumentHelp("Also write twelve pictures of the recording to this file.", valueName: "file.png"))
    var sheet: String?

    func validate() throws {
        if sheet != nil, files.count != 1 { throw ValidationError("--sheet is for one recording.") }
    }

    func run() throws {
        try forEachRecording(files) { file throws(RecordingFailure) in
            let recording = try StoredRecording(reading: file)
            if let sheet { try ContactSheet.twelve.write(recording, to: sheet) }
            DataOutput(isJSON: false).line(json ? recording.json.text : recording.line)
        }
    }
}

struct RepairRecordingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair", abstract: "Complete files whose recording was cut off.",
        discussion: """
            Cuts off what is no whole cluster, covers damage, and fills in length and cues. The frames \
            stay as they are. A file that is being recorded, and one of another program, is left alone.
            """)

    @Argument(help: "The files.")
    var files: [String]

    func run() throws {
        let log = RecordingLog()
        try forEachRecording(files) { file throws(RecordingFailure) in
            let repair = try StoredRecording.repair(file)
            if let size = try? StoredRecording(reading: file).bytes {
                log.noteRepair(RecordedFile(path: file, duration: repair.duration, bytes: size))
            }
            let length = ClockText.text(Int(repair.duration.inSeconds))
            let state =
                repair.wasComplete
                ? "is complete"
                : "is repaired: \(length)" + (repair.lostBytes > 0 ? ", \(repair.lostBytes) bytes lost" : "")
            ErrorOutput.writeLine("share: \(UntrustedText.path(file, fallback: "the file")) \(state)")
        }
    }
}

/// Runs `body` for each file, and reports the files for which it failed.
/// - Throws: the exit code, after the last file.
func forEachRecording(_ files: [String], _ body: (String) throws(RecordingFailure) -> Void) throws {
    var failed: ExitCode?
    for file in files {
        do throws(RecordingFailure) {
            try body(RecordingArgument.path(file))
        } catch {
            failed = CommandError(error).report()
        }
    }
    if let failed { throw failed }
}

extension StoredRecording {
    /// "00:12:31  34.2 MB  complete  V_VP8 1920 x 1080, A_OPUS  "Ann's screen"  meeting.webm"
    fileprivate var line: String {
        let megabytes = (Double(bytes) / 1e5).rounded() / 10
        let kinds = tracks.map { track in
            track.codec + (track.size.map { " \($0.width) x \($0.height)" } ?? "")
                + (track.channels.flatMap { $0 == 2 ? nil : " \($0) channel\($0 == 1 ? "" : "s")" } ?? "")
        }
        return [
            ClockText.text(Int(duration.inSeconds)), "\(megabytes) MB", isComplete ? "complete" : "not completed",
            kinds.joined(separator: ", "), tracks.contains(where: \.isVideo) ? "" : "no video",
            editingObstacle.map { "not for trim and reel: \($0)" } ?? "", title.map { UntrustedText.quote($0) } ?? "",
            UntrustedText.path(path),
        ].filter { !$0.isEmpty }.joined(separator: "  ")
    }

    fileprivate var json: JSONValue {
        .object([
            "file": .string(path), "title": title.map { .string($0) } ?? .null,
            "editable": .boolean(editingObstacle == nil), "obstacle": editingObstacle.map { .string($0) } ?? .null,
            "seconds": .number(duration.inSeconds), "bytes": .integer(bytes), "complete": .boolean(isComplete),
            "tracks": .list(
                tracks.map { track in
                    .object([
                        "kind": .string(track.isVideo ? "video" : "audio"), "codec": .string(track.codec),
                        "width": track.size.map { .integer($0.width) } ?? .null,
                        "height": track.size.map { .integer($0.height) } ?? .null,
                        "channels": track.channels.map { .integer($0) } ?? .null,
                    ])
                }),
        ])
    }
}
