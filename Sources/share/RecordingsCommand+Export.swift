import ArgumentParser
import CommandSupport
import Foundation
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
        try complaining { () throws(Complaint) in
            let recording: StoredRecording
            do throws(RecordingFailure) {
                recording = try StoredRecording(reading: RecordingArgument.path(file))
            } catch {
                throw Complaint(error)
            }
            guard let ffmpeg = FFmpeg.path else {
                throw Complaint(sentence: "ffmpeg is not installed", remedy: FFmpeg.remedy, status: .failed)
            }
            let format = format ?? output.flatMap { ExportFormat(rawValue: ($0 as NSString).pathExtension) } ?? .mp4
            let target = output ?? (recording.path as NSString).deletingPathExtension + "." + format.rawValue
            try convert(recording, ffmpeg, format, target)
            ErrorOutput.writeLine("share: written: \(UntrustedText.clean(target, limit: 4_096, fallback: "the file"))")
        }
    }

    private func convert(
        _ recording: StoredRecording, _ ffmpeg: String, _ format: ExportFormat, _ target: String
    ) throws(Complaint) {
        // Written under another name: a conversion that fails leaves nothing, and nothing is overwritten.
        let folder = URL(fileURLWithPath: target).deletingLastPathComponent()
        let part = folder.appendingPathComponent(".share-\(UUID().uuidString).\(format.rawValue)").path
        guard !FileManager.default.fileExists(atPath: target) else { throw Self.exists(target) }
        defer { unlink(part) }
        let audio = recording.tracks.count { !$0.isVideo }
        let source = URL(fileURLWithPath: recording.path).path
        let status = try ForegroundProgram.run(
            ffmpeg,
            ["-nostdin", "-v", "error", "-n", "-i", "file:" + source]
                + Self.arguments(format, mixes: mix && audio > 1) + ["file:" + part])
        guard status == 0 else {
            throw Complaint(sentence: "ffmpeg has failed with \(status), see above", status: .cannotWrite)
        }
        guard link(part, target) == 0 else {
            if errno == EEXIST { throw Self.exists(target) }
            throw Complaint(
                sentence: "\(target) cannot be created: \(String(cString: strerror(errno)))", status: .cannotWrite)
        }
    }

    private static func exists(_ target: String) -> Complaint {
        Complaint(
            sentence: "\(UntrustedText.clean(target, limit: 4_096, fallback: "the file")) exists already",
            remedy: "Choose another name: files are never overwritten.", status: .cannotWrite)
    }

    private static func arguments(_ format: ExportFormat, mixes: Bool) -> [String] {
        let small = "fps=10,scale='min(800,iw)':-2:flags=lanczos"
        switch format {
        case .mp4:
            // H.264 in 4:2:0 needs even sides.
            let video = [
                "-c:v", "libx264", "-preset", "veryfast", "-crf", "18", "-pix_fmt", "yuv420p", "-vf",
                "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-c:a", "aac", "-b:a", "160k", "-movflags", "+faststart",
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

/// Programs in $PATH.
enum ExecutablePath {
    static func find(_ name: String) -> String? {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        return folders.lazy.filter { $0.hasPrefix("/") }.map { $0 + "/" + name }
            .first { access($0, X_OK) == 0 }
    }
}

/// A program that is waited for.
enum ForegroundProgram {
    /// Runs a program that has the terminal as long as it runs, as from a shell. For one at a time: Ctrl-C ends the
    /// program alone, so that what it leaves can be removed.
    /// - Returns: the exit code, or 128 and the number of the signal that has ended it.
    /// - Throws: if it cannot be started.
    static func run(_ path: String, _ arguments: [String]) throws(Complaint) -> Int32 {
        let former = signal(SIGINT, SIG_IGN)
        defer { signal(SIGINT, former) }
        return try runBeside(path, arguments)
    }

    /// Runs a program; Ctrl-C ends it and this process.
    static func runBeside(_ path: String, _ arguments: [String]) throws(Complaint) -> Int32 {
        let words = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var interrupt = sigset_t()
        sigemptyset(&interrupt)
        sigaddset(&interrupt, SIGINT)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setsigdefault(&attributes, &interrupt)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        var process: pid_t = 0
        let code = posix_spawn(&process, path, nil, &attributes, words, environ)
        guard code == 0 else {
            throw Complaint(
                sentence: "\(path) cannot be started: \(String(cString: strerror(code)))", status: .failed)
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    }
}
