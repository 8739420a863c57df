import MediaCore
import RTPWire

/// Tracks the long-term references (VP8 golden and alternate frames) of one receiver on the sender's side: their
/// PictureIDs, and whether the receiver has acknowledged them by RPSI (RFC 4585 section 6.3.3).
struct LongTermReferenceTracker {
    /// After so long an acknowledgement is not waited for any more.
    static let longestWait = MediaDuration.seconds(10)

    /// A frame that the encoder stores as a long-term reference.
    struct Reference: Equatable {
        var number: UInt32
        var pictureID: UInt16
        var isAcknowledged = false
        var since: MediaInstant
    }

    private var golden: Reference?
    private var alternate: Reference?

    subscript(slot: ReferenceSlot) -> Reference? {
        get { slot == .golden ? golden : alternate }
        set { if slot == .golden { golden = newValue } else { alternate = newValue } }
    }

    mutating func noteKeyframe(_ number: UInt32, pictureID: UInt16, now: MediaInstant) {
        golden = Reference(number: number, pictureID: pictureID, since: now)
        alternate = golden
    }

    mutating func noteStored(_ number: UInt32, in slot: ReferenceSlot, pictureID: UInt16, now: MediaInstant) {
        self[slot] = Reference(number: number, pictureID: pictureID, since: now)
    }

    /// Forgets both, as a frame that the encoder stored was not sent to this receiver.
    mutating func removeAll() {
        golden = nil
        alternate = nil
    }

    /// Takes in an acknowledgement.
    /// - Returns: the frame's number; nil if it is no long-term reference.
    mutating func acknowledge(_ pictureID: UInt16) -> UInt32? {
        var number: UInt32?
        for slot in ReferenceSlot.allCases where self[slot]?.pictureID == pictureID {
            self[slot]?.isAcknowledged = true
            number = self[slot]?.number
        }
        return number
    }

    /// The long-term reference that a recovery frame is predicted from; nil if this receiver was not sent it, or it was
    /// overwritten.
    func source(_ recovery: FrameReferences.Recovery) -> Reference? {
        self[recovery.slot].flatMap { $0.number == recovery.number ? $0 : nil }
    }

    /// The newest one is not acknowledged yet, and still may be.
    func isPending(now: MediaInstant) -> Bool {
        guard let newest else { return false }
        return !newest.isAcknowledged && now - newest.since < Self.longestWait
    }

    /// The number of the newest one that the receiver has.
    var newestAcknowledged: UInt32? {
        Self.newer(golden.flatMap { $0.isAcknowledged ? $0 : nil }, alternate.flatMap { $0.isAcknowledged ? $0 : nil })?
            .number
    }

    private var newest: Reference? { Self.newer(golden, alternate) }

    private static func newer(_ golden: Reference?, _ alternate: Reference?) -> Reference? {
        guard let golden else { return alternate }
        guard let alternate else { return golden }
        return Int32(bitPattern: alternate.number &- golden.number) > 0 ? alternate : golden
    }
}
