import LinuxRuntime
import MediaCore
import TestSupport
import Testing

@testable import CameraCapture

extension CameraTests {
    /// The camera in the corner of a screen of 640 x 480: with a fifth of the width, 128 x 96 pixels.
    @Suite struct CameraOverlayTests {
        private static let size = PixelSize(width: 640, height: 480)
        /// The picture's place at the lower right.
        private static let corner = PixelRect(x: 496, y: 368, width: 128, height: 96)
        private static let (red, green, blue, white): (UInt32, UInt32, UInt32, UInt32) = (
            0xc02020, 0x20c020, 0x2020c0, 0xe0e0e0
        )

        private func showsQuarters(_ watcher: CameraWatcher, in rect: PixelRect) -> Bool {
            let (left, right, top, bottom) = (rect.x + 8, rect.maxX - 9, rect.y + 8, rect.maxY - 9)
            return watcher.shows(Self.red, x: left, y: top) && watcher.shows(Self.green, x: right, y: top)
                && watcher.shows(Self.blue, x: left, y: bottom) && watcher.shows(Self.white, x: right, y: bottom)
        }

        @Test func cameraIsInTheCornerAndTheRestIsTheScreen() throws {
            let bed = try CameraBed()
            try bed.plug("desk")
            let watcher = CameraWatcher(CameraOverlay(PaintedScreen(Self.size), try CameraFeed(bed)))
            #expect(try watcher.update { showsQuarters(watcher, in: Self.corner) })
            let grey = watcher.pixel(x: 10, y: 10)
            #expect(watcher.shows(grey, x: Self.corner.x - 1, y: Self.corner.y + 20))
            #expect(watcher.shows(grey, x: Self.corner.x + 20, y: Self.corner.y - 1))
            #expect(watcher.shows(grey, x: Self.corner.maxX, y: Self.corner.y + 20))
        }

        @Test func onlyWhatMovesInTheCameraIsChanged() throws {
            let bed = try CameraBed()
            try bed.plug("desk")
            let watcher = CameraWatcher(CameraOverlay(PaintedScreen(Self.size), try CameraFeed(bed)))
            #expect(try watcher.update { showsQuarters(watcher, in: Self.corner) })
            for _ in 0..<5 { try watcher.update() }
            watcher.changed.clear()
            for _ in 0..<10 { try watcher.update() }
            #expect(!watcher.changed.isEmpty)
            // The middle of the picture: 24 of its 96 rows.
            let middle = PixelRect(
                x: Self.corner.x + 32, y: Self.corner.y + 32, width: Self.corner.width - 64, height: 32)
            var allowed = BlockMap(Self.size)
            allowed.insert(middle)
            var rest = watcher.changed
            rest.subtract(allowed)
            #expect(rest.isEmpty)
        }

        @Test func screenUnderTheCameraIsThereWhenItMovesOrGoes() throws {
            let bed = try CameraBed()
            try bed.plug("desk", ["colour=20c020"])
            let (screen, feed) = (PaintedScreen(Self.size), try CameraFeed(bed))
            let watcher = CameraWatcher(CameraOverlay(screen, feed))
            #expect(try watcher.sees(Self.green, x: 560, y: 400))
            // The screen changes where the camera covers it, and beside.
            screen.paint(PixelRect(x: 480, y: 352, width: 64, height: 64), 200)
            #expect(try watcher.update { watcher.pixel(x: 482, y: 354) > 0xc0c0c0 })
            #expect(watcher.shows(Self.green, x: 500, y: 372))
            watcher.changed.clear()
            feed.change { $0.place = .topLeft }
            #expect(try watcher.sees(Self.green, x: 60, y: 60))
            #expect(watcher.pixel(x: 500, y: 372) > 0xc0c0c0)
            #expect(watcher.pixel(x: 600, y: 440) < 0x808080)
            var allowed = BlockMap(Self.size)
            allowed.insert(Self.corner)
            allowed.insert(PixelRect(x: 16, y: 16, width: 128, height: 96))
            watcher.changed.subtract(allowed)
            #expect(watcher.changed.isEmpty)
            feed.change { $0.isEnabled = false }
            #expect(try watcher.update { !watcher.shows(Self.green, x: 60, y: 60) })
            #expect(bed.camera("desk", says: "idle"))
            feed.change { $0.isEnabled = true }
            #expect(try watcher.sees(Self.green, x: 60, y: 60))
        }

        @Test func mirrorExchangesLeftAndRight() throws {
            let bed = try CameraBed()
            try bed.plug("desk")
            let feed = try CameraFeed(bed)
            let watcher = CameraWatcher(CameraOverlay(PaintedScreen(Self.size), feed))
            #expect(try watcher.update { showsQuarters(watcher, in: Self.corner) })
            feed.change { $0.isMirrored = true }
            #expect(try watcher.sees(Self.green, x: Self.corner.x + 8, y: Self.corner.y + 8))
            #expect(watcher.shows(Self.red, x: Self.corner.maxX - 9, y: Self.corner.y + 8))
            #expect(watcher.shows(Self.white, x: Self.corner.x + 8, y: Self.corner.maxY - 9))
        }

        @Test func otherCameraReplacesThePictureWithoutAGap() throws {
            let bed = try CameraBed()
            try bed.plug("a-front", ["colour=c02020"])
            try bed.plug("b-back", ["colour=2020c0"])
            let feed = try CameraFeed(bed)
            let watcher = CameraWatcher(CameraOverlay(PaintedScreen(Self.size), feed))
            #expect(try watcher.sees(Self.red, x: 560, y: 400))
            feed.change { $0.position = .back }
            var others: [UInt32] = []
            #expect(
                try watcher.update {
                    if watcher.shows(Self.blue, x: 560, y: 400) { return true }
                    if !watcher.shows(Self.red, x: 560, y: 400) { others.append(watcher.pixel(x: 560, y: 400)) }
                    return false
                })
            #expect(others.isEmpty)
            #expect(bed.camera("a-front", says: "idle"))
            #expect(feed.status.name == "b-back")
            feed.change { $0.position = .front }
            #expect(try watcher.sees(Self.red, x: 560, y: 400))
        }

        @Test func missingSecondCameraLeavesTheFirst() throws {
            let bed = try CameraBed()
            try bed.plug("desk", ["colour=c02020"])
            let reports = Monitor<[String]>([])
            let feed = try CameraFeed(bed, reports: reports)
            let watcher = CameraWatcher(CameraOverlay(PaintedScreen(Self.size), feed))
            #expect(try watcher.sees(Self.red, x: 560, y: 400))
            feed.change { $0.position = .back }
            #expect(try watcher.update { reports.with { $0.contains { $0.contains("no second camera") } } })
            #expect(watcher.shows(Self.red, x: 560, y: 400))
            try bed.plug("other", ["colour=2020c0"])
            #expect(try watcher.sees(Self.blue, x: 560, y: 400))
        }

        @Test func unpluggedCameraIsGoneAndComesBack() throws {
            let bed = try CameraBed()
            try bed.plug("desk", ["colour=c02020"])
            try bed.plug("other", ["colour=2020c0"])
            let reports = Monitor<[String]>([])
            let feed = try CameraFeed(bed, .init(front: .name("desk")), reports: reports)
            let watcher = CameraWatcher(CameraOverlay(PaintedScreen(Self.size), feed))
            #expect(try watcher.sees(Self.red, x: 560, y: 400))
            bed.unplug("desk")
            #expect(try watcher.update { !watcher.shows(Self.red, x: 560, y: 400) })
            #expect(try watcher.update { reports.with { $0.contains { $0.contains("the camera desk has gone") } } })
            // No other camera takes its place.
            #expect(!watcher.shows(Self.blue, x: 560, y: 400))
            try bed.plug("desk", ["colour=c02020"])
            #expect(try watcher.sees(Self.red, x: 560, y: 400))
            #expect(try watcher.update { reports.with { $0.last } == "the camera desk is in the picture" })
        }

        @Test func cameraComesBackWithPipeWire() throws {
            let bed = try CameraBed()
            try bed.plug("desk", ["colour=c02020"])
            let reports = Monitor<[String]>([])
            let watcher = CameraWatcher(
                CameraOverlay(PaintedScreen(Self.size), try CameraFeed(bed, reports: reports)))
            #expect(try watcher.sees(Self.red, x: 560, y: 400))
            bed.endPipeWire()
            #expect(try watcher.update { !watcher.shows(Self.red, x: 560, y: 400) })
            #expect(
                try watcher.update {
                    reports.with { $0.first?.contains("the camera desk has gone (PipeWire has ended)") } == true
                })
            try bed.startPipeWire()
            try bed.plug("desk", ["colour=c02020"])
            #expect(try watcher.sees(Self.red, x: 560, y: 400))
        }

        @Test func cameraThatIsUsedByOthersIsTriedAgain() throws {
            let bed = try CameraBed()
            try bed.plug("desk", ["dumb"])
            let reports = Monitor<[String]>([])
            let watcher = CameraWatcher(
                CameraOverlay(PaintedScreen(Self.size), try CameraFeed(bed, reports: reports)))
            #expect(
                try watcher.update {
                    reports.with { $0.contains { $0.contains("desk delivers no picture: another program may") } }
                })
            bed.unplug("desk")
            try bed.plug("desk", ["colour=c02020"])
            #expect(try watcher.sees(Self.red, x: 560, y: 400))
        }

        @Test(arguments: ["YUY2", "UYVY", "NV12", "I420", "BGRx", "RGBA", "RGB", "BGR"])
        func everyFormatIsTaken(format: String) throws {
            let bed = try CameraBed()
            try bed.plug("desk", ["format=\(format)"])
            let watcher = CameraWatcher(CameraOverlay(PaintedScreen(Self.size), try CameraFeed(bed)))
            #expect(try watcher.update { showsQuarters(watcher, in: Self.corner) })
        }

        @Test(arguments: [
            ("size=641x479", "format=YUY2"), ("size=322x242", "format=I420"), ("size=1279x721", "format=NV12"),
            ("size=33x21", "format=RGB"), ("size=640x480", "format=NV12 padding=64"), ("size=1920x1080", "format=BGRx"),
            ("size=640x480", "format=YUY2 fps=5"),
        ])
        func anySizeFits(size: String, rest: String) throws {
            let bed = try CameraBed()
            try bed.plug("desk", [size, "colour=c02020"] + rest.split(separator: " ").map(String.init))
            let watcher = CameraWatcher(CameraOverlay(PaintedScreen(Self.size), try CameraFeed(bed)))
            #expect(try watcher.sees(Self.red, x: 600, y: 450))
        }

        @Test func formatThatIsNotTakenIsSaid() throws {
            let bed = try CameraBed()
            try bed.plug("desk", ["format=P010"])
            let reports = Monitor<[String]>([])
            let watcher = CameraWatcher(
                CameraOverlay(PaintedScreen(Self.size), try CameraFeed(bed, reports: reports)))
            // A session manager that does not know the camera yet disconnects it once.
            #expect(
                try watcher.update {
                    reports.with { $0.contains { $0.contains("desk has no format that share takes") } }
                })
        }

        @Test func memoryThatCouldShrinkIsRead() throws {
            let bed = try CameraBed()
            try bed.plug("desk", environment: ["CAMERA_UNSEALED": "1"])
            let watcher = CameraWatcher(CameraOverlay(PaintedScreen(Self.size), try CameraFeed(bed)))
            #expect(try watcher.update { showsQuarters(watcher, in: Self.corner) })
        }

        @Test func screenOfAnotherSizeHasTheCameraInItsCorner() throws {
            let bed = try CameraBed()
            try bed.plug("desk", ["colour=c02020"])
            let screen = PaintedScreen(Self.size)
            let watcher = CameraWatcher(CameraOverlay(screen, try CameraFeed(bed)))
            #expect(try watcher.sees(Self.red, x: 560, y: 400))
            screen.resize(PixelSize(width: 1_280, height: 720))
            #expect(try watcher.sees(Self.red, x: 1_200, y: 650))
            #expect(!watcher.shows(Self.red, x: 560, y: 400))
            screen.resize(PixelSize(width: 2, height: 2))
            #expect(try watcher.update { watcher.canvas.size.width == 2 })
            screen.resize(Self.size)
            #expect(try watcher.sees(Self.red, x: 560, y: 400))
        }

        @Test func cameraIsOffWhileNobodyWatches() throws {
            let bed = try CameraBed()
            try bed.plug("desk", ["colour=c02020"])
            let watcher = CameraWatcher(CameraOverlay(PaintedScreen(Self.size), try CameraFeed(bed)))
            #expect(try watcher.sees(Self.red, x: 560, y: 400))
            watcher.screen.suspend()
            #expect(bed.camera("desk", says: "idle"))
            watcher.screen.resume()
            #expect(bed.camera("desk", says: "streaming", times: 2))
            #expect(try watcher.sees(Self.red, x: 560, y: 400))
        }
    }
}
