import Foundation
import LinuxRuntime
import MediaCore
import Testing

@testable import Admission
@testable import Identity
@testable import ShareKit
@testable import ShareKitTutorial

/// Captures of an app's own frames and audio.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct ScreenRecorderTests {
    private func source() throws -> ApplicationSource {
        try ApplicationSource(name: "Budget", width: 64, height: 48, hasAudio: true)
    }

    private func recorder(
        _ source: ApplicationSource, _ microphone: FakeMicrophone = FakeMicrophone(),
        confirm: @escaping ScreenRecorder.Confirmation = { _ in true }
    ) -> ScreenRecorder {
        ScreenRecorder(source, framesPerSecond: 240, makeMicrophone: { microphone }, confirm: confirm)
    }

    @Test func framesAndAudioReachTheHandlerWithTimeStamps() async throws {
        let (source, collector) = (try source(), SampleCollector())
        let recorder = recorder(source)
        try source.fill(0)
        let begin = Duration(MonotonicClock.now)
        try await recorder.startCapture { collector.add($0) }
        #expect(recorder.isRecording && source.isCaptured)
        #expect(await collector.wait { $0.video.count == 1 })
        try source.fill(255)
        source.submitAudio(77, packets: 3)
        #expect(await collector.wait { $0.video.count == 2 && $0.application.count == 3 })
        await recorder.stopCapture()
        #expect(!recorder.isRecording && !source.isCaptured)
        let content = collector.content.with { $0 }
        #expect(content.video.map(\.luma) == [[16, 16], [235, 235]])
        #expect(content.video.allSatisfy { $0.width == 64 && $0.height == 48 })
        #expect(content.application.map(\.samples) == Array(repeating: [Int16](repeating: 77, count: 960), count: 3))
        let times = content.video.map(\.time) + content.application.map(\.time)
        #expect(times.allSatisfy { $0 >= begin && $0 < begin + .seconds(20) })
        #expect(content.video[0].time < content.video[1].time)
        let steps = zip(content.application, content.application.dropFirst()).map { $1.time - $0.time }
        #expect(steps == [.milliseconds(10), .milliseconds(10)])
    }

    @Test func samplesComeAsASequence() async throws {
        let sheet = try Sheet()
        try sheet.fill(.init(x: 0, y: 0, width: 100, height: 100), grey: 255)
        let corners = Task { try await capture(sheet, frames: 2) { $0.application == "Sheet" } }
        for await isCaptured in sheet.source.captureChanges where isCaptured { break }
        let isOver = Monitor(false)
        let drawing = Task.detached {
            var grey: UInt8 = 0
            while !isOver.with({ $0 }) {
                try sheet.fill(.init(x: 0, y: 0, width: 100, height: 100), grey: grey)
                grey = 255 - grey
                await Task.yield()
            }
        }
        let values = try await corners.value
        isOver.change { $0 = true }
        try await drawing.value
        #expect(values.count == 2 && values.allSatisfy { [16, 235].contains($0) })
        #expect(!sheet.source.isCaptured)
    }

    // MARK: Consent

    @Test func theUserIsAskedOnceAndAgainAfterARefusal() async throws {
        let source = try source()
        let (answers, requests) = (Monitor([false, true]), Monitor<[ScreenRecorder.Request]>([]))
        let recorder = recorder(source) { request in
            requests.change { $0.append(request) }
            return answers.with { $0.removeFirst() }
        }
        let refusal = await #expect(throws: ShareKitError.self) { try await recorder.startCapture { _ in } }
        #expect(refusal?.code == .declined)
        #expect(!recorder.isRecording && !source.isCaptured)
        for _ in 0..<2 {
            try await recorder.startCapture { _ in }
            await recorder.stopCapture()
        }
        #expect(
            requests.with { $0 } == Array(repeating: .init(application: "Budget", withMicrophone: false), count: 2))
    }

    @Test func nothingIsCapturedWhileTheUserIsAsked() async throws {
        let source = try source()
        try source.fill(255)
        let (asked, collector) = (Monitor<CheckedContinuation<Bool, Never>?>(nil), SampleCollector())
        let recorder = recorder(source) { _ in
            await withCheckedContinuation { continuation in asked.change { $0 = continuation } }
        }
        let starting = Task { try await recorder.startCapture { collector.add($0) } }
        #expect(await isTrue(asked) { $0 != nil })
        #expect(!source.isCaptured && !recorder.isRecording && collector.content.with { $0.video.isEmpty })
        // A stop meanwhile holds, whatever the user answers.
        await recorder.stopCapture()
        asked.with { $0 }?.resume(returning: true)
        let failure = await #expect(throws: ShareKitError.self) { try await starting.value }
        #expect(failure?.code == .interrupted)
        #expect(!source.isCaptured && collector.content.with { $0.video.isEmpty })
    }

    // MARK: Several

    @Test func oneCaptureAtATime() async throws {
        let source = try source()
        let (first, second) = (recorder(source), recorder(source))
        try await first.startCapture { _ in }
        for recorder in [first, second] {
            let failure = await #expect(throws: ShareKitError.self) { _ = try await recorder.samples() }
            #expect(failure?.code == .alreadyStarted)
        }
        #expect(first.isRecording && !second.isRecording)
        await second.stopCapture()
        #expect(first.isRecording)
        await first.stopCapture()
        await first.stopCapture()
        try await second.startCapture { _ in }
        await second.stopCapture()
    }

    @Test func aCaptureAndABroadcastOfOneSourceGoOnTogether() async throws {
        let (source, collector) = (try source(), SampleCollector())
        try source.fill(255)
        var options = PeerBroadcast.Options()
        options.listenAddress = "127.0.0.1"
        let broadcast = try PeerBroadcast(source, options: options, identity: .ephemeral()) { _ in true }
        let received = Monitor<UInt8?>(nil)
        let viewer = try PeerViewer(
            link: try await broadcast.start(), name: "Ann", identity: .ephemeral(),
            onFrame: { frame in
                let luma = frame.y[0]
                received.change { $0 = luma }
            }, onAudio: nil)
        let running = Task { try await viewer.run() }
        #expect(await isTrue(received) { $0.map { $0 > 220 } ?? false })
        let recorder = recorder(source)
        try await recorder.startCapture { collector.add($0) }
        #expect(await collector.wait { $0.video.last?.luma == [235, 235] })
        try source.fill(0)
        #expect(await isTrue(received) { $0.map { $0 < 30 } ?? false })
        #expect(await collector.wait { $0.video.last?.luma == [16, 16] })
        await recorder.stopCapture()
        #expect(source.isCaptured)
        try source.fill(255)
        #expect(await isTrue(received) { $0.map { $0 > 220 } ?? false })
        viewer.leave()
        try await running.value
        await broadcast.finish()
        #expect(!source.isCaptured)
    }

    // MARK: Ends

    @Test func aSystemBroadcastTakesPrecedence() async throws {
        let source = try source()
        try source.fill(0)
        let (broadcasts, system) = AsyncStream.makeStream(of: Bool.self)
        let recorder = ScreenRecorder(
            source, framesPerSecond: 60, makeMicrophone: { FakeMicrophone() }, systemBroadcasts: broadcasts
        ) { _ in true }
        system.yield(false)
        let samples = try await recorder.samples()
        system.yield(true)
        let failure = await #expect(throws: ShareKitError.self) { for try await _ in samples {} }
        #expect(failure?.code == .interrupted)
        let ended = try #require(await state(of: recorder) { !$0.isRecording })
        #expect(!ended.isAvailable && ended.failure?.code == .interrupted)
        let refused = await #expect(throws: ShareKitError.self) { try await recorder.startCapture { _ in } }
        #expect(refused?.code == .interrupted)
        system.yield(false)
        _ = await state(of: recorder) { $0.isAvailable }
        await recorder.stopCapture()
        try await recorder.startCapture { _ in }
        #expect(recorder.isRecording)
        #expect(try await recorder.changes.first.failure == nil)
        await recorder.stopCapture()
    }

    @Test func aReaderThatIsCancelledEndsTheCapture() async throws {
        let source = try source()
        let recorder = recorder(source)
        let samples = try await recorder.samples()
        let reader = Task { for try await _ in samples {} }
        reader.cancel()
        try await reader.value
        _ = await state(of: recorder) { !$0.isRecording }
        await recorder.stopCapture()
        #expect(!source.isCaptured)
    }

    @Test func aReaderThatLeavesEndsTheCapture() async throws {
        let source = try source()
        try source.fill(0)
        do {
            // Neither the recorder nor the sequence is kept.
            for try await _ in try await recorder(source).samples() { break }
        }
        for await isCaptured in source.captureChanges where !isCaptured { break }
        #expect(!source.isCaptured)
    }

    @Test func aRecorderThatIsReleasedEndsItsCapture() async throws {
        let source = try source()
        var recorder: ScreenRecorder? = recorder(source)
        try await recorder?.startCapture { _ in }
        _ = await isTrueChange(source, true)
        recorder = nil
        #expect(await isTrueChange(source, false))
    }

    /// The tutorial shows each file of its code, and each file that it shows is compiled.
    @Test func theTutorialShowsTheCodeThatIsCompiled() throws {
        let catalog = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/ShareKit/ShareKit.docc").standardized
        let tutorial = try String(
            contentsOf: catalog.appending(path: "Capturing-and-Sharing.tutorial"), encoding: .utf8)
        let shown = tutorial.matches(of: /file: "([^"]+)"/).map { String($0.1) }
        let compiled = try FileManager.default.contentsOfDirectory(atPath: catalog.appending(path: "Code").path)
        #expect(shown.count == 9 && shown.sorted() == compiled.sorted())
    }

    private func isTrueChange(_ source: ApplicationSource, _ isCaptured: Bool) async -> Bool {
        for await value in source.captureChanges where value == isCaptured { return true }
        return false
    }
}

extension AsyncStream where Element: Sendable {
    /// The first element, which is there already.
    fileprivate var first: Element {
        get async throws {
            var iterator = makeAsyncIterator()
            return try #require(await iterator.next())
        }
    }
}
