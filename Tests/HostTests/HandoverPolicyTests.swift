import Admission
import Identifiers
import Identity
import MediaCore
import Testing

@testable import Host

/// When viewers go to the relay, and when they come back.
@Suite struct HandoverPolicyTests {
    private var policy = HandoverPolicy(limit: 8)

    private func at(_ seconds: Int) -> MediaInstant {
        MediaInstant(nanoseconds: 0) + .seconds(seconds)
    }

    private func viewer(_ number: UInt8, at address: String = "192.0.2.1") -> Viewer {
        let fingerprint = [UInt8](repeating: number, count: 32)
        return Viewer(
            knock: .random(), name: "viewer \(number)", kind: "share", address: address, fingerprint: fingerprint,
            identity: ViewerIdentity(fingerprint: fingerprint))
    }

    /// The first second, within so many from `begin` on, in which the host is to serve all itself again.
    private mutating func returns(from begin: Int, direct: Int, elsewhere: Int, within seconds: Int = 300) -> Int? {
        (begin..<begin + seconds).first {
            policy.update(direct: direct, elsewhere: elsewhere, now: at($0))
        }
    }

    @Test mutating func allMoveWhenThereAreMoreThanTheLimitAndOnce() {
        let first = policy.joined(viewers: 8, now: at(0))
        #expect(!first && !policy.movesAll)
        let second = policy.joined(viewers: 9, now: at(0))
        let third = policy.joined(viewers: 10, now: at(0))
        #expect(second && !third && policy.movesAll)
    }

    @Test mutating func fewViewersComeBackAfterAMinute() {
        _ = policy.joined(viewers: 9, now: at(0))
        // One less than the limit is not few, and neither is a moment.
        #expect(returns(from: 0, direct: 0, elsewhere: 7) == nil)
        #expect(returns(from: 300, direct: 0, elsewhere: 6, within: 60) == nil)
        #expect(returns(from: 360, direct: 0, elsewhere: 7, within: 1) == nil)
        #expect(returns(from: 361, direct: 1, elsewhere: 5) == 421)
        policy.publicationEnded()
        #expect(!policy.movesAll)
        // The time begins anew.
        _ = policy.joined(viewers: 9, now: at(0))
        #expect(returns(from: 500, direct: 0, elsewhere: 0) == 560)
    }

    @Test mutating func withOneViewerOrNoneDirectNobodyIsLeftBeforeTheReturn() {
        for limit in 0...1 {
            policy = HandoverPolicy(limit: limit)
            _ = policy.joined(viewers: limit + 1, now: at(0))
            #expect(returns(from: 0, direct: 0, elsewhere: 1) == nil)
            #expect(returns(from: 300, direct: 0, elsewhere: 0) == 360)
        }
    }

    /// A line that three viewers fill has two of them at most for ten minutes, and then for twenty.
    @Test mutating func aLineThatWasTheLimitIsNotTriedAgainForAWhile() {
        let alone = policy.noteLineLimit(viewers: 1, now: at(0))
        let three = policy.noteLineLimit(viewers: 3, now: at(0))
        let again = policy.noteLineLimit(viewers: 3, now: at(1))
        #expect(!alone && three && !again && policy.movesAll)
        // Two at the relay stay there, and one comes back.
        #expect(returns(from: 1, direct: 0, elsewhere: 2) == nil)
        #expect(returns(from: 301, direct: 0, elsewhere: 1) == 361)
        policy.publicationEnded()
        let second = policy.joined(viewers: 2, now: at(400))
        let third = policy.joined(viewers: 3, now: at(400))
        #expect(!second && third)
        // After the time, the number counts.
        #expect(returns(from: 598, direct: 0, elsewhere: 3) == 660)
        policy.publicationEnded()
        let fourth = policy.joined(viewers: 8, now: at(700))
        let limited = policy.noteLineLimit(viewers: 3, now: at(700))
        policy.publicationEnded()
        let early = policy.joined(viewers: 3, now: at(700 + 1_199))
        policy.publicationEnded()
        let late = policy.joined(viewers: 3, now: at(700 + 1_200))
        #expect(!fourth && limited && early && !late)
    }

    @Test mutating func aViewerThatNothingElseReachesIsServedOverTheRelayUntilItLeaves() {
        let (session, ann) = (SessionID.random(), viewer(1))
        let isSent = policy.noteUnreachable(session, ann, now: at(4))
        #expect(isSent && policy.unreachableViewers.keys.contains(session))
        policy.noteSent()
        policy.ended(session)
        #expect(policy.unreachableViewers.isEmpty)
        #expect(returns(from: 5, direct: 3, elsewhere: 1) == nil)
        #expect(returns(from: 305, direct: 3, elsewhere: 0) == 365)
        policy.publicationEnded()
        // It came, so it is sent there again.
        let isSentAgain = policy.noteUnreachable(.random(), ann, now: at(400))
        #expect(isSentAgain)
    }

    /// It may have connected while the publication began.
    @Test mutating func aViewerThatHasConnectedMeanwhileIsNotSent() {
        let (slow, never) = (SessionID.random(), SessionID.random())
        _ = policy.noteUnreachable(slow, viewer(1), now: at(4))
        _ = policy.noteUnreachable(never, viewer(2), now: at(4))
        policy.keepUnreachable([never, .random()])
        #expect(Array(policy.unreachableViewers.keys) == [never])
    }

    @Test(arguments: [false, true])
    mutating func aViewerThatDoesNotComeIsNotSentAgainForTenMinutes(hasLeft: Bool) {
        let (session, ann) = (SessionID.random(), viewer(1))
        _ = policy.noteUnreachable(session, ann, now: at(0))
        policy.noteSent()
        #expect(returns(from: 1, direct: 0, elsewhere: 0, within: 19) == nil)
        if hasLeft { policy.ended(session) }
        // The publication ends a minute after it was given up.
        #expect(returns(from: 20, direct: 0, elsewhere: 0) == 90)
        policy.publicationEnded()
        let isSent = policy.noteUnreachable(.random(), ann, now: at(100))
        let isOtherSent = policy.noteUnreachable(.random(), viewer(2), now: at(100))
        #expect(!isSent && isOtherSent)
        let isSentLater = policy.noteUnreachable(.random(), ann, now: at(640))
        #expect(isSentLater)
    }

    @Test mutating func fourOfAnAddressThatDoNotComeSpeakForIt() {
        for number in UInt8(1)...4 {
            let isSent = policy.noteUnreachable(.random(), viewer(number), now: at(0))
            #expect(isSent)
        }
        policy.noteSent()
        #expect(returns(from: 1, direct: 0, elsewhere: 0, within: 40) == nil)
        let isSent = policy.noteUnreachable(.random(), viewer(5), now: at(50))
        let isOtherSent = policy.noteUnreachable(.random(), viewer(6, at: "192.0.2.9"), now: at(50))
        #expect(!isSent && isOtherSent)
    }

    /// Players with the fixed token have no identity, and stay.
    @Test mutating func aViewerWithoutAnIdentityIsNotSent() {
        let player = Viewer(
            knock: nil, name: "player", kind: "player", address: "192.0.2.1", fingerprint: randomBytes(32))
        let isSent = policy.noteUnreachable(.random(), player, now: at(0))
        #expect(!isSent)
    }
}
