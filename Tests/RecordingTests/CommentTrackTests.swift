import Foundation
import LinuxRuntime
import MediaCore
import TestSupport
import Testing

@testable import Recording

/// Comments beside a recording.
@Suite struct CommentTrackTests {
    private func at(_ milliseconds: Int) -> MediaInstant {
        MediaInstant(nanoseconds: 5_000_000_000) + .milliseconds(milliseconds)
    }

    private func comment(_ from: String?, _ text: String) throws -> BroadcastComment {
        try #require(BroadcastComment(from: from, text))
    }

    @Test func aCommentIsACueOfWebVTT() throws {
        let folder = try TemporaryFolder()
        let recording = folder.path + "/a.b/Ann.webm"
        try FileManager.default.createDirectory(atPath: folder.path + "/a.b", withIntermediateDirectories: false)
        let complaints = Monitor<[String]>([])
        let track = CommentTrack { text in complaints.with { $0.append(text) } }
        // Nothing is recorded yet.
        track.add(try comment("Ann", "early"), now: at(0))
        track.note(.started(path: recording), now: at(0))
        let file = folder.path + "/a.b/Ann.vtt"
        #expect(!FileManager.default.fileExists(atPath: file))
        track.add(try comment("Ann <3", "a --> b & c"), now: at(3_723_004))
        track.add(try comment(nil, "Welcome"), now: at(3_724_000))
        let expected = """
            WEBVTT

            01:02:03.004 --> 01:02:09.004
            <v Ann &lt;3>Ann &lt;3: a --&gt; b &amp; c

            01:02:04.000 --> 01:02:10.000
            <v Host>Host: Welcome


            """
        #expect(try String(contentsOfFile: file, encoding: .utf8) == expected)
        // The recording goes on in another file, and its time begins anew.
        track.note(.started(path: folder.path + "/second"), now: at(4_000_000))
        track.add(try comment(nil, "Again"), now: at(4_001_000))
        let second = try String(contentsOfFile: folder.path + "/second.vtt", encoding: .utf8)
        #expect(second.hasPrefix("WEBVTT\n\n00:00:01.000 --> 00:00:07.000\n"))
        track.note(.failed(RecordingFailure("full")), now: at(4_002_000))
        track.add(try comment(nil, "late"), now: at(4_003_000))
        #expect(try String(contentsOfFile: folder.path + "/second.vtt", encoding: .utf8) == second)
        #expect(complaints.with { $0.isEmpty })
    }

    @Test func aFileThatExistsIsKeptAndNamedOnce() throws {
        let folder = try TemporaryFolder()
        let file = folder.path + "/a.vtt"
        try "mine".write(toFile: file, atomically: false, encoding: .utf8)
        let complaints = Monitor<[String]>([])
        let track = CommentTrack { text in complaints.with { $0.append(text) } }
        track.note(.started(path: folder.path + "/a.webm"))
        for _ in 0..<2 { track.add(try comment("Ann", "Hello")) }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
        let complaint = "comments cannot be written to \(file): File exists"
        #expect(complaints.with { $0 } == [complaint])
    }
}
