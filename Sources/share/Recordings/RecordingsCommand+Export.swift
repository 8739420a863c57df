import ArgumentParser
import CommandSupport
import FoundationEssentials
import Glibc
import MediaCore
import Recording

enum ExportFormat: String, ExpressibleByArgument, CaseIterable { case mp4, webp, gif }

struct ExportRecordingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Convert a recording for programs that take no WebM; needs ffmpeg.",
        discussion: """
            mp4: H.264 and AAC, each audio track of its own unless --mix is given. webp and gif: an \
            animation without sound, of 10 pictures a second and 800 pixels at most.
            """)

    @Argument(help: "The recording.")
    var file: String

    @Option(help: "The format; that of the output's extension, or mp4.")
    var format: ExportFormat?

    @Flag(help: "Mix the audio tracks into one.")
    var mix = false

    @Option(
        name: .shortAndLong, help: ArgumentHelp("The file to write; a name beside the recording if omitted."))
    var output: String?

    func run() throws {
        try complaining { () throws(CommandError) in
            let recording: StoredRecording
            do throws(RecordingFailure) {
                recording = try StoredRecording(reading: RecordingArgument.path(file))
            } catch {
                throw CommandError(error)
            }
            guard let ffmpeg = FFmpeg.path else {
                throw CommandError(sentence: "ffmpeg is not installed", remedy: FFmpeg.remedy, status: .failed)
            }
            let format = format ?? output.flatMap { ExportFormat(rawValue: $0.fileExtension) } ?? .mp4
            let target = output ?? recording.path.withoutFileExtension + "." + format.rawValue
            try convert(recording, ffmpeg, format, target)
            ErrorOutput.writeLine("share: written: \(UntrustedText.path(target, fallback: "the file"))")
        }
    }

    private func convert(
        _ recording: StoredRecording, _ ffmpeg: String, _ format: ExportFormat, _ target: String
    ) throws(CommandError) {
        // Written under another name: a conversion that fails leaves nothing, and nothing is overwritten.
        let folder = URL(fileURLWithPath: target).deletingLastPathComponent()
        let part = folder.appendingPathComponent(".share-\(UUID().uuidString).\(format.rawValue)").path
        guard !FileManager.default.fileExists(atPath: target) else { throw Self.exists(target) }
        defer { unlink(part) }
        let audio = recording.tracks.count { !$0.isVideo }
        let source = URL(fileURLWithPath: recording.path).path
        let conversion = FFmpeg.conversion(of: recording.tracks.first(where: \.isVideo)?.colorSpace)
        let status = try ForegroundProgram.run(
            ffmpeg,
            ["-nostdin", "-v", "error", "-n", "-i", "file:" + source]
                + Self.arguments(format, conversion, mixes: mix && audio > 1) + ["file:" + part],
            memory: ForegroundProgram.foreignFileMemory)
        guard status == 0 else {
            throw CommandError(sentence: "ffmpeg has failed with \(status), see above", status: .cannotWrite)
        }
        guard link(part, target) == 0 else {
            if errno == EEXIST { throw Self.exists(target) }
            throw CommandError(
                sentence: "\(target) cannot be created: \(String(cString: strerror(errno)))", status: .cannotWrite)
        }
    }

    private static func exists(_ target: String) -> CommandError {
        CommandError(
            sentence: "\(UntrustedText.path(target, fallback: "the file")) exists already",
            remedy: "Choose another name: files are never overwritten.", status: .cannotWrite)
    }

    private static func arguments(_ format: ExportFormat, _ conversion: String, mixes: Bool) -> [String] {
        let small = conversion + "fps=10,scale='min(800,iw)':-2:flags=lanczos"
        switch format {
        case .mp4:
            // H.264 in 4:2:0 needs even sides.
            let video = [
                "-c:v", "libx264", "-preset", "veryfast", "-crf", "18", "-pix_fmt", "yuv420p", "-vf",
                conversion + "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-c:a", "aac", "-b:a", "160k", "-movflags", "+faststart",
            ]
            let mix = [
                "-filter_complex", "[0:a:0][0:a:1]amix=inputs=2:duration=longest:normalize=0[mixed]", "-map", "[mixed]",
            ]
            return ["-map", "0:v?"] + (mixes ? mix : ["-map", "0:a?"]) + video
        case .webp: return ["-an", "-vf", small, "-c:v", "libwebp", "-q:v", "75", "-loop", "0"]
        case .gif:
            return [
                "-an", "-filter_complex", "[0:v]\(small),split[a][b];[a]palettegen[p];[b][p]paletteuse", "-loop", "0",
            ]
        }
    }
}
