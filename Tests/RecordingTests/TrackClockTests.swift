import MediaCore
import TestSupport
import Testing

@testable import Recording

@Suite struct TrackClockTests {
    /// Times of packets of 20 ms that all arrive when they are sent.
    private func times(
        _ clock: inout TrackClock, from first: Int, count: Int, timestamp: (Int) -> UInt32,
        captured: (Int) -> MediaInstant? = { _ in nil }, origin: inout MediaDuration?
    ) -> [Double] {
        (first..<first + count).map {
            clock.time(
                timestamp($0), arrival: .milliseconds($0 * 20), captured: captured($0), origin: &origin
            ).inMilliseconds
        }
    }

    @Test func timeGoesOnWhereTimestampsWrap() {
        var clock = TrackClock(rate: 48_000)
        var origin: MediaDuration?
        let start = UInt32.max - 960 * 5
        let times = times(&clock, from: 0, count: 20, timestamp: { start &+ UInt32($0) * 960 }, origin: &origin)
        #expect(times == (0..<20).map { Double($0) * 20 })
    }

    @Test func aJumpOfTheTimestampsDoesNotMoveTheTime() {
        var clock = TrackClock(rate: 48_000)
        var origin: MediaDuration?
        let times = times(
            &clock, from: 0, count: 30, timestamp: { UInt32($0) * 960 &+ ($0 < 15 ? 0 : 1_000_000_000) },
            origin: &origin)
        #expect(times == (0..<30).map { Double($0) * 20 })
    }

    @Test func twoTracksMeetWhenTheirCaptureTimesAreKnown() {
        var audio = TrackClock(rate: 48_000)
        var video = TrackClock(rate: 90_000)
        var origin: MediaDuration?
        // The video takes 150 ms longer than the audio.
        let wall = MediaInstant(nanoseconds: 5_000_000_000_000)
        let heard = audio.time(
            0, arrival: .milliseconds(50), captured: wall, origin: &origin)
        let seen = video.time(
            777, arrival: .milliseconds(200), captured: wall, origin: &origin)
        #expect(heard == .milliseconds(50))
        #expect(seen == heard)
    }

    @Test func aClockThatDriftsIsFollowed() {
        var clock = TrackClock(rate: 48_000)
        var origin: MediaDuration?
        let packets = 180_000
        // 100 in a million too fast for an hour: the samples of 20 ms take 19.998 ms.
        var worst = 0.0
        for index in 0..<packets {
            let sent = MediaDuration(nanoseconds: Int64(index) * 19_998_000)
            let time = clock.time(
                UInt32(truncatingIfNeeded: index * 960), arrival: sent + .milliseconds(30),
                captured: MediaInstant(nanoseconds: sent.nanoseconds + 7_000_000_000), origin: &origin)
            worst = max(worst, abs(time.inMilliseconds - 30 - sent.inMilliseconds))
        }
        #expect(worst < 5)
    }

    @Test func aStepOfTheSendersWallClockIsIgnored() {
        var clock = TrackClock(rate: 48_000)
        var origin: MediaDuration?
        let times = times(
            &clock, from: 0, count: 200, timestamp: { UInt32($0) * 960 },
            captured: {
                MediaInstant(nanoseconds: Int64($0) * 20_000_000 + ($0 < 100 ? 0 : 3_600_000_000_000))
            }, origin: &origin)
        #expect(times == (0..<200).map { Double($0) * 20 })
    }

    @Test func aNewSessionContinuesByArrival() {
        var clock = TrackClock(rate: 48_000)
        var origin: MediaDuration?
        _ = times(&clock, from: 0, count: 10, timestamp: { UInt32($0) * 960 }, origin: &origin)
        clock.restart()
        let later = times(&clock, from: 500, count: 3, timestamp: { 4_000_000 + UInt32($0) * 960 }, origin: &origin)
        #expect(later == [10_000, 10_020, 10_040])
    }

    @Test(arguments: 0..<200) func hostileTimestampsStayNearTheirArrival(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var clock = TrackClock(rate: seed.isMultiple(of: 2) ? 48_000 : 90_000)
        var origin: MediaDuration?
        for index in 0..<500 {
            let arrival = MediaDuration.milliseconds(index * 10)
            let captured =
                generator.next() % 3 == 0 ? nil : MediaInstant(nanoseconds: Int64(bitPattern: generator.next()))
            if generator.next() % 50 == 0 { clock.restart() }
            let time = clock.time(
                UInt32(truncatingIfNeeded: generator.next()), arrival: arrival, captured: captured, origin: &origin)
            #expect(time < arrival + TrackClock.earliest + .seconds(1))
            #expect(time > arrival - TrackClock.latest - .seconds(1))
        }
    }
}
