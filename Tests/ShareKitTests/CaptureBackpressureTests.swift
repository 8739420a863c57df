import LinuxRuntime
import MediaCore
import Testing

@testable import ShareKit

/// Handlers that are slow, keep what they get, or run while the capture ends.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct CaptureBackpressureTests {
    /// A handler that blocks until a test lets it go on.
    private final class Gate: Sendable {
        private let isOpen: Monitor<Bool>
        let entered = Monitor(0)
        let left = Monitor(0)

        init(isOpen: Bool = false) { self.isOpen = Monitor(isOpen) }

        func pass() {
            entered.change { $0 += 1 }
            isOpen.wait { $0 ? () : nil }
            left.change { $0 += 1 }
        }

        func open() { isOpen.change { $0 = true } }
    }

    private func source() throws -> ApplicationSource {
        try ApplicationSource(name: "Budget", width: 64, height: 48, hasAudio: true)
    }

    private func recorder(_ source: ApplicationSource) -> ScreenRecorder {
        ScreenRecorder(source, framesPerSecond: 240, makeMicrophone: { FakeMicrophone() }) { _ in true }
    }

    @Test func aSlowHandlerGetsFewerFramesAndAllAudio() async throws {
        let (source, gate, collector) = (try source(), Gate(), SampleCollector())
        let recorder = recorder(source)
        try source.fill(0)
        try await recorder.startCapture { sample in
            gate.pass()
            collector.add(sample)
        }
        #expect(await isTrue(gate.entered) { $0 == 1 })
        for step in 1...200 {
            try source.fill(UInt8(step))
            source.submitAudio(Int16(step), packets: 2)
        }
        gate.open()
        #expect(await collector.wait { $0.application.count == 400 && $0.video.last?.luma[0] == 188 })
        await recorder.stopCapture()
        let content = collector.content.with { $0 }
        #expect(content.application.map { $0.samples[0] } == (1...200).flatMap { [Int16($0), Int16($0)] })
        // One waited while the handler was blocked; beyond that as many as it took.
        #expect(content.video.count < 200)
        for (a, b) in zip(content.video, content.video.dropFirst()) { #expect(a.time < b.time) }
    }

    @Test func audioThatWaitsForTenSecondsEndsTheCapture() async throws {
        let (source, gate) = (try source(), Gate())
        let recorder = recorder(source)
        try await recorder.startCapture { _ in gate.pass() }
        source.submitAudio(1, packets: 1)
        #expect(await isTrue(gate.entered) { $0 == 1 })
        while recorder.isRecording {
            source.submitAudio(1, packets: 100)
            await Task.yield()
        }
        let state = try #require(await state(of: recorder) { !$0.isRecording })
        #expect(state.failure?.code == .overrun)
        // The source is free when the handler has returned, and not before.
        let refused = await #expect(throws: ShareKitError.self) { try await recorder.startCapture { _ in } }
        #expect(refused?.code == .alreadyStarted)
        gate.open()
        await recorder.stopCapture()
        // The samples that waited were dropped.
        #expect(gate.left.with { $0 } == 1)
        try await recorder.startCapture { _ in }
        await recorder.stopCapture()
    }

    @Test func aSequenceThatIsNotReadEndsWithOverrun() async throws {
        let source = try source()
        let recorder = recorder(source)
        let samples = try await recorder.samples()
        while recorder.isRecording {
            source.submitAudio(1, packets: 100)
            await Task.yield()
        }
        let failure = await #expect(throws: ShareKitError.self) { for try await _ in samples {} }
        #expect(failure?.code == .overrun)
    }

    @Test func aStopWaitsForTheHandlerAndHandsOverWhatWaits() async throws {
        let (source, gate) = (try source(), Gate())
        let recorder = recorder(source)
        try await recorder.startCapture { _ in gate.pass() }
        source.submitAudio(1, packets: 5)
        #expect(await isTrue(gate.entered) { $0 == 1 })
        let isStopped = Monitor(false)
        let stopping = Task {
            await recorder.stopCapture()
            isStopped.change { $0 = true }
        }
        _ = await state(of: recorder) { !$0.isRecording }
        #expect(!isStopped.with { $0 } && gate.left.with { $0 } == 0)
        gate.open()
        await stopping.value
        let handled = gate.entered.with { $0 }
        #expect(gate.left.with { $0 } == handled)
        // Nothing is handed over after the stop.
        source.submitAudio(1, packets: 5)
        try source.fill(255)
        try await recorder.startCapture { _ in }
        await recorder.stopCapture()
        #expect(gate.entered.with { $0 } == handled)
    }

    @Test func aHandlerMayStopTheCapture() async throws {
        let source = try source()
        try source.fill(255)
        let recorder = recorder(source)
        let calls = Monitor(0)
        try await recorder.startCapture { [weak recorder] _ in
            calls.change { $0 += 1 }
            Task { await recorder?.stopCapture() }
        }
        _ = await state(of: recorder) { !$0.isRecording }
        await recorder.stopCapture()
        #expect(calls.with { $0 } == 1)
        #expect(!source.isCaptured)
    }

    @Test func discardedSamplesAreNotHandedOver() async throws {
        let (source, gate) = (try source(), Gate())
        let recorder = recorder(source)
        try await recorder.startCapture { _ in gate.pass() }
        source.submitAudio(1, packets: 200)
        #expect(await isTrue(gate.entered) { $0 == 1 })
        let discarding = Task { await recorder.discardCapture() }
        _ = await state(of: recorder) { !$0.isRecording }
        gate.open()
        await discarding.value
        #expect(gate.entered.with { $0 } == 1)
    }

    /// The memory of a frame that the app keeps is not written to, and keeps further frames away at three.
    @Test func framesThatTheAppKeepsStayAsTheyAre() async throws {
        let source = try source()
        let recorder = recorder(source)
        let (kept, packets) = (Monitor<[SampleBuffer]>([]), Monitor(0))
        try await recorder.startCapture { sample in
            if case .video = sample.content { kept.change { $0.append(sample) } } else { packets.change { $0 += 1 } }
        }
        for count in 1...3 {
            try source.fill(UInt8(count * 50))
            #expect(await isTrue(kept) { $0.count == count })
        }
        try source.fill(255)
        source.submitAudio(1, packets: 1)
        #expect(await isTrue(packets) { $0 == 1 })
        func luma(_ sample: SampleBuffer) -> UInt8? {
            if case .video(let planes) = sample.content { planes.y[0] } else { nil }
        }
        let levels = kept.with { $0.map(luma) }
        #expect(levels == [59, 102, 145])
        // One is released: the newest frame comes.
        let first = kept.change { $0.removeFirst() }
        withExtendedLifetime(first) {}
        _ = consume first
        #expect(await isTrue(kept) { $0.count == 3 })
        #expect(kept.with { $0.map(luma) } == [102, 145, 235])
        await recorder.stopCapture()
        // They outlive the capture.
        #expect(kept.with { $0.map(luma) } == [102, 145, 235])
    }
}
