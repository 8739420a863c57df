import LinuxRuntime
import MediaCore
import Testing

@testable import ShareKit

/// Apps that change what they hand in while they are captured.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct CapturedAppTests {
    private func source() throws -> ApplicationSource {
        try ApplicationSource(name: "Budget", width: 64, height: 48, hasAudio: true)
    }

    private func recorder(_ source: ApplicationSource) -> ScreenRecorder {
        ScreenRecorder(source, framesPerSecond: 240, makeMicrophone: { FakeMicrophone() }) { _ in true }
    }

    @Test func sizeStrideAndFormChangeInTheMiddle() async throws {
        let (source, collector) = (try source(), SampleCollector())
        let recorder = recorder(source)
        try source.fill(255)
        try await recorder.startCapture { collector.add($0) }
        #expect(await collector.wait { $0.video.last?.luma == [235, 235] })
        // Larger and odd, with a stride of its own.
        let pixels = [UInt8](repeating: 0, count: 600 * 81)
        try pixels.withUnsafeBytes {
            try source.submit(pixels: try #require($0.baseAddress), stride: 600, width: 101, height: 81)
        }
        #expect(await collector.wait { $0.video.last.map { ($0.width, $0.height) == (100, 80) } ?? false })
        #expect(await collector.wait { $0.video.last?.luma == [16, 16] })
        // Planes, of the first size.
        let plane = [UInt8](repeating: 99, count: 80 * 48)
        try plane.withUnsafeBufferPointer { plane in
            let base = try #require(plane.baseAddress)
            try source.submit(y: base, u: base, v: base, strideY: 80, strideC: 40, width: 64, height: 48)
        }
        #expect(await collector.wait { $0.video.last.map { $0.width == 64 && $0.luma == [99, 99] } ?? false })
        // BGRA of the same size, and as small as it may be.
        try source.fill(0)
        #expect(await collector.wait { $0.video.last?.luma == [16, 16] })
        try source.fill(255, width: 2, height: 2)
        #expect(await collector.wait { $0.video.last.map { $0.width == 2 && $0.luma == [235, 235] } ?? false })
        await recorder.stopCapture()
    }

    @Test func anAppThatDoesNotDrawCausesNoFramesAndItsAudioGoesOn() async throws {
        let (source, collector) = (try source(), SampleCollector())
        let recorder = recorder(source)
        try await recorder.startCapture { collector.add($0) }
        // Before the first frame there is none.
        source.submitAudio(1, packets: 10)
        #expect(await collector.wait { $0.application.count == 10 })
        #expect(collector.content.with { $0.video.isEmpty })
        try source.fill(50)
        #expect(await collector.wait { $0.video.count == 1 })
        // The same frame again is no frame.
        try source.fill(50)
        source.submitAudio(1, packets: 10)
        #expect(await collector.wait { $0.application.count == 20 })
        try source.fill(255)
        #expect(await collector.wait { $0.video.last?.luma == [235, 235] })
        #expect(collector.content.with { $0.video.count } == 2)
        await recorder.stopCapture()
    }

    @Test func badFramesAreErrorsAndTheLastOneStays() async throws {
        let (source, collector) = (try source(), SampleCollector())
        let recorder = recorder(source)
        try source.fill(255)
        try await recorder.startCapture { collector.add($0) }
        #expect(await collector.wait { $0.video.count == 1 })
        let bytes = [UInt8](repeating: 0, count: 64)
        try bytes.withUnsafeBufferPointer { bytes in
            let base = try #require(bytes.baseAddress)
            let failures = [
                #expect(throws: ShareKitError.self) {
                    try source.submit(pixels: base, stride: 12, width: 4, height: 4)
                },
                #expect(throws: ShareKitError.self) {
                    try source.submit(y: base, u: base, v: base, strideY: 4, strideC: 1, width: 4, height: 4)
                },
                #expect(throws: ShareKitError.self) {
                    try source.submit(pixels: base, stride: 8_193 * 4, width: 8_193, height: 2)
                },
                #expect(throws: ShareKitError.self) { _ = try SharedMemory(descriptor: -1) },
                #expect(throws: ShareKitError.self) { try source.draw(width: 0, height: 0) { _, _ in nil } },
            ]
            #expect(failures.allSatisfy { $0?.code == .badFrame })
        }
        // Damage beyond any frame is clipped.
        try source.draw(width: 64, height: 48) { pixels, stride in
            pixels.initializeMemory(as: UInt8.self, repeating: 0, count: stride * 48)
            return [
                .init(x: Int.min, y: Int.max, width: Int.max, height: Int.max),
                .init(x: 0, y: 0, width: Int.max, height: 48),
            ]
        }
        #expect(await collector.wait { $0.video.last?.luma == [16, 16] })
        #expect(collector.content.with { $0.video.count } == 2)
        await recorder.stopCapture()
    }

    /// An app hides what only its own user may see where it draws it.
    @Test func anAppMayAskWhileItDraws() async throws {
        let (source, collector) = (try source(), SampleCollector())
        let recorder = recorder(source)
        try await recorder.startCapture { collector.add($0) }
        try source.draw(width: 64, height: 48) { pixels, stride in
            pixels.initializeMemory(as: UInt8.self, repeating: source.isCaptured ? 0 : 255, count: stride * 48)
            return nil
        }
        #expect(await collector.wait { $0.video.first?.luma == [16, 16] })
        await recorder.stopCapture()
    }

    @Test func captureChangesReachEachReader() async throws {
        let source = try source()
        var readers = (0..<2).map { _ in source.captureChanges.makeAsyncIterator() }
        for index in readers.indices { #expect(await readers[index].next() == false) }
        let recorder = recorder(source)
        try await recorder.startCapture { _ in }
        for index in readers.indices { #expect(await readers[index].next() == true) }
        await recorder.stopCapture()
        for index in readers.indices { #expect(await readers[index].next() == false) }
    }
}
