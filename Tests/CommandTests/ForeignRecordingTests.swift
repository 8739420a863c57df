import Foundation
import ImageFile
import MediaCore
import TestSupport
import Testing

/// `share recordings` with files in other codecs than VP8.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ForeignRecordingTests {
    struct Codec: Sendable, CustomTestStringConvertible {
        var name: String
        var encoder: [String]
        var file: String
        var testDescription: String { name }
    }

    static let codecs = [
        Codec(
            name: "vp9", encoder: ["libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-lag-in-frames", "0"],
            file: "a.webm"),
        Codec(
            name: "av1", encoder: ["libaom-av1", "-usage", "realtime", "-cpu-used", "8", "-lag-in-frames", "0"],
            file: "a.webm"),
        // The parameter sets are in the file's header alone, as they are after a group that was encoded again.
        Codec(name: "h264", encoder: ["libx264", "-bf", "0", "-preset", "ultrafast"], file: "a.mkv"),
        Codec(
            name: "h265", encoder: ["libx265", "-bf", "0", "-preset", "ultrafast", "-x265-params", "log-level=error"],
            file: "a.mkv"),
    ]

    private func ffmpeg(_ arguments: [String]) async throws -> String {
        let program = try Program("ffmpeg", ["-v", "error", "-nostdin"] + arguments)
        let status = await program.exitCode()
        #expect(status == 0 && program.text.errors.isEmpty, "\(arguments): \(program.text.errors)")
        return program.text.output
    }

    /// The checksums of the decoded pictures.
    private func pictures(_ file: String) async throws -> [Substring] {
        try await ffmpeg(["-i", file, "-map", "0:v", "-f", "framemd5", "-"]).split(separator: "\n")
            .filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: ",").last }
    }

    /// Six seconds of ten pictures each, with a key frame every two seconds.
    private func recording(_ codec: Codec, in folder: TemporaryFolder) async throws -> String {
        let file = folder.file(codec.file)
        _ = try await ffmpeg(
            [
                "-f", "lavfi", "-i", "testsrc=size=322x182:rate=10:duration=6", "-f", "lavfi", "-i",
                "sine=frequency=440:duration=6", "-g", "20", "-pix_fmt", "yuv420p", "-c:a", "libopus", "-c:v",
            ] + codec.encoder + [file])
        return file
    }

    /// The pictures up to the next key frame are encoded again, and the others are as they were.
    @Test(arguments: codecs) func aPartBeginsExactly(_ codec: Codec) async throws {
        let folder = try TemporaryFolder()
        let file = try await recording(codec, in: folder)
        let part = folder.file("part." + (codec.file as NSString).pathExtension)
        let process = try ShareProcess(
            ["recordings", "trim", file, "--from", "2.75", "--to", "5.25", "--exact", "-o", part], in: folder)
        #expect(process.exitCode(seconds: 60) == 0, "\(process.errorText)")
        let media = try MediaProbe(part)
        #expect(media.streams == [codec.name == "h265" ? "hevc" : codec.name, "opus"])
        #expect(media.duration == 2.5)
        #expect(try media.decodingErrors() == "")
        // Picture 27 is shown at 2.75 s; 40 is the next key frame.
        let all = try await pictures(file)
        let shown = try await pictures(part)
        #expect(shown.count == 26)
        #expect(Array(shown.dropFirst(13)) == Array(all[40..<53]))
        let likeness = try await ffmpeg([
            "-i", part, "-i", file, "-lavfi",
            "[0:v]trim=end_frame=13,setpts=N/10/TB[a];[1:v]trim=start_frame=27:end_frame=40,setpts=N/10/TB[b];"
                + "[a][b]ssim=stats_file=-", "-f", "null", "-",
        ])
        let values = likeness.split(separator: "\n").compactMap { line in
            line.split(separator: " ").first { $0.hasPrefix("All:") }.flatMap { Double($0.dropFirst(4)) }
        }
        #expect(values.count == 13 && values.allSatisfy { $0 > 0.95 }, "\(values)")
        // A reel goes on with the frames of another file, which have other parameter sets.
        let reel = folder.file("reel." + (codec.file as NSString).pathExtension)
        let joined = try ShareProcess(["recordings", "reel", part, file, "-o", reel], in: folder)
        #expect(joined.exitCode(seconds: 60) == 0, "\(joined.errorText)")
        #expect(try await pictures(reel) == shown + all)
        // Nothing has to be encoded for a part that begins with a key frame, so nothing needs ffmpeg.
        let plain = try ShareProcess(
            ["recordings", "trim", file, "--from", "2.05", "--exact", "-o", folder.file("plain.mkv")], in: folder,
            environment: ["PATH": folder.path])
        #expect(plain.exitCode(seconds: 60) == 0, "\(plain.errorText)")
        #expect(try await pictures(folder.file("plain.mkv")) == Array(all[20...]))
    }

    @Test(arguments: codecs) func aContactSheetShowsIt(_ codec: Codec) async throws {
        let folder = try TemporaryFolder()
        let file = try await recording(codec, in: folder)
        let sheet = folder.file("sheet.png")
        let process = try ShareProcess(["recordings", "show", file, "--sheet", sheet], in: folder)
        #expect(process.exitCode(seconds: 60) == 0, "\(process.errorText)")
        let image = try ImageFile.read(sheet)
        var pictures = Set<[UInt8]>()
        for index in 0..<12 {
            let (left, top) = (8 + index % 4 * 328, 8 + index / 4 * 188)
            pictures.insert((0..<320).map { image[left + $0, top + 150].green })
        }
        // The colours at this height move with each picture.
        #expect(pictures.count == 12)
    }

    /// A file that cannot be copied says so, and nothing is written.
    @Test func whatCannotBeCopiedIsRefused() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("aac.mkv")
        _ = try await ffmpeg(
            [
                "-f", "lavfi", "-i", "testsrc=size=320x180:rate=10:duration=2", "-f", "lavfi", "-i",
                "sine=frequency=440:duration=2", "-ac", "6", "-c:v", "libvpx", "-c:a", "aac", file,
            ])
        let part = folder.file("part.mkv")
        for arguments in [["trim", file, "--to", "1", "-o", part], ["reel", file, file, "-o", part]] {
            let process = try ShareProcess(["recordings"] + arguments, in: folder)
            #expect(process.exitCode(seconds: 60) == 73)
            #expect(process.errorText.contains("audio in A_AAC") && process.errorText.contains("export"))
        }
        #expect(!FileManager.default.fileExists(atPath: part))
        let shown = try ShareProcess(["recordings", "show", file], in: folder)
        #expect(shown.exitCode(seconds: 60) == 0)
        #expect(shown.lines.contains { $0.contains("A_AAC 6 channels") && $0.contains("not for trim and reel") })
    }

    @Test func withoutFFmpegASentenceSaysWhatIsMissing() async throws {
        let folder = try TemporaryFolder()
        let file = try await recording(Self.codecs[2], in: folder)
        for arguments in [
            ["trim", file, "--from", "2.75", "--exact", "-o", folder.file("b.mkv")],
            ["show", file, "--sheet", folder.file("b.png")],
        ] {
            let process = try ShareProcess(["recordings"] + arguments, in: folder, environment: ["PATH": folder.path])
            #expect(process.exitCode() == 73)
            #expect(process.errorText.contains("needs ffmpeg") && process.errorText.contains("apt install ffmpeg"))
        }
        #expect(!FileManager.default.fileExists(atPath: folder.file("b.mkv")))
    }
}
