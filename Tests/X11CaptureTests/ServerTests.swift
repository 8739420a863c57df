import Foundation
import LinuxRuntime
import MediaCore
import PixelConversion
import Testing

@testable import X11Capture

extension X11Tests {
    @Suite struct ServerTests {
        private func failure(_ display: String) -> SourceFailure? {
            do throws(SourceFailure) {
                _ = try X11Screen(display: display, converter: YUVConverter())
                return nil
            } catch {
                return error
            }
        }

        @Test func missingDisplayIsAnErrorWithARemedy() {
            for name in [":4711", "", "nonsense", "/nowhere:0"] {
                let failure = failure(name)
                #expect(failure?.code == .noDisplay)
                #expect(failure?.remedy.isEmpty == false)
            }
        }

        @Test func sixteenBitColourIsRefusedInWords() throws {
            let display = try XvfbDisplay(depth: 16)
            let failure = failure(display.name)
            #expect(failure?.code == .unsupported)
            #expect(failure?.message.contains("depth is 16") == true)
        }

        @Test func killedServerIsAnErrorNotAnEnd() throws {
            let display = try XvfbDisplay()
            let watcher = try Watcher(display)
            display.end()
            #expect { try watcher.wait() } throws: { ($0 as? SourceFailure)?.code == .displayGone }
            #expect { try watcher.update() } throws: { ($0 as? SourceFailure)?.code == .displayGone }
            watcher.screen.suspend()
            watcher.screen.resume()
            watcher.screen.close()
        }

        @Test func closingTwiceIsFine() throws {
            let display = try XvfbDisplay()
            let watcher = try Watcher(display)
            watcher.screen.close()
            watcher.screen.close()
            watcher.screen.wake()
            #expect { try watcher.wait() } throws: { ($0 as? SourceFailure)?.code == .displayGone }
        }

        @Test func newSizeIsToldAndRead() throws {
            let display = try XvfbDisplay(width: 1024, height: 768)
            let watcher = try Watcher(display)
            for size in [PixelSize(width: 800, height: 600), PixelSize(width: 1024, height: 768)] {
                try display.resize(width: size.width, height: size.height)
                while try watcher.wait() != .resized(size) { try watcher.update() }
                watcher.adoptSize()
                display.fill(x: size.width - 20, y: size.height - 20, width: 20, height: 20, 0xff00ff)
                #expect(try watcher.wait() == .damaged)
                try watcher.update()
                #expect(watcher.changed.count == watcher.changed.blocks.count)
                try watcher.settle()
                #expect(watcher.shows(0xff00ff, x: size.width - 2, y: size.height - 2))
            }
        }

        /// The video thread reads without waiting when damage is known, so the size may have changed meanwhile.
        @Test func readDuringAResizeLeavesTheOldCanvasAlone() throws {
            let display = try XvfbDisplay(width: 1024, height: 768)
            let watcher = try Watcher(display)
            display.fill(x: 0, y: 700, width: 20, height: 20, 0xff00ff)
            try display.resize(width: 640, height: 480)
            while watcher.screen.size.width != 640 { try watcher.update() }
            watcher.adoptSize()
            try watcher.update()
            #expect(watcher.changed.count == watcher.changed.blocks.count)
            #expect(try watcher.wait(milliseconds: 30) == .woken, "the new size was taken, so it is not told again")
        }

        @Test func wakeEndsTheWaitOnce() throws {
            let display = try XvfbDisplay()
            let watcher = try Watcher(display)
            watcher.screen.wake()
            watcher.screen.wake()
            let start = MonotonicClock.now
            #expect(try watcher.wait() == .woken)
            #expect(MonotonicClock.now - start < .seconds(15))
            #expect(try watcher.wait(milliseconds: 20) == .woken)
            #expect(MonotonicClock.now - start >= .milliseconds(20))
        }

        @Test func wakeFromAnotherThreadEndsTheWait() throws {
            let display = try XvfbDisplay()
            let watcher = try Watcher(display)
            let bell = Bell(screen: watcher.screen)
            DispatchQueue.global().async { bell.ring() }
            #expect(try watcher.screen.wait(until: nil) == .woken)
        }

        @Test func serverThatEndsDuringTheWaitEndsIt() throws {
            let display = try XvfbDisplay()
            let watcher = try Watcher(display)
            DispatchQueue.global().async { display.end() }
            #expect { try watcher.screen.wait(until: nil) } throws: { ($0 as? SourceFailure)?.code == .displayGone }
        }

        @Test func serverThatEndsWhileNobodyWatchesIsNoticed() throws {
            let display = try XvfbDisplay()
            let watcher = try Watcher(display)
            watcher.screen.suspend()
            let bell = Bell(screen: watcher.screen)
            DispatchQueue.global().async { bell.ring() }
            #expect(try watcher.screen.waitSuspended())
            DispatchQueue.global().async { display.end() }
            #expect { try watcher.screen.waitSuspended() } throws: { ($0 as? SourceFailure)?.code == .displayGone }
        }

        /// Without DAMAGE the screen is compared at intervals.
        @Test func scansGetRarerWhileNothingChanges() {
            var clock = ScreenScanSchedule()
            var now = MediaInstant(nanoseconds: 1_000_000_000)
            var gaps: [Int] = []
            for _ in 0..<4 {
                clock.recordScan(at: now, foundChange: false)
                gaps.append(Int((clock.next - now).inMilliseconds))
                now = clock.next
            }
            #expect(gaps == [200, 400, 500, 500])
            clock.expectChange()
            #expect(clock.next - now == .milliseconds(-400))
            clock.recordScan(at: now, foundChange: true)
            #expect(clock.next - now == .milliseconds(100))
        }

        /// Who wants no cursor misses nothing.
        @Test func withoutACursorXFIXESIsNotMissed() throws {
            for (cursor, isMissed) in [(CaptureOptions.Cursor.no, false), (.yes, true), (.onlyWhenMoving, true)] {
                // Xvfb without XFIXES ends when a client of DAMAGE disconnects.
                let display = try XvfbDisplay(arguments: ["-extension", "XFIXES"])
                try withExtendedLifetime(display) {
                    let watcher = try Watcher(display, options: CaptureOptions(cursor: cursor))
                    #expect(watcher.screen.limitations.contains { $0.contains("XFIXES") } == isMissed)
                    #expect(watcher.screen.limitations.contains { $0.contains("cursor") } == isMissed)
                }
            }
        }

        @Test(arguments: ["DAMAGE", "MIT-SHM", "XFIXES"])
        func poorServerIsSlowerAndSaysSo(lacking: String) throws {
            let display = try XvfbDisplay(arguments: ["-extension", lacking])
            let watcher = try Watcher(display)
            #expect(watcher.screen.limitations.contains { $0.contains(lacking) })
            display.fill(x: 32, y: 32, width: 16, height: 16, 0x00ff00)
            try watcher.updateUntilChanged()
            #expect(watcher.changed.count == 1)
            #expect(watcher.shows(0x00ff00, x: 40, y: 40))
            display.fill(x: 0, y: 0, width: 640, height: 480, 0xff0000)
            while !watcher.shows(0xff0000, x: 630, y: 470) { try watcher.updateUntilChanged() }
            #expect(watcher.shows(0xff0000, x: 2, y: 2))
        }
    }
}

// SAFETY: `wake` may be called from any thread.
private struct Bell: @unchecked Sendable {
    let screen: X11Screen

    func ring() { screen.wake() }
}

/// Each test starts its own X server, so the tests run one at a time to limit the load.
@Suite(.serialized) enum X11Tests {}
