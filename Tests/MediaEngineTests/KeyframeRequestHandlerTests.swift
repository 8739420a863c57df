import MediaCore
import Testing

@testable import MediaEngine

@Suite struct KeyframeRequestHandlerTests {
    private let nothing = KeyframeRequestHandler.Waiting(
        isEntryPointOnItsWay: false, hasRetransmissions: false)
    private let roundTrip = MediaDuration.milliseconds(20)

    @Test func pictureLossAsksForOneKeyframe() {
        var handler = KeyframeRequestHandler()
        handler.notePictureLoss(nothing, roundTrip: roundTrip, now: .at(0))
        expect(handler.takeEvent() == .keyframeNeeded)
        expect(handler.takeEvent() == nil && handler.requests == 1 && handler.recoveryRequests == 0)
    }

    @Test func requestsAreIgnoredWhileTheKeyframeIsOnItsWay() {
        var handler = KeyframeRequestHandler()
        let waiting = KeyframeRequestHandler.Waiting(isEntryPointOnItsWay: true, hasRetransmissions: false)
        handler.noteEntryPoint(lastSequence: 100, now: .at(0))
        expect(handler.entryPointEnd == 100)
        handler.notePictureLoss(waiting, roundTrip: roundTrip, now: .at(1_000))
        expect(handler.takeEvent() == nil)
        handler.noteEntryPoint(lastSequence: 199, now: .at(1_000))
        handler.notePictureLoss(nothing, roundTrip: roundTrip, now: .at(1_049))
        expect(handler.takeEvent() == nil)
        handler.notePictureLoss(nothing, roundTrip: roundTrip, now: .at(1_050))
        expect(handler.takeEvent() == .keyframeNeeded)
    }

    @Test func retransmissionsArePreferredForSevenHundredMilliseconds() {
        var handler = KeyframeRequestHandler()
        let waiting = KeyframeRequestHandler.Waiting(isEntryPointOnItsWay: false, hasRetransmissions: true)
        handler.notePictureLoss(waiting, roundTrip: roundTrip, now: .at(0))
        handler.notePictureLoss(waiting, roundTrip: roundTrip, now: .at(699))
        expect(handler.takeEvent() == nil)
        handler.notePictureLoss(waiting, roundTrip: roundTrip, now: .at(700))
        expect(handler.takeEvent() == .keyframeNeeded)
    }

    @Test func retransmissionsAreWaitedForAgainAfterSomeTime() {
        var handler = KeyframeRequestHandler()
        let waiting = KeyframeRequestHandler.Waiting(isEntryPointOnItsWay: false, hasRetransmissions: true)
        handler.notePictureLoss(waiting, roundTrip: roundTrip, now: .at(0))
        handler.notePictureLoss(waiting, roundTrip: roundTrip, now: .at(10_000))
        handler.notePictureLoss(waiting, roundTrip: roundTrip, now: .at(10_699))
        expect(handler.takeEvent() == nil)
        handler.notePictureLoss(waiting, roundTrip: roundTrip, now: .at(10_700))
        expect(handler.takeEvent() == .keyframeNeeded)
    }

    /// A PLI without a reference says that retransmissions do not help, as after a failure of the decoder.
    @Test(arguments: [true, false])
    func aLostPacketThatIsOnItsWayIsWaitedForForASecond(namesReference: Bool) {
        var handler = KeyframeRequestHandler()
        handler.noteKeyframe(5, pictureID: 77, now: .at(0))
        let waiting = KeyframeRequestHandler.Waiting(
            isEntryPointOnItsWay: false, isLostPacketOnItsWay: true, hasRetransmissions: false)
        func request(at milliseconds: Int) -> SenderEvent? {
            handler.beginDatagram()
            if namesReference { _ = handler.acknowledge(77) }
            handler.notePictureLoss(waiting, roundTrip: roundTrip, now: .at(milliseconds))
            return handler.takeEvent()
        }
        expect(request(at: 100) == (namesReference ? nil : .keyframeNeeded))
        expect(request(at: 1_099) == (namesReference ? nil : .keyframeNeeded))
        expect(request(at: 1_100) == (namesReference ? .recoveryNeeded(from: 5) : .keyframeNeeded))
    }

    @Test func anIgnoredRequestIsDecidedAgainUnlessAllHasArrived() {
        var handler = KeyframeRequestHandler()
        handler.noteEntryPoint(lastSequence: 100, now: .at(0))
        let waiting = KeyframeRequestHandler.Waiting(isEntryPointOnItsWay: true, hasRetransmissions: false, end: 101)
        handler.notePictureLoss(waiting, roundTrip: roundTrip, now: .at(100))
        expect(handler.postponed == 101)
        expect(!handler.isReviewDue(now: .at(599)) && handler.isReviewDue(now: .at(600)))
        handler.review(hasArrived: false, lacking: nil, waiting, roundTrip: roundTrip, now: .at(600))
        expect(handler.takeEvent() == nil && handler.postponed == 101)
        expect(!handler.isReviewDue(now: .at(699)) && handler.isReviewDue(now: .at(700)))
        var arrived = handler
        arrived.review(hasArrived: true, lacking: nil, nothing, roundTrip: roundTrip, now: .at(700))
        expect(arrived.takeEvent() == nil && arrived.postponed == nil)
        handler.review(hasArrived: false, lacking: nil, nothing, roundTrip: roundTrip, now: .at(700))
        expect(handler.takeEvent() == .keyframeNeeded && handler.postponed == nil && handler.requests == 1)
        handler.postpone(end: 101, now: .at(800))
        expect(!handler.isReviewDue(now: .at(1_299)) && handler.isReviewDue(now: .at(1_300)))
        handler.noteEntryPoint(lastSequence: 200, now: .at(1_300))
        expect(!handler.isReviewDue(now: .at(1_300)))
    }

    /// A refusal may last for longer than packets are remembered.
    @Test func whatIsLackedIsRememberedUntilAnEntryPoint() {
        var handler = KeyframeRequestHandler()
        handler.postpone(end: 101, now: .at(0))
        handler.review(hasArrived: false, lacking: 55, nothing, roundTrip: roundTrip, now: .at(500))
        expect(handler.takeEvent() == .keyframeNeeded && handler.lacked == 55)
        handler.postpone(end: 101, now: .at(500))
        handler.review(hasArrived: false, lacking: nil, nothing, roundTrip: roundTrip, now: .at(5_000))
        expect(handler.takeEvent() == .keyframeNeeded && handler.lacked == 55)
        handler.noteEntryPoint(lastSequence: 200, now: .at(6_000))
        expect(handler.lacked == nil)
    }

    @Test func aSlowRepairNeedsARecoveryFrameAtOnceAndWithoutARequest() {
        var handler = KeyframeRequestHandler()
        var waiting = KeyframeRequestHandler.Waiting(
            isEntryPointOnItsWay: false, isLostPacketOnItsWay: true, hasRetransmissions: true)
        waiting.isRepairSlow = true
        handler.noteKeyframe(5, pictureID: 77, now: .at(0))
        handler.noteSlowRepair(waiting, roundTrip: roundTrip, now: .at(1_000))
        expect(handler.takeEvent() == nil, "no reference was acknowledged")
        expect(handler.acknowledge(77))
        handler.noteSlowRepair(waiting, roundTrip: roundTrip, now: .at(1_000))
        expect(handler.takeEvent() == .recoveryNeeded(from: 5) && handler.requests == 0)
        // The encoder is at it.
        handler.noteSlowRepair(waiting, roundTrip: roundTrip, now: .at(1_099))
        expect(handler.takeEvent() == nil)
        handler.noteSlowRepair(waiting, roundTrip: roundTrip, now: .at(1_100))
        expect(handler.takeEvent() == .recoveryNeeded(from: 5))
        waiting.isEntryPointOnItsWay = true
        handler.noteSlowRepair(waiting, roundTrip: roundTrip, now: .at(2_000))
        expect(handler.takeEvent() == nil)
    }

    @Test func whatWasReplacedIsNotWaitedFor() {
        var handler = KeyframeRequestHandler()
        handler.noteEntryPoint(lastSequence: 100, now: .at(0))
        handler.noteReplaced()
        expect(handler.entryPointEnd == nil)
    }

    @Test func acknowledgedReferenceInTheSameDatagramMakesARecoveryFrameDo() {
        var handler = KeyframeRequestHandler()
        handler.noteKeyframe(5, pictureID: 77, now: .at(0))
        handler.beginDatagram()
        let isKnown = handler.acknowledge(77)
        handler.notePictureLoss(nothing, roundTrip: roundTrip, now: .at(100))
        expect(isKnown && handler.hasAcknowledged && handler.recoveryRequests == 1)
        expect(handler.takeEvent() == .recoveryNeeded(from: 5))
        handler.beginDatagram()
        handler.notePictureLoss(nothing, roundTrip: roundTrip, now: .at(200))
        expect(handler.takeEvent() == .keyframeNeeded)
    }

    @Test func fullIntraRequestNeedsAKeyframe() {
        var handler = KeyframeRequestHandler()
        handler.noteKeyframe(5, pictureID: 77, now: .at(0))
        expect(handler.acknowledge(77))
        handler.noteFullIntraRequest(nothing, roundTrip: roundTrip, now: .at(100))
        expect(handler.takeEvent() == .keyframeNeeded)
    }

    @Test func unknownReferenceIsNotAcknowledged() {
        var handler = KeyframeRequestHandler()
        handler.noteKeyframe(5, pictureID: 77, now: .at(0))
        expect(!handler.acknowledge(78) && !handler.hasAcknowledged)
    }

    @Test func refusedFrameLeavesAGapUntilAKeyframe() {
        var handler = KeyframeRequestHandler()
        handler.noteKeyframe(5, pictureID: 77, now: .at(0))
        handler.noteRefused()
        expect(handler.hasGap && handler.takeEvent() == .keyframeNeeded)
        expect(!handler.acknowledge(77), "what the encoder stored was not sent")
        handler.noteKeyframe(6, pictureID: 78, now: .at(100))
        expect(!handler.hasGap)
    }
}
