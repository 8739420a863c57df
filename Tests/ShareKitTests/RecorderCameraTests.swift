import CameraCapture
import LinuxRuntime
import MediaCore
import TestSupport
import Testing

@testable import ShareKit

/// The camera in an app's frames.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct RecorderCameraTests {
    /// 64 x 48 pixels, of which the camera has 16 x 12 at the lower right.
    private func source(_ bed: CameraBed) throws -> ApplicationSource {
        let source = try ApplicationSource(name: "Budget", width: 64, height: 48)
        var search = CameraSearch()
        search.socket = bed.socket
        search.devices = "/nonexistent"
        source.camera.feed.choose(.init(), in: search)
        return source
    }

    private func recorder(
        _ source: ApplicationSource, confirm: @escaping ScreenRecorder.Confirmation = { _ in true }
    ) -> ScreenRecorder {
        ScreenRecorder(source, framesPerSecond: 240, makeMicrophone: { FakeMicrophone() }, confirm: confirm)
    }

    @Test func cameraIsInTheFramesMovesAndGoes() async throws {
        let bed = try CameraBed()
        try bed.plug("a", ["colour=ffffff"])
        try bed.plug("b", ["colour=000000"])
        let (source, collector) = (try source(bed), SampleCollector())
        let recorder = recorder(source)
        recorder.cameraPreview.place = .point(x: 999, y: 999)
        try source.fill(128)
        try await recorder.setCameraEnabled(true)
        #expect(recorder.isCameraEnabled)
        try await recorder.startCapture { collector.add($0) }
        // The upper left corner is the app's, the lower right one the camera's.
        #expect(await collector.wait { $0.video.last.map { $0.luma[1] > 225 && $0.luma[0] < 200 } == true })
        recorder.cameraPreview.place = .topLeft
        recorder.cameraPreview.widthPercent = 100
        #expect(await collector.wait { $0.video.last?.luma.allSatisfy { $0 > 225 } == true })
        recorder.cameraPosition = .back
        #expect(recorder.cameraPosition == .back)
        #expect(await collector.wait { $0.video.last?.luma.allSatisfy { $0 < 25 } == true })
        try await recorder.setCameraEnabled(false)
        #expect(await collector.wait { $0.video.last?.luma.allSatisfy { $0 > 100 && $0 < 200 } == true })
        #expect(bed.camera("b", says: "idle"))
        await recorder.stopCapture()
    }

    @Test func cameraThatGoesIsReportedAndComesBack() async throws {
        let bed = try CameraBed()
        try bed.plug("a", ["colour=ffffff"])
        let (source, collector) = (try source(bed), SampleCollector())
        let recorder = recorder(source)
        try source.fill(128)
        recorder.cameraPreview.widthPercent = 100
        try await recorder.setCameraEnabled(true)
        try await recorder.startCapture { collector.add($0) }
        #expect(await collector.wait { $0.video.last.map { $0.luma[1] > 225 } == true })
        bed.unplug("a")
        #expect(await collector.wait { $0.video.last.map { $0.luma[1] < 200 } == true })
        for await state in recorder.changes where state.failure?.code == .noCamera { break }
        try bed.plug("a", ["colour=ffffff"])
        #expect(await collector.wait { $0.video.last.map { $0.luma[1] > 225 } == true })
        for await state in recorder.changes where state.failure == nil { break }
        await recorder.stopCapture()
    }

    @Test func userIsAskedForTheCameraOnce() async throws {
        let bed = try CameraBed()
        try bed.plug("a")
        let requests = Monitor<[ScreenRecorder.Request]>([])
        let isAllowed = Monitor(false)
        let recorder = recorder(try source(bed)) { request in
            requests.change { $0.append(request) }
            return isAllowed.with { $0 }
        }
        await #expect { try await recorder.setCameraEnabled(true) } throws: {
            ($0 as? ShareKitError)?.code == .declined
        }
        #expect(!recorder.isCameraEnabled)
        isAllowed.with { $0 = true }
        for _ in 0..<2 { try await recorder.setCameraEnabled(true) }
        #expect(requests.with { $0.map(\.withCamera) } == [true, true])
    }

    @Test func withoutACameraTheReasonIsThrown() async throws {
        let bed = try CameraBed()
        let recorder = recorder(try source(bed))
        await #expect { try await recorder.setCameraEnabled(true) } throws: {
            ($0 as? ShareKitError)?.code == .noCamera
        }
        #expect(!recorder.isCameraEnabled)
    }
}
