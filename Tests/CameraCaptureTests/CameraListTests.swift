import Foundation
import MediaCore
import TestSupport
import Testing

@testable import CameraCapture

extension CameraTests {
    @Suite struct CameraListTests {
        @Test func camerasOfPipeWireAreListedWithNumbers() throws {
            let bed = try CameraBed()
            try bed.plug("b cam")
            try bed.plug("a cam")
            let cameras = try CameraDevice.all(CameraSearch(bed))
            #expect(cameras.map(\.name) == ["a cam", "b cam"])
            #expect(cameras.map(\.number) == [0, 1])
            #expect(CameraDevice.first(.name("B CAM"), of: cameras)?.number == 1)
            #expect(CameraDevice.first(.number(2), of: cameras) == nil)
        }

        @Test func withoutACameraTheReasonIsSaid() throws {
            let bed = try CameraBed()
            #expect { try CameraDevice.all(CameraSearch(bed)) } throws: {
                ($0 as? SourceFailure)?.message == "there is no camera: PipeWire has none, and /nonexistent has none"
            }
            bed.endPipeWire()
            #expect { try CameraDevice.all(CameraSearch(bed)) } throws: {
                ($0 as? SourceFailure)?.message.contains("PipeWire does not run") == true
            }
        }

        @Test func devicesThatAreNoCamerasAreLeftOut() throws {
            let folder = try TemporaryFolder()
            for name in ["video0", "video", "videox", "video-1", "null"] {
                try Data("none".utf8).write(to: URL(fileURLWithPath: folder.file(name)))
            }
            try FileManager.default.createSymbolicLink(
                atPath: folder.file("video1"), withDestinationPath: "/dev/null")
            #expect(V4L2Camera.devices(in: folder.path).isEmpty)
            #expect(V4L2Camera.devices(in: folder.file("missing")).isEmpty)
            #expect { try V4L2Camera(folder.file("video7"), about: PixelSize(width: 640, height: 480)) } throws: {
                ($0 as? SourceFailure)?.message == "it was unplugged"
            }
            #expect { try V4L2Camera(folder.file("video1"), about: PixelSize(width: 640, height: 480)) } throws: {
                ($0 as? SourceFailure)?.message.contains("errno") == true
            }
        }

        @Test func formatsHaveTheKernelsCodes() {
            #expect(V4L2Camera.fourCC("YUYV") == 0x5659_5559)
            #expect(V4L2Camera.fourCC("MJPG") == 0x4750_4a4d)
        }
    }

    @Suite struct CameraScreenTests {
        @Test func cameraIsTheWholePicture() throws {
            let bed = try CameraBed()
            try bed.plug("desk", ["size=642x480"])
            let watcher = CameraWatcher(try CameraScreen(try CameraFeed(bed, isWhole: true)))
            #expect(watcher.screen.size == PixelSize(width: 642, height: 480))
            #expect(watcher.screen.summary == "the camera desk, 642 x 480")
            #expect(try watcher.sees(0xc02020, x: 10, y: 10))
            #expect(watcher.shows(0xe0e0e0, x: 630, y: 470))
            bed.unplug("desk")
            try bed.plug("desk", ["size=320x240", "colour=20c020"])
            #expect(try watcher.sees(0x20c020, x: 310, y: 230))
            #expect(watcher.canvas.size == PixelSize(width: 320, height: 240))
        }

        @Test func missingCameraIsSaid() throws {
            let bed = try CameraBed()
            try bed.plug("desk")
            #expect { try CameraScreen(try CameraFeed(bed, .init(front: .number(3)), isWhole: true)) } throws: {
                ($0 as? SourceFailure)?.message == "there is no camera 3"
            }
        }
    }
}
