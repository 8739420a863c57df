import ArgumentParser
import CommandSupport
import FoundationEssentials
import MediaCore
import Recording

struct TrimRecordingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trim", abstract: "Copy a part of a recording to a new file.",
        discussion: """
            The part begins with the last key frame before --from, unless --exact is given: then it \
            begins with that instant. In other codecs than VP8, ffmpeg then encodes the pictures up to the \
            next key frame again. The recording itself stays as it is.
            """)

    @Argument(help: "The recording.")
    var file: String

    @Option(help: ArgumentHelp("Where the part begins: 83.5, 1:23.5 or 0:01:23.5.", valueName: "time"))
    var from = Position(seconds: 0)

    @Option(help: ArgumentHelp("Where it ends; the end of the recording if omitted.", valueName: "time"))
    var to: Position?

    @Flag(help: "Begin with --from itself, and not with the key frame before it.")
    var exact = false

    @Option(
        name: .shortAndLong, help: ArgumentHelp("The file to write; a free name beside the recording if omitted."))
    var output: String?

    func validate() throws {
        if let to, to.seconds <= from.seconds { throw ValidationError("--to is not after --from.") }
    }

    func run() throws {
        try editing { () throws(RecordingFailure) in
            let file = try RecordingArgument.path(file)
            return try RecordingEditor.trim(
                file, from: from.duration, to: to?.duration, isExact: exact, encoder: FFmpeg.encoder,
                destination: .output(output, of: file, suffix: "-part"))
        }
    }
}

struct ReelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reel", abstract: "Join clips or recordings in a new file, without encoding them again.",
        discussion: "All need the same codec, the same size, and as many audio tracks.")

    @Argument(help: "The clips, in their order.")
    var files: [String]

    @Option(name: .shortAndLong, help: "The file to write.")
    var output: String

    @Option(help: ArgumentHelp("The title of the file; that of the first clip if omitted.", valueName: "text"))
    var title: String?

    func run() throws {
        try editing { () throws(RecordingFailure) in
            var paths: [String] = []
            for file in files { paths.append(try RecordingArgument.path(file)) }
            return try RecordingEditor.join(
                paths, title: title.map { UntrustedText.clean($0, fallback: "") }, destination: .file(output))
        }
    }
}

struct PlayRecordingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "play", abstract: "Play a recording with a player of this machine.",
        discussion: "With mpv, VLC, ffplay or Celluloid, or with what the desktop opens such files with.")

    @Argument(help: "The recording.")
    var file: String

    func run() throws {
        try complaining { () throws(CommandError) in
            let file: String
            do throws(RecordingFailure) {
                file = try RecordingArgument.path(self.file)
                _ = try StoredRecording(reading: file)
            } catch {
                throw CommandError(error)
            }
            let path = URL(fileURLWithPath: file).path
            for (name, arguments) in Self.players {
                guard let player = ExecutablePath.find(name) else { continue }
                let status = try ForegroundProgram.run(player, arguments + [path])
                guard status == 0 else {
                    throw CommandError(sentence: "\(name) has ended with \(status)", status: .failed)
                }
                return
            }
            throw CommandError(
                sentence: "there is no player for it",
                remedy: "Install mpv or VLC, or open the file with a browser.", status: .failed)
        }
    }

    private static let players: [(String, [String])] = [
        ("mpv", ["--"]), ("vlc", ["--"]), ("ffplay", ["-hide_banner", "-loglevel", "error", "-autoexit", "-i"]),
        ("celluloid", []), ("xdg-open", []),
    ]
}

/// Runs an edit, and says which file it has written.
private func editing(_ body: () throws(RecordingFailure) -> RecordedFile) throws {
    try complaining { () throws(CommandError) in
        let file: RecordedFile
        do throws(RecordingFailure) {
            file = try body()
        } catch {
            throw CommandError(error)
        }
        RecordingLog().add(file, title: (try? StoredRecording(reading: file.path))?.title ?? "")
        let megabytes = (Double(file.bytes) / 1e5).rounded() / 10
        let name = UntrustedText.path(file.path)
        ErrorOutput.writeLine(
            "share: written: \(name), \(ClockText.text(Int(file.duration.inSeconds))), \(megabytes) MB")
    }
}

extension RecordingDestination {
    /// The file that the user named, or a free name beside a recording.
    static func output(_ output: String?, of file: String, suffix: String) -> Self {
        if let output { return .file(output) }
        let url = URL(fileURLWithPath: file)
        let name = url.deletingPathExtension().lastPathComponent + suffix + ".webm"
        return .freeName(url.deletingLastPathComponent().appendingPathComponent(name).path)
    }
}

/// A place in a recording: "83.5", "1:23.5" or "0:01:23.5".
struct Position: ExpressibleByArgument, Equatable, Sendable {
    let seconds: Double

    init(seconds: Double) { self.seconds = seconds }

    init?(argument: String) {
        let parts = argument.split(separator: ":", omittingEmptySubsequences: false)
        guard (1...3).contains(parts.count) else { return nil }
        var seconds = 0.0
        for (index, part) in parts.enumerated() {
            guard !part.isEmpty, part.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }),
                let value = Double(part), index == parts.count - 1 || value == value.rounded(),
                index == 0 || value < 60
            else { return nil }
            seconds = seconds * 60 + value
        }
        // A year.
        guard seconds < 31_536_000 else { return nil }
        self.seconds = seconds
    }

    var duration: MediaDuration { MediaDuration(nanoseconds: Int64(seconds * 1e9)) }
    var defaultValueDescription: String { "0" }
}
