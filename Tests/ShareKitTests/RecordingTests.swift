import Foundation
import LinuxRuntime
import MediaCore
import TestSupport
import Testing

@testable import Admission
@testable import Identity
@testable import ShareKit
@testable import ShareKitTutorial

/// Files and clips that an app records of itself.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct RecordingTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func source() throws -> ApplicationSource {
        try ApplicationSource(name: "Budget", width: 64, height: 48, hasAudio: true)
    }

    private func recorder(
        _ source: ApplicationSource, _ microphone: FakeMicrophone = FakeMicrophone(),
        broadcasts: AsyncStream<Bool>? = nil, confirm: @escaping ScreenRecorder.Confirmation = { _ in true }
    ) -> ScreenRecorder {
        ScreenRecorder(
            source, framesPerSecond: 60, makeMicrophone: { microphone }, systemBroadcasts: broadcasts, confirm: confirm)
    }

    /// Draws and plays for so long, from a thread of its own.
    private func perform(_ source: ApplicationSource, seconds: Double) async {
        let player = NamedThread("player") {
            let tone = (0..<960).map { Int16($0 % 192 < 96 ? 12_000 : -12_000) }
            let begin = MonotonicClock.now
            let end = Monitor(false)
            for step in 1...Int(seconds * 100) {
                if step % 5 == 0 { try? source.fill(UInt8(truncatingIfNeeded: step)) }
                tone.withUnsafeBufferPointer { source.submitAudio($0) }
                // The app's own clock.
                _ = end.wait(until: begin + .milliseconds(step * 10)) { $0 ? () : nil }
            }
        }
        await player.ended()
    }

    private func probe(_ path: String) throws -> (streams: [String], duration: Double, errors: String) {
        let probe = try Program(
            "ffprobe", ["-v", "error", "-show_entries", "stream=codec_name:format=duration", "-of", "csv=p=0", path])
        #expect(probe.exitCode(seconds: 30) == 0)
        let lines = probe.text.output.split(separator: "\n").map { String($0) }
        let decoder = try Program(
            "ffmpeg",
            [
                "-v", "error", "-nostdin", "-i", path, "-fps_mode", "passthrough", "-enc_time_base", "1:1000", "-f",
                "null", "-",
            ])
        #expect(decoder.exitCode(seconds: 30) == 0)
        return (Array(lines.dropLast()), lines.last.flatMap { Double($0) } ?? 0, decoder.text.errors)
    }

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// What an app saves is where its user looks for recordings.
    @Test func clipsAndSavedRecordingsAreListed() async throws {
        let list = UserRecordings(folder: folder.file("data"))
        let source = try source()
        let recorder = ScreenRecorder(
            source, framesPerSecond: 60, makeMicrophone: { FakeMicrophone() },
            recordings: StartedRecordings(list: list), confirm: { _ in true })
        try source.fill(0)
        try await recorder.startClipBuffering()
        await perform(source, seconds: 0.5)
        let clip = try await recorder.exportClip(to: folder.file("clip.webm"))
        await recorder.stopClipBuffering()
        try await recorder.startRecording(to: folder.file("whole.webm"))
        await perform(source, seconds: 0.5)
        let whole = try await recorder.stopRecording()
        _ = try await whole.trim(from: .milliseconds(100), path: folder.file("part.webm"))
        let entries = try await list.all()
        #expect(Set(entries.map(\.path)) == Set(["clip", "whole", "part"].map { folder.file($0 + ".webm") }))
        #expect(entries.allSatisfy { $0.title == "Budget" && $0.exists && $0.duration != nil })
        let entry = try #require(entries.first { $0.path == clip.path })
        #expect(try await list.recording(entry).byteCount == clip.byteCount)
        try await list.forget(entry)
        #expect(try await list.all().count == 2 && exists(clip.path))
    }

    /// By a link, to whom the owner accepts, and once.
    @Test func aRecordingIsGivenAwayOnce() async throws {
        let source = try source()
        let recorder = recorder(source)
        try source.fill(0)
        try await recorder.startRecording(to: folder.file("a.webm"))
        await perform(source, seconds: 0.3)
        let recording = try await recorder.stopRecording()
        let answers = Monitor([false, true])
        let offer = try await RecordingOffer(
            path: recording.path, once: true, duration: .seconds(60), host: "127.0.0.1", port: 0, linkHost: "127.0.0.1",
            identity: .ephemeral()
        ) { request in
            #expect(request.address == "127.0.0.1" && request.program == "unknown")
            return answers.with { $0.removeFirst() }
        }
        func get(_ jar: String, _ path: String = "", _ more: [String] = []) throws -> String {
            let curl = try Program(
                "curl", ["-sk", "-A", "", "-b", folder.file(jar), "-c", folder.file(jar)] + more + [offer.url + path])
            #expect(curl.exitCode(seconds: 20) == 0)
            return curl.text.output
        }
        func get(_ jar: String, until text: String) throws -> Bool {
            for _ in 0..<200 where try get(jar).contains(text) { return true }
            return false
        }
        #expect(try get("nobody", "file").contains("Open the link again"))
        #expect(try get("one", until: "said no"))
        #expect(try get("one", "file").contains("Open the link again"))
        #expect(try get("two", until: "a.webm"))
        _ = try get("two", "file", ["-o", folder.file("copy.webm")])
        let copy = try Data(contentsOf: URL(fileURLWithPath: folder.file("copy.webm")))
        #expect(try copy == Data(contentsOf: URL(fileURLWithPath: recording.path)))
        #expect(try get("two").contains("given away already"))
        var events: [RecordingOffer.Event] = []
        for await event in offer.events { events.append(event) }
        #expect(events == [.sent(address: "127.0.0.1"), .ended])
        await offer.close()
    }

    @Test func anAppRecordsItselfAndTrimsTheRecording() async throws {
        let source = try source()
        let requests = Monitor<[ScreenRecorder.Request]>([])
        let recorder = recorder(source) { request in
            requests.change { $0.append(request) }
            return true
        }
        try source.fill(0)
        let path = folder.file("a.webm")
        try await recorder.startRecording(to: path)
        #expect(recorder.isRecording && source.isCaptured)
        // One capture of a source at a time.
        let second = await #expect(throws: ShareKitError.self) { try await recorder.startCapture { _ in } }
        #expect(second?.code == .alreadyStarted)
        await perform(source, seconds: 2)
        let recording = try await recorder.stopRecording()
        #expect(!recorder.isRecording && !source.isCaptured)
        #expect(requests.with { $0 } == [.init(application: "Budget", withMicrophone: false)])
        #expect(recording.path == path && recording.duration > .seconds(1.8) && recording.byteCount > 1_000)
        let content = try probe(path)
        // Without a track of the microphone, which was never switched on.
        #expect(content.streams == ["vp8", "opus"] && content.duration > 1.8)
        #expect(content.errors == "")

        let part = try await recording.trim(from: .seconds(0.5), to: .seconds(1.5))
        #expect(part.path == folder.file("a-part.webm") && part.duration == .seconds(1))
        let both = try await Recording.join([part, recording], path: folder.file("both.webm"))
        #expect(both.duration >= recording.duration + .milliseconds(990))
        let joined = try probe(both.path)
        #expect(joined.errors == "")
        await #expect(throws: ShareKitError.self) { _ = try await recording.trim(from: .seconds(60)) }

        try part.save(to: folder.file("kept.webm"))
        #expect(part.path == folder.file("kept.webm") && exists(part.path) && !exists(folder.file("a-part.webm")))
        #expect(throws: ShareKitError.self) { try both.save(to: part.path) }
        #expect(exists(both.path))
        both.discard()
        #expect(!exists(both.path))
    }

    @Test func theMicrophoneIsATrackThatCanBeSwitched() async throws {
        let (source, microphone) = (try source(), FakeMicrophone())
        let recorder = recorder(source, microphone)
        try await recorder.setMicrophoneEnabled(true)
        try source.fill(0)
        let path = folder.file("a.webm")
        try await recorder.startRecording(to: path)
        #expect(recorder.isMicrophoneEnabled)
        await perform(source, seconds: 0.3)
        // Without a sample it would have no track in the file.
        for _ in 0..<10 { microphone.emit(12_000) }
        await perform(source, seconds: 0.2)
        try await recorder.setMicrophoneEnabled(false)
        #expect(!recorder.isMicrophoneEnabled && recorder.isRecording)
        await perform(source, seconds: 0.3)
        _ = try await recorder.stopRecording()
        #expect(try probe(path).streams == ["vp8", "opus", "opus"])
    }

    @Test func theTutorialKeepsTheLastSecond() async throws {
        let sheet = try Sheet()
        try sheet.fill(.init(x: 0, y: 0, width: 100, height: 100), grey: 255)
        let path = folder.file("end.webm")
        let end = try await record(sheet, to: path, confirm: { _ in true }) {
            for await isCaptured in sheet.source.captureChanges where isCaptured { break }
            for step in 0..<20 {
                try? sheet.fill(.init(x: 0, y: 0, width: 100, height: 100), grey: UInt8(step * 10))
                // The app's own pace.
                try? await Task.sleep(for: .milliseconds(80))
            }
        }
        #expect(end.path == path && end.duration >= .milliseconds(900) && end.duration <= .milliseconds(1_050))
        #expect(try probe(path).errors == "")
    }

    @Test func aRecordingWithoutAPathIsRemovedByTheNextOneUnlessItWasSaved() async throws {
        let source = try source()
        let recorder = recorder(source)
        var paths: [String] = []
        for index in 0..<3 {
            try source.fill(UInt8(index * 40))
            try await recorder.startRecording()
            await perform(source, seconds: 0.3)
            let recording = try await recorder.stopRecording()
            paths.append(recording.path)
            if index == 1 { try recording.save(to: folder.file("saved.webm")) }
        }
        #expect(!exists(paths[0]) && !exists(paths[1]) && exists(paths[2]))
        #expect(exists(folder.file("saved.webm")))
        unlink(paths[2])
    }

    @Test func aDiscardedRecordingLeavesNothing() async throws {
        let source = try source()
        let recorder = recorder(source)
        try source.fill(0)
        try await recorder.startRecording(to: folder.file("a.webm"))
        await perform(source, seconds: 0.3)
        await recorder.discardRecording()
        #expect(!exists(folder.file("a.webm")) && !recorder.isRecording && !source.isCaptured)
        let none = await #expect(throws: ShareKitError.self) { _ = try await recorder.stopRecording() }
        #expect(none?.code == .notRunning)
        await recorder.discardRecording()
    }

    @Test func aSystemBroadcastEndsAndDiscardsARecording() async throws {
        let (broadcasts, feed) = AsyncStream.makeStream(of: Bool.self)
        let source = try source()
        let recorder = recorder(source, broadcasts: broadcasts)
        try source.fill(0)
        try await recorder.startRecording(to: folder.file("a.webm"))
        await perform(source, seconds: 0.3)
        feed.yield(true)
        for await state in recorder.changes where !state.isRecording { break }
        let interrupted = await #expect(throws: ShareKitError.self) { _ = try await recorder.stopRecording() }
        #expect(interrupted?.code == .interrupted)
        #expect(!exists(folder.file("a.webm")) && !recorder.isAvailable)
    }

    @Test func aFileThatIsThereIsKeptAndNothingIsCaptured() async throws {
        let path = folder.file("mine.webm")
        try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
        let source = try source()
        let recorder = recorder(source)
        await #expect(throws: ShareKitError.self) { try await recorder.startRecording(to: path) }
        #expect(!recorder.isRecording && !source.isCaptured)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
        let declining = self.recorder(source) { _ in false }
        let declined = await #expect(throws: ShareKitError.self) {
            try await declining.startRecording(to: folder.file("b.webm"))
        }
        #expect(declined?.code == .declined && !exists(folder.file("b.webm")))
    }

    @Test func clipsAreTheLastSeconds() async throws {
        let source = try source()
        let recorder = recorder(source)
        await #expect(throws: ShareKitError.self) { try await recorder.exportClip(to: folder.file("none.webm")) }
        try source.fill(0)
        try await recorder.startClipBuffering(duration: .seconds(5))
        #expect(recorder.isRecording)
        // No other recording while clips are kept.
        await #expect(throws: ShareKitError.self) { try await recorder.startRecording(to: folder.file("a.webm")) }
        await perform(source, seconds: 1.5)
        let clip = try await recorder.exportClip(to: folder.file("clip.webm"), duration: .seconds(1))
        #expect(clip.duration == .seconds(1))
        #expect(try probe(clip.path).errors == "")
        let all = try await recorder.exportClip(to: folder.file("all.webm"))
        #expect(all.duration > .seconds(1.4))
        await #expect(throws: ShareKitError.self) { try await recorder.exportClip(to: clip.path) }
        await recorder.stopClipBuffering()
        #expect(!recorder.isRecording && !source.isCaptured)
        await #expect(throws: ShareKitError.self) { try await recorder.exportClip(to: folder.file("late.webm")) }
    }
}
