import MediaCore
import RTPWire

/// A sender's book of the frames that the other side keeps: which they are, under which PictureID it knows them, and whether it has said
/// that it has them.
struct LongTermReferenceTracker {
    /// After so long without an answer nobody waits for one any more.
    static let longestWait = MediaDuration.seconds(10)

    struct Kept: Equatable {
        var number: UInt32
        var pictureID: UInt16
        var isAcknowledged = false
        var since: MediaInstant
    }

    private var golden: Kept?
    private var alternate: Kept?

    subscript(slot: ReferenceSlot) -> Kept? {
        get { slot == .golden ? golden : alternate }
        set { if slot == .golden { golden = newValue } else { alternate = newValue } }
    }

    mutating func noteKeyframe(_ number: UInt32, pictureID: UInt16, now: MediaInstant) {
        golden = Kept(number: number, pictureID: pictureID, since: now)
        alternate = golden
    }

    mutating func noteStored(_ number: UInt32, in slot: ReferenceSlot, pictureID: UInt16, now: MediaInstant) {
        self[slot] = Kept(number: number, pictureID: pictureID, since: now)
    }

    /// The other side does not get what the encoder keeps now.
    mutating func removeAll() {
        golden = nil
        alternate = nil
    }

    /// The other side says that it has a picture.
    /// - Returns: nil if it is none of those that are kept.
    mutating func acknowledge(_ pictureID: UInt16) -> UInt32? {
        var number: UInt32?
        for slot in ReferenceSlot.allCases where self[slot]?.pictureID == pictureID {
            self[slot]?.isAcknowledged = true
            number = self[slot]?.number
        }
        return number
    }

    /// The kept frame that a new one may be made from as far as the other side is concerned.
    func source(_ recovery: FrameReferences.Recovery) -> Kept? {
        self[recovery.slot].flatMap { $0.number == recovery.number ? $0 : nil }
    }

    /// The newest has not been acknowledged yet, and may still be.
    func isPending(now: MediaInstant) -> Bool {
        guard let newest else { return false }
        return !newest.isAcknowledged && now - newest.since < Self.longestWait
    }

    private var newest: Kept? {
        guard let golden else { return alternate }
        guard let alternate else { return golden }
        return Int32(bitPattern: alternate.number &- golden.number) > 0 ? alternate : golden
    }
}
