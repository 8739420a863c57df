import MediaCore
import PeerEngine
import Testing

@Suite struct ConnectionLivenessTests {
    private let start = MediaInstant(nanoseconds: 5_000_000_000)
    private let connectLimit = MediaDuration.seconds(20)

    private func opened() -> ConnectionLiveness { ConnectionLiveness(interruptionThreshold: .seconds(4), now: start) }

    /// Connected at `start`.
    private func connected() -> ConnectionLiveness {
        var viewer = opened()
        viewer.connect(now: start)
        return viewer
    }

    /// Checks a viewer each 250 ms, which is heard as often while `isHeard` returns true.
    /// - Returns: the changes, with the milliseconds since `start`; up to an end.
    private func play(
        _ viewer: inout ConnectionLiveness, seconds: Int, isHeard: (_ milliseconds: Int) -> Bool = { _ in false }
    ) -> [(Int, ConnectionLiveness.Change)] {
        var changes: [(Int, ConnectionLiveness.Change)] = []
        for milliseconds in stride(from: 0, through: seconds * 1_000, by: 250) {
            let now = start + .milliseconds(milliseconds)
            if isHeard(milliseconds) { _ = viewer.heard(now) }
            guard let change = viewer.check(now, connectLimit: connectLimit) else { continue }
            changes.append((milliseconds, change))
            if change != .interrupted { return changes }
        }
        return changes
    }

    @Test func theTimeForConnectingBeginsWithTheDescription() {
        var host = opened()
        host.begin(now: start + .seconds(15))
        #expect(host.check(start + .seconds(35), connectLimit: connectLimit) == nil)
        #expect(host.check(start + .milliseconds(35_001), connectLimit: connectLimit) == .notConnected)
    }

    /// The interruption begins at once, and ends with the next packet.
    @Test func aPeerThatIsMissedIsInterruptedUntilItIsHeard() {
        var host = connected()
        host.noteMissed()
        let (missed, heard) = (start + .milliseconds(300), start + .milliseconds(500))
        #expect(host.check(missed, connectLimit: connectLimit) == .interrupted)
        #expect(!host.isReceiving)
        #expect(host.heard(heard) == .milliseconds(500))
        #expect(host.silence(heard) == .zero)
        #expect(host.check(start + .seconds(1), connectLimit: connectLimit) == nil && host.isReceiving)
        #expect(host.check(start + .seconds(1), connectLimit: connectLimit, isPathGone: true) == .interrupted)
    }

    @Test func aSilentViewerGetsOnePacketEachTenthOfASecond() {
        var viewer = connected()
        let taken = (0..<1_000).filter { viewer.takeProbe(now: start + .milliseconds($0)) }
        #expect(taken == Array(stride(from: 0, to: 1_000, by: 95)))
    }

    @Test func aViewerThatNeverConnectsIsGivenUpAfterTwentySeconds() {
        var viewer = opened()
        #expect(!viewer.isReceiving)
        #expect(viewer.check(start + .seconds(20), connectLimit: connectLimit) == nil)
        #expect(viewer.check(start + .milliseconds(20_001), connectLimit: connectLimit) == .notConnected)
    }

    @Test func anEventStreamIsThereUntilItCloses() {
        var viewer = connected()
        #expect(!viewer.hasEventStream)
        viewer.noteEventStream(isOpen: true, now: start)
        #expect(viewer.hasEventStream)
        viewer.noteEventStream(isOpen: false, now: start + .seconds(1))
        #expect(!viewer.hasEventStream)
    }

    @Test func connectingLateIsInTime() {
        var viewer = opened()
        viewer.connect(now: start + .milliseconds(19_500))
        #expect(viewer.heard(start + .milliseconds(19_500)) == nil)
        #expect(viewer.isReceiving)
        let (now, later) = (start + .seconds(21), start + .milliseconds(23_500))
        #expect(viewer.check(now, connectLimit: connectLimit) == nil)
        #expect(viewer.check(later, connectLimit: connectLimit) == .interrupted)
        viewer.connect(now: start + .seconds(25))
        #expect(viewer.connected == start + .milliseconds(19_500), "a session connects once")
    }

    @Test func silenceInterruptsAfterFourSecondsAndEndsTheSessionAfterThirty() {
        var viewer = connected()
        let changes = play(&viewer, seconds: 60)
        #expect(changes.map(\.0) == [4_000, 30_000])
        #expect(changes.map(\.1) == [.interrupted, .expired])
        #expect(!viewer.isReceiving)
    }

    /// Plays a viewer that answers checks.
    private func playConsenting(
        _ viewer: inout ConnectionLiveness, seconds: Int, until end: Int = .max,
        isHeard: (_ milliseconds: Int) -> Bool = { _ in false }
    ) -> [(Int, ConnectionLiveness.Change)] {
        var changes: [(Int, ConnectionLiveness.Change)] = []
        for milliseconds in stride(from: 0, through: seconds * 1_000, by: 250) {
            let now = start + .milliseconds(milliseconds)
            if isHeard(milliseconds) { _ = viewer.heard(now) }
            let change = viewer.check(now, connectLimit: connectLimit, isConsenting: milliseconds < end)
            guard let change else { continue }
            changes.append((milliseconds, change))
            if change != .interrupted { return changes }
        }
        return changes
    }

    @Test func aViewerThatAnswersChecksAndSendsNoRTCPIsToldApart() {
        var viewer = connected()
        #expect(viewer.isReceiving)
        let changes = playConsenting(&viewer, seconds: 60)
        #expect(changes.map(\.0) == [8_000] && changes.map(\.1) == [.withoutRTCP])
        // One that answers no checks any more is just silent.
        var other = connected()
        let later = playConsenting(&other, seconds: 60, until: 6_000)
        #expect(later.map(\.0) == [6_000, 30_000] && later.map(\.1) == [.interrupted, .expired])
    }

    /// The intervals of RTCP where the minimum is 5 s: up to 6.2 s (RFC 3550 section 6.3.1).
    @Test func reportsEachSixSecondsAreEnough() {
        var viewer = connected()
        #expect(playConsenting(&viewer, seconds: 600) { $0 >= 3_000 && ($0 - 3_000) % 6_250 == 0 }.isEmpty)
    }

    @Test func aViewerThatReportsOftenIsMissedAsSoonAsBefore() {
        var viewer = connected()
        let changes = playConsenting(&viewer, seconds: 60) { $0 < 10_000 && $0 % 1_000 == 0 }
        #expect(changes.map(\.0) == [13_000, 39_000] && changes.map(\.1) == [.interrupted, .expired])
    }

    @Test func anOutageOfTwentySecondsIsSurvivedAgainAndAgain() {
        var viewer = connected()
        let changes = play(&viewer, seconds: 100) { $0 % 25_000 < 5_000 }
        #expect(changes.map(\.1) == Array(repeating: .interrupted, count: 4))
        #expect(changes.map(\.0) == [8_750, 33_750, 58_750, 83_750])
        #expect(viewer.isReceiving)
    }

    @Test func aPacketASecondIsEnough() {
        var viewer = connected()
        #expect(play(&viewer, seconds: 600) { $0 % 1_000 == 0 }.isEmpty)
    }

    @Test func aViewerWhoseStreamAndMediaEndTogetherHasCrashed() {
        for eventStreamClosed in [-1_250, 0, 1_250] {
            var viewer = connected()
            _ = viewer.heard(start + .seconds(2))
            viewer.noteEventStream(isOpen: true, now: start)
            viewer.noteEventStream(isOpen: false, now: start + .milliseconds(2_000 + eventStreamClosed))
            let changes = play(&viewer, seconds: 10)
            #expect(changes.map(\.1) == [.crashed] && changes.map(\.0) == [6_000])
        }
    }

    @Test func aStreamThatEndedAtAnotherTimeOrIsOpenAgainIsNoCrash() {
        for eventStreamClosed in [-1_750, 1_750] {
            var viewer = connected()
            _ = viewer.heard(start + .seconds(2))
            viewer.noteEventStream(isOpen: false, now: start + .milliseconds(2_000 + eventStreamClosed))
            #expect(play(&viewer, seconds: 10).map(\.1) == [.interrupted])
        }
        var viewer = connected()
        viewer.noteEventStream(isOpen: false, now: start)
        viewer.noteEventStream(isOpen: true, now: start + .seconds(1))
        #expect(play(&viewer, seconds: 10).map(\.1) == [.interrupted])
    }
}
