import MediaCore
import Testing

@testable import Host

@Suite struct FrameScheduleTests {
    /// None of these changes waits, at 60 frames a second.
    private func expectNoneWaits(_ changes: some Sequence<Int64>) {
        var schedule = FrameSchedule(framesPerSecond: 60)
        for change in changes.map(MediaInstant.init(nanoseconds:)) {
            #expect(schedule.earliest <= change)
            schedule.note(frameAt: change)
        }
    }

    /// Changes that come at the rate, each up to 4 ms early or late: none waits.
    @Test func aSourceAtTheRateDoesNotWait() {
        var random = SystemRandomNumberGenerator()
        expectNoneWaits(
            (1...1_000).map { $0 * 16_666_667 + .random(in: -4_000_000...4_000_000, using: &random) })
    }

    /// A source that is 1 % faster than the rate, for a minute.
    @Test func aSourceOfAFasterClockDoesNotWait() { expectNoneWaits((1...3_636).map { $0 * 16_501_650 }) }

    /// A change makes two frames, so that a video of 30 frames a second needs the whole rate.
    @Test func changesAndTheirRestsAtTheRateDoNotWait() {
        var schedule = FrameSchedule(framesPerSecond: 60)
        for index in 1...1_800 {
            let change = MediaInstant(nanoseconds: Int64(index) * 33_200_000)
            #expect(schedule.earliest <= change)
            schedule.note(frameAt: change)
            let rest = schedule.afterInterval
            #expect(rest - change < .milliseconds(17))
            schedule.note(frameAt: rest)
        }
    }

    /// Changes all the time: the rate is kept, after one frame that came early.
    @Test func theRateIsKeptOnAverage() {
        var schedule = FrameSchedule(framesPerSecond: 50)
        var times: [MediaInstant] = []
        var now = MediaInstant(nanoseconds: 1_000_000_000)
        while now < MediaInstant(nanoseconds: 2_000_000_000) {
            if schedule.earliest <= now {
                times.append(now)
                schedule.note(frameAt: now)
            }
            now = now + .microseconds(100)
        }
        #expect((51...52).contains(times.count))
        let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
        // 20 ms less a fiftieth are 19.608 ms, seen each 0.1 ms.
        #expect(gaps.first == .microseconds(4_700))
        #expect(gaps.dropFirst().allSatisfy { [.microseconds(19_600), .microseconds(19_700)].contains($0) })
    }

    /// What shows nothing new uses up nothing of the tolerance: a change after it may come early.
    @Test func refinementsLeaveTheToleranceToChanges() {
        var schedule = FrameSchedule(framesPerSecond: 50)
        schedule.note(frameAt: MediaInstant(nanoseconds: 1_000_000_000))
        let refinement = schedule.afterInterval
        #expect(refinement == MediaInstant(nanoseconds: 1_020_000_000))
        schedule.note(frameAt: refinement)
        #expect(schedule.earliest == refinement + MediaDuration(nanoseconds: 4_607_800))
    }

    /// Changes that come early leave no time: what shows nothing new waits until the rate is kept again.
    @Test func refinementsWaitForChangesThatCameEarly() {
        var schedule = FrameSchedule(framesPerSecond: 50)
        let start = MediaInstant(nanoseconds: 1_000_000_000)
        schedule.note(frameAt: start)
        schedule.note(frameAt: start + .milliseconds(6))
        #expect(schedule.afterInterval == start + MediaDuration(nanoseconds: 39_215_600))
    }
}
