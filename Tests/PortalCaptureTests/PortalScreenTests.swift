import BusSupport
import LinuxRuntime
import MediaCore
import SessionBus
import Testing

@testable import PortalCapture

extension PortalTests {
    @Suite struct FrameTests {
        @Test func screenIsReadAndItsRealSizeCounts() throws {
            let watcher = try PortalWatcher(["size 640 480"])
            // The portal tells the logical size of 320 x 240.
            #expect(watcher.screen.size == PixelSize(width: 640, height: 480))
            #expect(watcher.screen.summary == "a monitor that the desktop portal grants, 640 x 480")
            #expect(watcher.bed.hears("select types 3 cursor 4 persist 2"))
            try watcher.bed.tell("fill 2060c0 600 440 40 40")
            #expect(try watcher.sees(0x2060c0, x: 639, y: 479))
        }

        @Test func onlyDamagedBlocksThatDifferAreChanged() throws {
            let watcher = try PortalWatcher()
            try watcher.bed.tell("fill ff0000 32 32 16 16")
            #expect(try watcher.sees(0xff0000, x: 40, y: 40))
            var expected = BlockMap(watcher.screen.size)
            expected.insert(PixelRect(x: 32, y: 32, width: 16, height: 16))
            #expect(watcher.changed == expected)
            // False damage.
            try watcher.settle()
            try watcher.bed.tell("damage 0 0 640 480")
            #expect(try watcher.update() == .damaged)
            #expect(watcher.changed.isEmpty)
        }

        @Test func stillScreenWakesNobody() throws {
            let watcher = try PortalWatcher()
            #expect(try watcher.update(milliseconds: 200) == .woken)
        }

        @Test func screenWithoutDamageIsComparedAsAWhole() throws {
            let watcher = try PortalWatcher(["undamaged"])
            try watcher.bed.tell("fill 00ff00 100 100 20 20")
            #expect(try watcher.sees(0x00ff00, x: 110, y: 110))
        }

        @Test(arguments: ["BGRx", "BGRA", "RGBx", "RGBA"])
        func everyOrderOfColoursIsRead(order: String) throws {
            let watcher = try PortalWatcher(["format \(order)", "padding 64"])
            try watcher.bed.tell("fill e04010 64 64 100 100")
            #expect(try watcher.sees(0xe04010, x: 100, y: 100))
            #expect(watcher.shows(0x000000, x: 200, y: 100))
        }

        @Test func dmaBufsAreMapped() throws {
            let watcher = try PortalWatcher(["dmabuf"])
            try watcher.bed.tell("fill e04010 64 64 100 100")
            #expect(try watcher.sees(0xe04010, x: 100, y: 100))
            #expect(watcher.screen.stream?.held == nil)
            #expect(watcher.screen.isDMABuf)
        }

        @Test func newSizeIsToldAndRead() throws {
            let watcher = try PortalWatcher()
            for (width, height) in [(800, 600), (333, 201), (1_920, 1_080)] {
                try watcher.bed.tell("size \(width) \(height)")
                try watcher.bed.tell("fill 40a0e0 0 0 \(width) \(height)")
                let even = PixelSize(width: width, height: height).even
                #expect(
                    try watcher.update { watcher.canvas.size == even && watcher.shows(0x40a0e0, x: 2, y: 2) },
                    "\(width) \(watcher.canvas.size) \(watcher.reports.with { $0 }) \(watcher.bed.news)")
                #expect(watcher.shows(0x40a0e0, x: even.width - 1, y: even.height - 1))
            }
        }

        @Test func croppedWindowHasItsOwnSize() throws {
            let watcher = try PortalWatcher()
            try watcher.bed.tell("fill c02020 100 50 201 101")
            try watcher.bed.tell("crop 100 50 201 101")
            #expect(try watcher.update { watcher.canvas.size == PixelSize(width: 200, height: 100) })
            try watcher.settle()
            #expect(watcher.shows(0xc02020, x: 0, y: 0) && watcher.shows(0xc02020, x: 199, y: 99))
            // Damage is in pixels of the buffer.
            try watcher.bed.tell("fill 20c020 132 66 16 16")
            #expect(try watcher.sees(0x20c020, x: 40, y: 20))
            #expect(watcher.changed.bounds.x == 32 && watcher.changed.bounds.y == 16)
        }

        /// The corner of the buffer, in eighths, that is at the upper left of the upright picture.
        @Test(arguments: [
            (0, 0, 0), (1, 0, 1), (2, 1, 1), (3, 1, 0), (4, 1, 0), (5, 0, 0), (6, 0, 1), (7, 1, 1),
        ])
        func rotatedPictureIsUpright(transform: Int, right: Int, down: Int) throws {
            let watcher = try PortalWatcher()
            try watcher.bed.tell("fill c02020 \(right * 560) \(down * 420) 80 60")
            try watcher.bed.tell("transform \(transform)")
            let size = PixelSize(width: 640, height: 480)
            let turned = PixelSize(width: 480, height: 640)
            #expect(
                try watcher.update {
                    watcher.canvas.size == (transform % 2 == 0 ? size : turned) && watcher.shows(0xc02020, x: 8, y: 8)
                })
            #expect(watcher.shows(0xc02020, x: 50, y: 50))
            #expect(watcher.shows(0x000000, x: 100, y: 100))
        }

        @Test func suspendedScreenIsCaughtUpWith() throws {
            let watcher = try PortalWatcher()
            watcher.screen.suspend()
            #expect(watcher.bed.hears("stream paused", times: 2))
            try watcher.bed.tell("fill 3070b0 0 0 640 480")
            watcher.screen.resume()
            #expect(try watcher.sees(0x3070b0, x: 320, y: 240))
        }

        @Test func pictureThatWasNotReadOutlivesASuspension() throws {
            let watcher = try PortalWatcher(["lazy"])
            try watcher.bed.tell("fill 3070b0 0 0 640 480")
            #expect(try watcher.screen.wait(until: MonotonicClock.now + .seconds(20)) == .damaged)
            watcher.screen.suspend()
            watcher.screen.resume()
            #expect(try watcher.sees(0x3070b0, x: 320, y: 240))
        }

        @Test(arguments: [1, 3]) func firstFramesThatAreLostAreSentAgain(count: Int) throws {
            let watcher = try PortalWatcher()
            try watcher.bed.tell("lose \(count)")
            try watcher.bed.tell("size 800 600")
            #expect(try watcher.update { watcher.canvas.size == PixelSize(width: 800, height: 600) })
        }

        @Test func frameThatIsLostAfterAPauseIsSentAgain() throws {
            let watcher = try PortalWatcher()
            try watcher.settle()
            try watcher.bed.tell("pause")
            try watcher.bed.tell("fill b07030 0 0 640 480")
            try watcher.bed.tell("lose 2")
            try watcher.bed.tell("play")
            #expect(try watcher.sees(0xb07030, x: 320, y: 240))
        }

        @Test func pausedStreamKeepsItsLastPictureAndGoesOn() throws {
            let watcher = try PortalWatcher()
            try watcher.bed.tell("fill 3070b0 0 0 640 480")
            #expect(try watcher.sees(0x3070b0, x: 320, y: 240))
            try watcher.bed.tell("pause")
            #expect(try watcher.update(milliseconds: 300) == .woken)
            #expect(watcher.shows(0x3070b0, x: 320, y: 240))
            try watcher.bed.tell("play")
            try watcher.bed.tell("fill b07030 0 0 640 480")
            #expect(try watcher.sees(0xb07030, x: 320, y: 240))
            #expect(watcher.reports.with { $0 }.isEmpty)
        }

        @Test func wakeEndsAWaitFromAnyThread() throws {
            let watcher = try PortalWatcher()
            nonisolated(unsafe) let screen = watcher.screen
            let thread = NamedThread("waker") { screen.wake() }
            #expect(try watcher.screen.wait(until: MonotonicClock.now + .seconds(20)) == .woken)
            thread.join()
        }
    }

    @Suite struct CursorTests {
        @Test func cursorIsDrawnFromMetadataWithoutAFrame() throws {
            let watcher = try PortalWatcher()
            try watcher.bed.tell("fill 0000ff 0 0 640 480")
            #expect(try watcher.sees(0x0000ff, x: 300, y: 300))
            try watcher.bed.tell("cursor 100 100")
            try watcher.bed.tell("shape ff0000 8 8 4 4")
            #expect(try watcher.sees(0xff0000, x: 100, y: 100))
            #expect(watcher.shows(0xff0000, x: 97, y: 97) && watcher.shows(0x0000ff, x: 105, y: 100))
            try watcher.settle()
            try watcher.bed.tell("cursor 300 200")
            #expect(try watcher.sees(0xff0000, x: 300, y: 200))
            #expect(watcher.shows(0x0000ff, x: 100, y: 100), "it leaves no trail")
            #expect(watcher.changed.count <= 8)
            try watcher.bed.tell("hide")
            #expect(try watcher.sees(0x0000ff, x: 300, y: 200))
        }

        @Test func drawingUnderTheCursorKeepsItOnTop() throws {
            let watcher = try PortalWatcher()
            try watcher.bed.tell("cursor 100 100")
            try watcher.bed.tell("shape ff0000 8 8 4 4")
            #expect(try watcher.sees(0xff0000, x: 100, y: 100))
            try watcher.bed.tell("fill ffffff 0 0 640 480")
            #expect(try watcher.sees(0xffffff, x: 90, y: 90))
            #expect(watcher.shows(0xff0000, x: 100, y: 100))
        }

        @Test func hiddenCursorIsNotAskedFor() throws {
            let watcher = try PortalWatcher(cursor: .hidden)
            #expect(watcher.bed.hears("select types 3 cursor 1 persist 2"))
        }

        @Test func cursorThatRestsIsHiddenUntilItMoves() throws {
            let watcher = try PortalWatcher(cursor: .shownWhileMoving)
            try watcher.bed.tell("shape ff0000 8 8 4 4")
            for x in [100, 300] {
                try watcher.bed.tell("cursor \(x) 100")
                #expect(try watcher.sees(0xff0000, x: x, y: 100))
                #expect(try watcher.sees(0x000000, x: x, y: 100))
            }
        }

        @Test func compositorWithoutMetadataDrawsTheCursorItself() throws {
            let watcher = try PortalWatcher(["modes 3"])
            #expect(watcher.bed.hears("select types 3 cursor 2 persist 2"))
        }
    }

    @Suite struct HostileFrameTests {
        @Test(arguments: ["offset", "stride", "negative", "narrow", "short"])
        func bufferThatLiesIsLeftOut(lie: String) throws {
            let watcher = try PortalWatcher()
            try watcher.bed.tell("fill 20c020 0 0 640 480")
            #expect(try watcher.sees(0x20c020, x: 320, y: 240))
            try watcher.bed.tell("lie \(lie)")
            #expect(try watcher.update { !watcher.reports.with { $0 }.isEmpty })
            #expect(watcher.reports.with { $0 }.first?.contains("left out") == true)
            #expect(watcher.shows(0x20c020, x: 320, y: 240))
            try watcher.bed.tell("fill c020c0 0 0 64 64")
            #expect(try watcher.sees(0xc020c0, x: 32, y: 32))
        }

        @Test(arguments: [
            "size", "damage", "crop", "bitmap", "bitmapsize", "bitmapstride", "bitmapoffset", "corrupt", "header",
            "transform",
        ])
        func metadataThatLieDoNoHarm(lie: String) throws {
            let watcher = try PortalWatcher()
            try watcher.bed.tell("shape ff0000 8 8 4 4")
            try watcher.bed.tell("fill 20c020 0 0 640 480")
            #expect(try watcher.sees(0x20c020, x: 320, y: 240))
            try watcher.bed.tell("lie \(lie)")
            try watcher.settle()
            #expect(watcher.shows(0x20c020, x: 320, y: 240))
            try watcher.bed.tell("crop 0 0 640 480")
            try watcher.bed.tell("fill c020c0 0 0 640 480")
            #expect(try watcher.sees(0xc020c0, x: 320, y: 240))
            #expect(watcher.screen.size == PixelSize(width: 640, height: 480))
        }

        @Test func memoryThatCanShrinkIsReadWithoutMapping() throws {
            let watcher = try PortalWatcher(backendEnvironment: ["BACKEND_UNSEALED": "1"])
            try watcher.bed.tell("fill 20c020 0 0 640 480")
            #expect(try watcher.sees(0x20c020, x: 639, y: 479))
            try watcher.bed.tell("lie truncated")
            try watcher.settle()
            #expect(watcher.screen.size == PixelSize(width: 640, height: 480))
        }

        @Test func pictureOfOnePixelIsNotShown() throws {
            let watcher = try PortalWatcher(["size 1 1"])
            #expect(watcher.screen.size == PixelSize(width: 2, height: 2))
            try watcher.bed.tell("size 64 64")
            try watcher.bed.tell("fill c020c0 0 0 64 64")
            #expect(try watcher.sees(0xc020c0, x: 32, y: 32))
        }

        @Test func pictureThatIsTooWideIsCutOff() throws {
            let watcher = try PortalWatcher(["size 16384 32"])
            #expect(watcher.screen.size == PixelSize(width: 16_382, height: 32))
            #expect(watcher.screen.limitations.count == 1)
            try watcher.bed.tell("fill c020c0 0 0 16384 32")
            #expect(try watcher.sees(0xc020c0, x: 16_381, y: 31))
        }

        @Test func graphicsMemoryThatCannotBeMappedIsAFailureInWords() throws {
            let bed = try PortalBed(["dmabuf"], backendEnvironment: ["BACKEND_UNMAPPABLE": "1"])
            #expect { try PortalWatcher.open(bed) } throws: {
                ($0 as? SourceFailure)?.code == .unsupported
                    && ($0 as? SourceFailure)?.message.contains("graphics memory") == true
            }
        }

        @Test func formatThatIsNotTakenIsAFailureInWords() throws {
            let bed = try PortalBed(["format I420"])
            #expect { try PortalWatcher.open(bed) } throws: {
                ($0 as? SourceFailure)?.code == .unsupported
                    && ($0 as? SourceFailure)?.message.contains("PipeWire") == true
            }
        }
    }
}
