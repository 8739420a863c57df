import LinuxRuntime
import Matroska
import MediaCore
import TestSupport
import Testing
import WebMContainer

@testable import Recording

/// Colours that a sender tells beside the stream stay with the file.
@Suite struct RecordedColorTests {
    private static let full = ColorSpace(primaries: 1, transfer: 13, matrix: 6, range: .full)
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Frames of 33 ms, each a key frame or not.
    private struct Source {
        let sink: any EncodedMediaSink
        private(set) var timestamp: UInt32 = 90_000

        init(_ sink: any EncodedMediaSink) { self.sink = sink }

        mutating func frame(_ space: ColorSpace?, isKeyframe: Bool = true) {
            [0x10, 1, 2, 3].withUnsafeBytes {
                sink.receive(
                    EncodedVideoFrame(
                        bytes: EncodedFrameBytes($0), codec: .vp8, isKeyframe: isKeyframe,
                        size: isKeyframe ? PixelSize(width: 320, height: 200) : nil, rtpTimestamp: timestamp,
                        colorSpace: space))
            }
            timestamp &+= 2_970
        }
    }

    private func close(_ sink: any EncodedMediaSink) async {
        await withCheckedContinuation { continuation in sink.close { continuation.resume() } }
    }

    private func colors(_ name: String) throws -> [ColorSpace?] {
        try StoredRecording(reading: folder.file(name)).tracks.map(\.colorSpace)
    }

    private func described(_ name: String) async throws -> String {
        let program = try Program(
            "ffprobe",
            [
                "-v", "error", "-select_streams", "v", "-of", "csv=p=0", "-show_entries",
                "stream=color_range,color_space,color_transfer,color_primaries", folder.file(name),
            ])
        #expect(await program.exitCode() == 0, "\(program.text.errors)")
        return program.text.output
    }

    @Test func aFileSaysThemAsTheSenderDid() async throws {
        let recorder = try Recorder(to: .file(folder.file("a.webm")))
        try recorder.start(EncodedMediaFormat(video: .vp8, audio: [])) { _ in }
        var source = Source(recorder)
        for index in 0..<30 { source.frame(Self.full, isKeyframe: index == 0) }
        await close(recorder)
        #expect(try colors("a.webm") == [Self.full])
        #expect(try await described("a.webm") == "pc,smpte170m,iec61966-2-1,bt709\n")
        // A part of it, and both joined.
        _ = try RecordingEditor.trim(
            folder.file("a.webm"), from: .milliseconds(300), to: nil, isExact: true,
            destination: .file(folder.file("part.webm")))
        #expect(try colors("part.webm") == [Self.full])
        _ = try RecordingEditor.join(
            [folder.file("a.webm"), folder.file("part.webm")], title: nil, destination: .file(folder.file("reel.webm"))
        )
        #expect(try colors("reel.webm") == [Self.full])
    }

    @Test func aFileOfASenderThatSaysNothingSaysNothing() async throws {
        let recorder = try Recorder(to: .file(folder.file("a.webm")))
        try recorder.start(EncodedMediaFormat(video: .vp8, audio: [])) { _ in }
        var source = Source(recorder)
        for index in 0..<10 { source.frame(index % 2 == 0 ? nil : ColorSpace(), isKeyframe: index % 5 == 0) }
        await close(recorder)
        #expect(try colors("a.webm") == [nil])
        #expect(throws: RecordingFileFailure.self) { try RecordedFileSource(folder.file("a-2.webm")) }
    }

    /// A file has one colour space, so others need another file. The key frame for it is asked for.
    @Test func otherColoursBeginAnotherFile() async throws {
        let recorder = try Recorder(to: .file(folder.file("a.webm")))
        let requests = Monitor(0)
        try recorder.start(EncodedMediaFormat(video: .vp8, audio: [])) { _ in requests.change { $0 += 1 } }
        var source = Source(recorder)
        for index in 0..<10 { source.frame(nil, isKeyframe: index == 0) }
        for _ in 0..<10 { source.frame(Self.full, isKeyframe: false) }
        requests.wait { $0 > 0 ? () : nil }
        for index in 0..<10 { source.frame(Self.full, isKeyframe: index == 0) }
        await close(recorder)
        #expect(try colors("a.webm") == [nil])
        #expect(try colors("a-2.webm") == [Self.full])
    }

    /// A sender that changes them with each key frame fills no folder.
    @Test func aSenderThatChangesThemAllTheTimeMakesFewFiles() async throws {
        let recorder = try Recorder(to: .file(folder.file("a.webm")))
        try recorder.start(EncodedMediaFormat(video: .vp8, audio: [])) { _ in }
        var source = Source(recorder)
        for index in 0..<2_000 { source.frame(ColorSpace(matrix: UInt8(index % 15), range: .full)) }
        await close(recorder)
        let files = ["a.webm"] + (2...17).map { "a-\($0).webm" }
        let frames = try files.map { try MatroskaFile(RecordedFileSource(folder.file($0))).payloads(1).count }
        #expect(frames.reduce(0, +) == 2_000)
        #expect(throws: RecordingFileFailure.self) { try RecordedFileSource(folder.file("a-18.webm")) }
    }

    @Test func aClipHasThoseOfItsFirstFrame() async throws {
        let clips = ClipBuffer(length: .seconds(10))
        try clips.start(EncodedMediaFormat(video: .vp8, audio: [])) { _ in }
        var source = Source(clips)
        source.frame(Self.full)
        for _ in 0..<20 { source.frame(Self.full, isKeyframe: false) }
        _ = try clips.export(to: .file(folder.file("clip.webm")))
        #expect(try colors("clip.webm") == [Self.full])
        await close(clips)
    }
}
