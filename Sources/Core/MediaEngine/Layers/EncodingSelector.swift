public import MediaCore

/// One of the encodings that a broadcast may make of its picture: the one for most, and a lower one for those far below it.
public enum EncodingID: UInt8, Hashable, Sendable, CaseIterable { case main, low }

/// Decides for one viewer of several which encoding it gets, by what its path carries. A value; time is an argument.
///
/// A second encoding costs the host a second encoder's time, so it takes seconds of a difference of more than three times, while
/// the picture asks for more than the slow viewer can have.
public struct EncodingSelector: Sendable {
    /// What the viewer gets now.
    public private(set) var encoding = EncodingID.main
    /// Where it goes with that encoding's next key frame.
    public private(set) var target = EncodingID.main
    /// For how long the main encoding has asked for more than the viewer can have.
    private var shortage = MediaDuration.zero
    /// The last update, and whether it saw that.
    private var last: (at: MediaInstant, isShort: Bool)?
    private var highSince: MediaInstant?
    private var idleSince: MediaInstant?
    /// When it came back to the main encoding.
    private var returned: MediaInstant?
    /// How often it has left the main encoding soon after it had come back: each time doubles the patience with it.
    private var relapses: Int64 = 0

    /// How many times slower than the fastest a viewer is who gets the lower encoding, and how many times who leaves it.
    static let (split, join) = (3.0, 2.0)
    static let patience = MediaDuration.seconds(3)
    static let joinPatience = MediaDuration.seconds(5)
    /// How long the main encoding has to take little until its slow viewers come back to it.
    static let idlePatience = MediaDuration.seconds(30)
    /// Who leaves the main encoding again within this time has moved too early.
    static let relapseTime = MediaDuration.seconds(60)
    static let mostRelapses: Int64 = 3

    public init() {}

    /// - Parameters:
    ///   - rate: what the viewer's path carries.
    ///   - fastest: what the fastest viewer's does.
    ///   - demand: what the main encoding took lately.
    ///   - isCutOff: the viewer could not follow and waits for a key frame anyway.
    /// - Returns: true if `target` is another one now: a key frame of it is needed.
    public mutating func update(
        rate: Bitrate, fastest: Bitrate, demand: Bitrate, isCutOff: Bool = false, now: MediaInstant
    ) -> Bool {
        let own = Double(max(rate.bitsPerSecond, 1))
        let ratio = Double(fastest.bitsPerSecond) / own
        let share = Double(demand.bitsPerSecond) / own
        let before = target
        switch target {
        case .main:
            highSince = nil
            idleSince = nil
            let isShort = ratio > Self.split && share > 0.6
            noteShortage(isShort, isFar: ratio > Self.split, now)
            let isRelapse = returned.map { now - $0 < Self.relapseTime } ?? false
            if isShort, isCutOff || shortage * (isRelapse ? factor : 1) >= Self.patience {
                target = .low
                relapses = isRelapse ? min(relapses + 1, Self.mostRelapses) : 0
            }
        case .low:
            last = nil
            shortage = .zero
            highSince = ratio < Self.join ? highSince ?? now : nil
            idleSince = share < 0.3 ? idleSince ?? now : nil
            if highSince.map({ now - $0 >= Self.joinPatience * factor }) ?? false
                || idleSince.map({ now - $0 >= Self.idlePatience * factor }) ?? false
            {
                target = .main
                returned = now
            }
        }
        return target != before
    }

    /// Sums up what lies between pauses of the screen: else one slow viewer would hold up each change of a screen that rests often.
    private mutating func noteShortage(_ isShort: Bool, isFar: Bool, _ now: MediaInstant) {
        if !isFar {
            shortage = .zero
        } else if let last {
            let elapsed = now - last.at
            if !isShort {
                shortage = max(shortage - MediaDuration(nanoseconds: elapsed.nanoseconds / 16), .zero)
            } else if last.isShort {
                // What the main encoding took is known for the last second.
                shortage = shortage + min(elapsed, .seconds(1))
            }
        }
        last = (now, isShort)
    }

    /// 1, 2, 4 or 8. Each move costs the others a key frame and seconds of a lower rate, so a viewer whose rate goes up and down
    /// returns later and leaves sooner.
    private var factor: Int64 { 1 << relapses }

    /// A key frame of an encoding is there.
    /// - Returns: true if the viewer goes on with it.
    public mutating func noteKeyframe(of encoding: EncodingID) -> Bool {
        if encoding == target { self.encoding = target }
        return encoding == self.encoding
    }
}
