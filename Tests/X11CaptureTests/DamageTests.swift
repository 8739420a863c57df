import Foundation
import MediaCore
import PixelConversion
import TestSupport
import Testing

@testable import X11Capture

extension X11Tests {
    @Suite struct DamageTests {
        @Test func whatIsDrawnArrivesInItsColours() throws {
            let display = try XvfbDisplay()
            let watcher = try Watcher(display)
            display.fill(x: 100, y: 100, width: 50, height: 50, 0xff0000)
            display.fill(x: 300, y: 200, width: 50, height: 50, 0x20c040)
            while !(watcher.shows(0xff0000, x: 120, y: 120) && watcher.shows(0x20c040, x: 320, y: 220)) {
                try watcher.updateUntilChanged()
            }
            #expect(watcher.shows(0x000000, x: 98, y: 98))
            #expect(watcher.screen.summary == "display \(display.name), 640 x 480")
            #expect(watcher.screen.limitations.isEmpty)
        }

        @Test func onlyBlocksThatDifferAreChanged() throws {
            let display = try XvfbDisplay()
            let watcher = try Watcher(display)
            display.fill(x: 20, y: 37, width: 40, height: 3, 0xffffff)
            try watcher.updateUntilChanged()
            #expect(watcher.changed == map(watcher.canvas.size, PixelRect(x: 20, y: 37, width: 40, height: 3)))
        }

        @Test func redrawingTheSameChangesNothing() throws {
            let display = try XvfbDisplay()
            let watcher = try Watcher(display)
            display.fill(x: 64, y: 64, width: 64, height: 64, 0x8080ff)
            try watcher.updateUntilChanged()
            display.fill(x: 64, y: 64, width: 64, height: 64, 0x8080ff)
            #expect(try watcher.wait() == .damaged)
            try watcher.update()
            #expect(watcher.changed.isEmpty)
        }

        @Test func twoSmallChangesFarApartAreReadApart() throws {
            let display = try XvfbDisplay()
            let watcher = try Watcher(display)
            let before = watcher.screen.reader.bytes
            display.fill(x: 0, y: 0, width: 16, height: 16, 0xffffff)
            display.fill(x: 624, y: 464, width: 16, height: 16, 0xffffff)
            try watcher.updateUntilChanged()
            #expect(watcher.changed.count == 2)
            #expect(watcher.screen.reader.bytes - before == 2 * 16 * 16 * 4)
        }

        @Test func stillScreenWakesNobody() throws {
            let display = try XvfbDisplay()
            let watcher = try Watcher(display)
            let before = watcher.screen.reader.requests
            #expect(try watcher.wait(milliseconds: 200) == .woken)
            #expect(watcher.screen.reader.requests == before)
        }

        @Test func manyChangesMakeOneRead() throws {
            let display = try XvfbDisplay()
            let watcher = try Watcher(display)
            for step in 0..<40 { display.fill(x: step * 16, y: 100, width: 10, height: 10, 0xffffff) }
            try watcher.updateUntilChanged()
            #expect(watcher.changed.count == 40)
            #expect(try watcher.wait(milliseconds: 30) == .woken)
        }

        @Test func damagingEverythingChangesEverything() throws {
            let display = try XvfbDisplay()
            let watcher = try Watcher(display)
            watcher.screen.damageEverything()
            #expect(try watcher.wait() == .damaged)
            try watcher.update()
            #expect(watcher.changed.count == watcher.changed.blocks.count)
        }

        @Test func nothingWakesWhileSuspended() throws {
            let display = try XvfbDisplay()
            let watcher = try Watcher(display)
            watcher.screen.suspend()
            display.fill(x: 160, y: 160, width: 16, height: 16, 0xffffff)
            #expect(try watcher.wait(milliseconds: 50) == .woken)
            watcher.screen.resume()
            #expect(try watcher.wait() == .damaged)
            try watcher.update()
            #expect(watcher.changed == map(watcher.canvas.size, PixelRect(x: 160, y: 160, width: 16, height: 16)))
            try watcher.settle()
            display.fill(x: 0, y: 0, width: 16, height: 16, 0xffffff)
            try watcher.updateUntilChanged()
            #expect(watcher.changed.count == 1)
        }

        /// After random drawing and reads at random times the canvas equals what a new capture reads.
        @Test(arguments: [1, 2, 3] as [UInt64])
        func canvasNeverDriftsFromTheScreen(seed: UInt64) throws {
            var random = SeededGenerator(seed: seed)
            let display = try XvfbDisplay(width: 333, height: 251)
            let watcher = try Watcher(display)
            #expect(watcher.canvas.size == PixelSize(width: 332, height: 250))
            for _ in 0..<200 {
                display.fill(
                    x: Int.random(in: -20..<340, using: &random), y: Int.random(in: -20..<260, using: &random),
                    width: Int.random(in: 1..<90, using: &random), height: Int.random(in: 1..<40, using: &random),
                    UInt32.random(in: 0...0xffffff, using: &random))
                if Int.random(in: 0..<3, using: &random) == 0 { try watcher.update() }
            }
            try watcher.settle()
            let newcomer = try Watcher(display)
            #expect(watcher.luma == newcomer.luma, "seed \(seed)")
        }
    }
}
