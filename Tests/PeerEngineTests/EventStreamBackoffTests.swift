import MediaCore
import PeerEngine
import Testing

@Suite struct EventStreamBackoffTests {
    @Test func pausesGrowToTwoSecondsAndBeginAnew() {
        var backoff = EventStreamBackoff()
        #expect(backoff.timeout == nil)
        var pauses: [MediaDuration] = []
        for _ in 0..<5 {
            let hostIsGone = backoff.noteFailure(isRefusal: false)
            #expect(!hostIsGone)
            pauses.append(backoff.pause)
        }
        #expect(pauses == [400, 800, 1_600, 2_000, 2_000].map { MediaDuration.milliseconds($0) })
        #expect(backoff.timeout == .seconds(2))
        backoff.noteOpen()
        #expect(backoff.timeout == nil && backoff.pause == .milliseconds(200))
    }

    @Test func threeRefusalsInARowSayThatTheHostIsGone() {
        var backoff = EventStreamBackoff()
        let verdicts = [true, true, false, true, true, true].map { backoff.noteFailure(isRefusal: $0) }
        #expect(verdicts == [false, false, false, false, false, true])
        #expect(backoff.pause == .milliseconds(400))
    }
}
