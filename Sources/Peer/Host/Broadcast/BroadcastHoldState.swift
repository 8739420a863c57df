public import MediaCore
import MediaEngine

/// A hold has begun, or has ended.
public struct BroadcastHoldChange: Sendable, Equatable {
    public var hold: BroadcastHold
    /// How long it held; nil: it has begun.
    public var duration: MediaDuration?
    /// What viewers get from now on; nil: everything.
    public var effective: BroadcastHold?

    package init(hold: BroadcastHold, duration: MediaDuration?, effective: BroadcastHold?) {
        self.hold = hold
        self.duration = duration
        self.effective = effective
    }

    public var hasBegun: Bool { duration == nil }
}

/// The holds of a broadcast, and which media is withheld from its viewers meanwhile. A value; time is an argument.
package struct BroadcastHoldState {
    /// When each hold began.
    private var since: [BroadcastHold: MediaInstant] = [:]
    /// The encodings of which a frame was withheld: their viewers can continue with a key frame only.
    private(set) var broken: Set<EncodingID> = []

    package init() {}

    package var holds: Set<BroadcastHold> { Set(since.keys) }
    package var effective: BroadcastHold? { holds.effective }

    /// - Returns: nil if that is so already.
    package mutating func set(_ hold: BroadcastHold, _ isOn: Bool, now: MediaInstant) -> BroadcastHoldChange? {
        let begin = since[hold]
        guard isOn == (begin == nil) else { return nil }
        since[hold] = isOn ? now : nil
        return BroadcastHoldChange(hold: hold, duration: begin.map { now - $0 }, effective: effective)
    }

    /// Whether a frame is withheld: it was captured after a pause began, it shows the screen although that is blanked,
    /// or it follows a withheld frame and is no key frame.
    mutating func withholds(_ frame: FrameInfo) -> Bool {
        let isHeld = withholds(captured: frame.captured, isBlank: frame.isBlank)
        if isHeld {
            broken.insert(frame.encoding)
        } else if frame.isKeyframe {
            broken.remove(frame.encoding)
        }
        return isHeld || broken.contains(frame.encoding)
    }

    /// Whether a frame is withheld that stands alone: it was captured after a pause began, or shows the screen although
    /// that is blanked.
    package func withholds(captured: MediaInstant, isBlank: Bool) -> Bool {
        switch effective {
        case .blank: !isBlank
        case .pause: since[.pause].map { captured > $0 } ?? false
        // What is being captured as it begins is the frame that stays.
        case .freeze, nil: false
        }
    }

    /// Has one hold alone, or none, for who knows the effective one only.
    package mutating func adopt(_ hold: BroadcastHold?, now: MediaInstant) {
        for other in BroadcastHold.allCases { _ = set(other, other == hold, now: now) }
    }

    /// Whether audio is withheld: it was captured after the hold began.
    func withholdsAudio(captured: MediaInstant) -> Bool {
        since.contains { hold, begin in hold.includesAudio && captured > begin }
    }
}
