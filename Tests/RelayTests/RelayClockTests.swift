import MediaCore
import Testing

@testable import Relay

@Suite struct RelayClockTests {
    private func at(_ milliseconds: Int) -> MediaInstant { MediaInstant(nanoseconds: 0) + .milliseconds(milliseconds) }

    @Test func tracksKeepTheDistanceThatTheirSenderReportsGive() {
        var clock = RelayClock()
        // The publisher's clock is an hour ahead. Its sound arrives 80 ms later than its picture.
        let hour = 3_600_000
        let picture = clock.instant(
            track: -1, timestamp: 90_000, rate: 90_000, captured: at(hour + 1_000), now: at(1_050))
        #expect(picture == at(1_050))
        let sound = clock.instant(
            track: 0, timestamp: 48_000, rate: 48_000, captured: at(hour + 1_010), now: at(1_140))
        #expect(sound == at(1_060))
        let next = clock.instant(
            track: -1, timestamp: 93_000, rate: 90_000, captured: at(hour + 1_033), now: at(1_200))
        #expect(next == at(1_083))
    }

    @Test func beforeTheFirstReportTimestampsCountFromTheArrival() {
        var clock = RelayClock()
        // The timestamp wraps.
        let first = clock.instant(track: -1, timestamp: 4_294_967_000, rate: 90_000, captured: nil, now: at(500))
        let second = clock.instant(track: -1, timestamp: 704, rate: 90_000, captured: nil, now: at(540))
        #expect(first == at(500))
        #expect((second - first).nanoseconds == 1_000 * 1_000_000_000 / 90_000)
        // The report continues what was assumed.
        let third = clock.instant(track: -1, timestamp: 9_704, rate: 90_000, captured: at(77_100), now: at(640))
        #expect(third - second == .milliseconds(100))
    }

    @Test func timesThatJumpAreNotBelieved() {
        var clock = RelayClock()
        _ = clock.instant(track: -1, timestamp: 0, rate: 90_000, captured: at(5_000), now: at(100))
        for captured in [MediaInstant(nanoseconds: .max), MediaInstant(nanoseconds: .min), at(900_000_000)] {
            let instant = clock.instant(track: -1, timestamp: 3_000, rate: 90_000, captured: captured, now: at(140))
            #expect(instant >= at(100) && instant < at(1_000))
        }
        // Neither are timestamps.
        for timestamp: UInt32 in [0x7FFF_FFFF, 0x8000_0000, 0] {
            let instant = clock.instant(track: -1, timestamp: timestamp, rate: 90_000, captured: nil, now: at(200))
            #expect(instant >= at(100) && instant < at(11_000))
        }
    }

    @Test func aTrackNeverGoesBack() {
        var clock = RelayClock()
        let first = clock.instant(track: 0, timestamp: 48_000, rate: 48_000, captured: at(1_000), now: at(1_000))
        let second = clock.instant(track: 0, timestamp: 24_000, rate: 48_000, captured: at(500), now: at(1_020))
        #expect(second - first == .milliseconds(1))
    }
}
