import Foundation
import Matroska
import MediaCore
import Synchronization
import TestSupport
import Testing
import WebMContainer

@testable import Recording

/// Files that mkvmerge and ffmpeg write are cut and joined as they are.
@Suite struct ForeignFileTests {
    private static let encoded = Mutex<[String: Data]>([:])

    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @discardableResult
    private func run(_ name: String, _ arguments: [String]) async throws -> String {
        let program = try Program(name, arguments)
        let status = await program.exitCode()
        #expect(status == 0, "\(name) \(arguments): \(program.text.errors)\(program.text.output)")
        return program.text.output
    }

    private func ffmpeg(_ arguments: [String]) async throws -> String {
        try await run("ffmpeg", ["-v", "error", "-nostdin", "-y"] + arguments)
    }

    /// Checksums of the packets of a stream ("v:0", "a:0"), in their order.
    private func packets(of path: String, _ stream: String) async throws -> [Substring] {
        try await ffmpeg(["-i", path, "-map", "0:" + stream, "-c", "copy", "-f", "framemd5", "-"])
            .split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
                // Side data may follow.
                let fields = line.split(separator: ",")
                return fields.count > 5 ? fields[5] : ""
            }
    }

    /// Checksums of the decoded pictures.
    private func pictures(of path: String) async throws -> [Substring] {
        try await ffmpeg(["-i", path, "-map", "0:v:0", "-f", "framemd5", "-"])
            .split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: ",").last }
    }

    /// Six seconds with a key frame each second.
    private func source(
        _ video: [String] = ["libvpx", "-deadline", "realtime"], channels: Int = 2, name: String = "source.mkv",
        more: [String] = []
    ) async throws -> String {
        let file = folder.file(name)
        let layout = channels == 6 ? ["-mapping_family", "1"] : []
        // Most tests have the same one, which is encoded once.
        let key = (video + ["\(channels)", URL(fileURLWithPath: name).pathExtension] + more).joined(separator: " ")
        if let known = Self.encoded.withLock({ $0[key] }) {
            try known.write(to: URL(fileURLWithPath: file))
            return file
        }
        _ = try await ffmpeg(
            ["-f", "lavfi", "-i", "testsrc=size=320x180:rate=10:duration=6"]
                + ["-f", "lavfi", "-i", "sine=frequency=440:duration=6", "-ac", "\(channels)", "-g", "10"]
                + ["-pix_fmt", "yuv420p", "-c:v"] + video + ["-c:a", "libopus"] + layout + more + [file])
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        Self.encoded.withLock { $0[key] = bytes }
        return file
    }

    private func trim(_ path: String, from: Int = 0, to: Int? = nil) throws -> String {
        try RecordingEditor.trim(
            path, from: .milliseconds(from), to: to.map { .milliseconds($0) }, isExact: false,
            destination: .freeName(folder.file("part.mkv"))
        ).path
    }

    private func blocks(_ path: String) throws -> [RecordedBlock] { try MatroskaFile(RecordedFileSource(path)).blocks }

    /// mkvmerge laces audio, and writes block groups if it is asked to.
    @Test(arguments: [[], ["--engage", "no_simpleblocks"], ["--timestamp-scale", "100000"]])
    func filesOfMkvmergeAreCopiedWhole(_ options: [String]) async throws {
        let source = try await source()
        let file = folder.file("merged.mkv")
        try await run("mkvmerge", ["-q", "-o", file] + options + [source])
        let part = try trim(file)
        for stream in ["v:0", "a:0"] {
            let expected = try await packets(of: source, stream)
            #expect(expected.count >= 60)
            #expect(try await packets(of: part, stream) == expected, "\(stream) \(options)")
        }
        let times = try blocks(part).filter { $0.track == 1 }.map(\.time)
        #expect(zip(times, times.dropFirst()).allSatisfy { (99...101).contains($1 - $0) })
        // The first frame comes some milliseconds after the first sound.
        let cut = try trim(file, from: 2_050, to: 3_990)
        #expect(try await packets(of: cut, "v:0") == Array(packets(of: source, "v:0")[20..<40]))
    }

    /// Browsers and live streams write clusters, and segments, of unknown size.
    @Test func clustersOfUnknownSizeAreCopied() async throws {
        let source = try await source()
        let whole = folder.file("whole.webm")
        _ = try await ffmpeg(["-i", source, "-c", "copy", "-cluster_time_limit", "900", whole])
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: whole)))
        var clusters: [Element] = []
        let read = try MatroskaFile(RecordedFileSource(whole))
        read.forEachPiece { piece in
            if case .cluster(let element) = piece { clusters.append(element) }
            return true
        }
        #expect(clusters.count >= 6)
        for cluster in clusters { bytes.makeSizeUnknown(from: cluster.start + 4, to: cluster.content.lowerBound) }
        bytes.makeSizeUnknown(from: read.segmentStart - 8, to: read.segmentStart)
        let file = folder.file("live.webm")
        // Without cues, as a stream has none.
        let end = try #require(clusters.last?.end)
        try Data(bytes[..<end]).write(to: URL(fileURLWithPath: file))
        let part = try trim(file)
        for stream in ["v:0", "a:0"] {
            #expect(try await packets(of: part, stream) == packets(of: source, stream), "\(stream)")
        }
    }

    @Test func aLargeAttachmentIsPassedOver() async throws {
        let source = try await source()
        let attachment = folder.file("large.bin")
        let part = Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try (0..<100).reduce(into: Data()) { whole, _ in whole += part }.write(to: URL(fileURLWithPath: attachment))
        let file = folder.file("attached.mkv")
        try await run(
            "mkvmerge",
            [
                "-q", "-o", file, "--attachment-mime-type", "application/octet-stream", "--attach-file", attachment,
                source,
            ])
        #expect(try StoredRecording(reading: file).tracks.count == 2)
        #expect(try await packets(of: trim(file), "v:0") == packets(of: source, "v:0"))
    }

    /// Tracks that an editor has moved behind the clusters.
    @Test func movedTracksAreFound() async throws {
        let source = try await source()
        let file = folder.file("edited.mkv")
        try await run("mkvmerge", ["-q", "-o", file, source])
        let name = String(repeating: "a long name ", count: 2_000)
        try await run("mkvpropedit", ["-q", file, "--edit", "track:1", "--set", "name=\(name)"])
        #expect(try StoredRecording(reading: file).tracks.count == 2)
        #expect(try await packets(of: trim(file), "v:0") == packets(of: source, "v:0"))
    }

    @Test func surroundSoundKeepsItsChannels() async throws {
        let source = try await source(channels: 6)
        #expect(try StoredRecording(reading: source).tracks.map(\.channels) == [nil, 6])
        let part = try trim(source)
        let described = try await run(
            "ffprobe",
            ["-v", "error", "-select_streams", "a", "-show_entries", "stream=channels", "-of", "csv=p=0", part])
        #expect(described == "6\n")
        func samples(_ path: String) async throws -> String {
            try await ffmpeg(["-i", path, "-map", "0:a", "-t", "5", "-f", "md5", "-"])
        }
        #expect(try await samples(part) == samples(source))
        let stereo = try await self.source(name: "stereo.mkv")
        #expect(throws: RecordingFailure.self) {
            try RecordingEditor.join([source, stereo], title: nil, destination: .file(folder.file("reel.mkv")))
        }
    }

    /// Of VP8 only the header says the colours and the aspect.
    @Test func coloursAndAspectStay() async throws {
        let source = try await source(more: [
            "-colorspace", "bt709", "-color_range", "pc", "-color_primaries", "bt709", "-color_trc", "bt709", "-aspect",
            "4:3",
        ])
        func described(_ path: String) async throws -> String {
            try await run(
                "ffprobe",
                [
                    "-v", "error", "-select_streams", "v", "-of", "csv=p=0", "-show_entries",
                    "stream=color_range,color_space,color_primaries,color_transfer,display_aspect_ratio", path,
                ])
        }
        #expect(try await described(source).contains("bt709"))
        #expect(try await described(trim(source)) == described(source))
    }

    /// Frames that are decoded in another order than shown.
    @Test(arguments: ["libx264", "libx265"]) func reorderedFramesStayDecodable(_ encoder: String) async throws {
        let more = encoder == "libx265" ? ["-x265-params", "log-level=error:keyint=10:open-gop=0"] : []
        let source = try await source([encoder, "-bf", "3", "-preset", "veryfast"] + more)
        let times = try blocks(source).filter { $0.track == 1 }.map(\.time)
        #expect(times != times.sorted())
        let expected = try await pictures(of: source)
        #expect(expected.count == 60)
        #expect(try await pictures(of: trim(source)) == expected)
        let part = try await pictures(of: trim(source, from: 2_000, to: 4_000))
        let keyframe = try #require(blocks(source).last { $0.track == 1 && $0.isKeyframe && $0.time <= 2_000 }?.time)
        let first = times.count { $0 < keyframe }
        #expect(part.count >= 17 && part == Array(expected[first..<(first + part.count)]), "\(part.count)")
        let reel = try RecordingEditor.join(
            [source, source], title: nil, destination: .file(folder.file("reel.mkv")))
        #expect(try await pictures(of: reel.path) == expected + expected)
    }

    /// What cannot be copied is refused, and nothing is written.
    @Test func otherTracksAreRefused() async throws {
        let source = try await source()
        let subtitles = folder.file("words.srt")
        try "1\n00:00:01,000 --> 00:00:02,000\nWords\n".write(toFile: subtitles, atomically: true, encoding: .utf8)
        let titled = folder.file("titled.mkv")
        try await run("mkvmerge", ["-q", "-o", titled, source, subtitles])
        let compressed = folder.file("compressed.mkv")
        try await run("mkvmerge", ["-q", "-o", compressed, "--compression", "0:zlib", source])
        let aac = folder.file("aac.mkv")
        _ = try await ffmpeg(["-i", source, "-c:v", "copy", "-c:a", "aac", aac])
        for file in [titled, compressed, aac] {
            #expect(try StoredRecording(reading: file).editingObstacle != nil)
            let failure = #expect(throws: RecordingFailure.self) { try trim(file) }
            #expect(failure?.remedy.contains("export") == true)
        }
        #expect(!FileManager.default.fileExists(atPath: folder.file("part.mkv")))
    }
}

extension [UInt8] {
    /// Overwrites the size field of an element with that of an unknown size (RFC 8794 section 6.2).
    fileprivate mutating func makeSizeUnknown(from start: Int, to end: Int) {
        for index in start..<end { self[index] = 0xFF }
        self[start] = UInt8(0xFF) >> UInt8(end - start - 1)
    }
}
