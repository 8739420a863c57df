import MediaCore
import Testing

@testable import SessionBus

@Suite struct ShortcutPressesTests {
    private func at(_ milliseconds: Int64) -> MediaInstant { MediaInstant(nanoseconds: milliseconds * 1_000_000) }

    @Test func aHeldKeyIsOnePressHoweverOftenItIsTold() {
        var presses = ShortcutPresses()
        var counted: [Int64] = []
        // 600 ms until the first repetition, then 30 a second for five seconds.
        for time in [0] + stride(from: Int64(600), to: 5_600, by: 33) where presses.press(at: at(time)) {
            counted.append(time)
        }
        #expect(counted == [0])
    }

    @Test func repetitionsInPairsWithReleasesAreOnePress() {
        var presses = ShortcutPresses()
        var count = 0
        for time in stride(from: Int64(0), to: 3_000, by: 33) {
            if presses.press(at: at(time)) { count += 1 }
            presses.release(at: at(time + 32))
        }
        #expect(count == 1)
    }

    @Test func aPressAfterTheReleaseCountsAndSoDoesOneOfADesktopThatTellsNone() {
        var presses = ShortcutPresses()
        let first = presses.press(at: at(0))
        presses.release(at: at(80))
        let second = presses.press(at: at(380))
        // A long press counts from its release.
        presses.release(at: at(9_000))
        let bounce = presses.press(at: at(9_100))
        let third = presses.press(at: at(10_100))
        #expect(first && second && !bounce && third)
    }
}
