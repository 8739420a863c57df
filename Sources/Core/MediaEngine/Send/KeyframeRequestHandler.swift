import MediaCore
import RTPWire

/// Decides which key frame or recovery frame the encoder is asked for, from the receiver's PLI, FIR and RPSI and from
/// frames that could not be sent (compare libwebrtc's `rtcp_receiver.cc` and `encoder_rtcp_feedback.cc`).
struct KeyframeRequestHandler {
    private var isKeyframeNeeded = false
    /// The long-term reference that a requested recovery frame is to be predicted from.
    private var recoveryNeeded: UInt32?
    /// The long-term reference that an RPSI in the present datagram named; a PLI after it then asks for a recovery
    /// frame.
    private var offeredReference: UInt32?
    private var references = LongTermReferenceTracker()
    /// Since when retransmissions are preferred to a key frame.
    private var retransmissionsPreferredSince: MediaInstant?
    private var lastKeyframe: MediaInstant?
    /// The last packet of the newest frame that the receiver can continue from.
    private(set) var entryPointEnd: Int64?
    /// A request for a key frame that was ignored, by a receiver that may not repeat it (Pion's players ask once a loss):
    /// the end of what had been sent when it came.
    private(set) var postponed: Int64?
    private var nextReview = MediaInstant(nanoseconds: .min)
    /// The oldest packet that this receiver was found to lack. It may leave the history before the request is granted.
    private(set) var lacked: Int64?
    /// When a recovery frame was last asked for before the receiver did.
    private var lastSlowRepair: MediaInstant?
    /// A base layer frame was refused, and no key frame has followed yet.
    private(set) var hasGap = false
    /// The receiver has acknowledged a frame.
    private(set) var hasAcknowledged = false
    /// PLI and FIR of the receiver; and of those, with a long-term reference to recover from.
    private(set) var requests = 0
    private(set) var recoveryRequests = 0

    /// `takeEvent` would return one.
    var hasEvent: Bool { isKeyframeNeeded || recoveryNeeded != nil }

    /// The next event for the encoder's side; nil if there is none.
    mutating func takeEvent() -> SenderEvent? {
        if isKeyframeNeeded {
            isKeyframeNeeded = false
            recoveryNeeded = nil
            return .keyframeNeeded
        }
        guard let number = recoveryNeeded else { return nil }
        recoveryNeeded = nil
        return .recoveryNeeded(from: number)
    }

    // MARK: Frames

    /// The long-term reference that a recovery frame is predicted from, if this receiver was sent it.
    func source(_ recovery: FrameReferences.Recovery) -> LongTermReferenceTracker.Reference? {
        references.source(recovery)
    }

    /// The newest long-term reference is not acknowledged yet.
    func awaitsAcknowledgement(now: MediaInstant) -> Bool { references.isPending(now: now) }

    /// A key frame is needed for another reason than a request.
    mutating func needKeyframe() { isKeyframeNeeded = true }

    /// A base layer frame did not fit into the history.
    mutating func noteRefused() {
        isKeyframeNeeded = true
        hasGap = true
        references.removeAll()
    }

    /// A frame that the receiver can continue from waits to be sent: a key frame, or a recovery frame.
    mutating func noteEntryPoint(lastSequence: Int64, now: MediaInstant) {
        lastKeyframe = now
        entryPointEnd = lastSequence
        recoveryNeeded = nil
        retransmissionsPreferredSince = nil
        postponed = nil
        lacked = nil
    }

    /// What waits will not be sent.
    mutating func noteReplaced() { entryPointEnd = nil }

    mutating func noteKeyframe(_ number: UInt32, pictureID: UInt16, now: MediaInstant) {
        isKeyframeNeeded = false
        hasGap = false
        references.noteKeyframe(number, pictureID: pictureID, now: now)
    }

    mutating func noteStored(_ number: UInt32, in slot: ReferenceSlot, pictureID: UInt16, now: MediaInstant) {
        references.noteStored(number, in: slot, pictureID: pictureID, now: now)
    }

    // MARK: Requests

    mutating func beginDatagram() { offeredReference = nil }

    /// Takes in an RPSI (RFC 4585 section 6.3.3).
    /// - Returns: false if the frame is no long-term reference.
    mutating func acknowledge(_ pictureID: UInt16) -> Bool {
        guard let number = references.acknowledge(pictureID) else { return false }
        offeredReference = number
        hasAcknowledged = true
        return true
    }

    /// Takes in a PLI. After an RPSI in the same datagram, a recovery frame from that long-term reference will do.
    mutating func notePictureLoss(_ waiting: Waiting, roundTrip: MediaDuration, now: MediaInstant) {
        request(from: offeredReference, waiting, roundTrip, now)
    }

    /// Takes in a FIR: only a key frame will do.
    mutating func noteFullIntraRequest(_ waiting: Waiting, roundTrip: MediaDuration, now: MediaInstant) {
        request(from: nil, waiting, roundTrip, now)
    }

    /// What waits to be sent, or is on its way.
    struct Waiting {
        /// A frame that the receiver can continue from waits to be sent, or is on its way.
        var isEntryPointOnItsWay: Bool
        /// The packet that the receiver lacks was sent again, and may not have arrived yet.
        var isLostPacketOnItsWay = false
        /// Retransmissions wait to be sent.
        var hasRetransmissions: Bool
        /// To send again what the receiver lacks would take longer than a recovery frame.
        var isRepairSlow = false
        /// The end of what was sent; nil: the receiver repeats its requests, or does not report what has arrived.
        var end: Int64? = nil
    }

    /// How long requests are ignored for the sake of retransmissions.
    private static let longestPreference = MediaDuration.milliseconds(700)
    private static let longestWait = MediaDuration.seconds(1)
    /// A request so long after the first that was ignored is about other packets.
    private static let longestEpisode = MediaDuration.seconds(10)

    /// After a request. Receivers that repeat one do so sooner.
    private static let patience = MediaDuration.milliseconds(500)
    private static let reviewInterval = MediaDuration.milliseconds(100)

    private mutating func request(
        from number: UInt32?, _ waiting: Waiting, _ roundTrip: MediaDuration, _ now: MediaInstant
    ) {
        requests &+= 1
        if number != nil { recoveryRequests &+= 1 }
        guard isTooEarly(number, waiting, roundTrip, now) else { return grant(number) }
        if number == nil, let end = waiting.end { postpone(end: end, now: now) }
    }

    private mutating func grant(_ number: UInt32?) {
        retransmissionsPreferredSince = nil
        postponed = nil
        if let number { recoveryNeeded = number } else { isKeyframeNeeded = true }
    }

    /// What a request asks for may still be on its way.
    private mutating func isTooEarly(
        _ number: UInt32?, _ waiting: Waiting, _ roundTrip: MediaDuration, _ now: MediaInstant
    ) -> Bool {
        if waiting.isEntryPointOnItsWay { return true }
        if let lastKeyframe, now - lastKeyframe < max(roundTrip, .milliseconds(50)) { return true }
        if waiting.isRepairSlow, number != nil { return false }
        // Retransmissions are cheaper than a key frame. Who asks for a key frame and names no reference may need more.
        let isOnItsWay = waiting.isLostPacketOnItsWay && number != nil
        guard waiting.hasRetransmissions || isOnItsWay else { return false }
        let since = retransmissionsPreferredSince.flatMap { now - $0 < Self.longestEpisode ? $0 : nil } ?? now
        retransmissionsPreferredSince = since
        return now - since < (isOnItsWay ? Self.longestWait : Self.longestPreference)
    }

    /// A recovery frame is needed before the receiver asks for one, as it would wait for retransmissions first.
    mutating func noteSlowRepair(_ waiting: Waiting, roundTrip: MediaDuration, now: MediaInstant) {
        // The encoder takes some time.
        let isUnderWay = lastSlowRepair.map { now - $0 < max(roundTrip, Self.reviewInterval) } ?? false
        guard !isUnderWay, let number = references.newestAcknowledged, !isTooEarly(number, waiting, roundTrip, now)
        else { return }
        lastSlowRepair = now
        grant(number)
    }

    /// The key frame that was asked for is not made at present, as it costs other receivers too much.
    mutating func postpone(end: Int64, now: MediaInstant) {
        postponed = end
        nextReview = now + Self.patience
    }

    /// Whether to decide again on the request that was ignored.
    func isReviewDue(now: MediaInstant) -> Bool { postponed != nil && now >= nextReview }

    /// Decides again on the request that was ignored.
    /// - Parameters:
    ///   - hasArrived: the receiver has all that had been sent when it asked, and `lacked`.
    ///   - oldest: the oldest packet that it lacks.
    mutating func review(
        hasArrived: Bool, lacking oldest: Int64?, _ waiting: Waiting, roundTrip: MediaDuration, now: MediaInstant
    ) {
        lacked = hasArrived ? nil : oldest ?? lacked
        guard !hasArrived else { return postponed = nil }
        if isTooEarly(nil, waiting, roundTrip, now) { nextReview = now + Self.reviewInterval } else { grant(nil) }
    }
}
