public import MediaCore

/// The encodings that a host may make of its screen (simulcast): the main one, and a low one for viewers far below its
/// bitrate.
public enum EncodingID: UInt8, Hashable, Sendable, CaseIterable { case main, low }

/// Selects the encoding for one of several viewers by its estimated bandwidth. A value; time is an argument.
///
/// A second encoding costs the host a second encoder's CPU time. A viewer moves to it when it is more than three times
/// slower than the fastest viewer, and the main encoding has needed more than 60 % of its bandwidth for three seconds
/// in sum.
public struct EncodingSelector: Sendable {
    /// The encoding that the viewer receives now.
    public private(set) var encoding = EncodingID.main
    /// The encoding that the viewer changes to at that encoding's next key frame.
    public private(set) var target = EncodingID.main
    /// For how long the main encoding has needed more than the viewer's bandwidth.
    private var shortage = MediaDuration.zero
    /// The time of the last update, and whether it saw a shortage.
    private var last: (at: MediaInstant, isShort: Bool)?
    private var highSince: MediaInstant?
    private var idleSince: MediaInstant?
    /// When the viewer last returned to the main encoding.
    private var returned: MediaInstant?
    /// The number of consecutive relapses: the viewer left the main encoding within `relapseTime` after its return.
    /// Each doubles `factor`.
    private var relapses: Int64 = 0

    /// Ratio of the fastest viewer's rate to this viewer's: above `split` it moves to the low encoding, below `join` it
    /// returns.
    static let (split, join) = (3.0, 2.0)
    static let shortageLimit = MediaDuration.seconds(3)
    static let joinPatience = MediaDuration.seconds(5)
    /// How long the main encoding has to need less than 30 % of the viewer's bandwidth before the viewer returns to it.
    static let idlePatience = MediaDuration.seconds(30)
    /// A viewer that leaves the main encoding within this time after its return counts as a relapse.
    static let relapseTime = MediaDuration.seconds(60)
    static let mostRelapses: Int64 = 3

    public init() {}

    /// Takes in the rates of the moment.
    /// - Parameters:
    ///   - rate: the viewer's estimated bandwidth.
    ///   - fastest: that of the fastest viewer.
    ///   - mainBitrate: the bitrate of the main encoding over the last second.
    ///   - isCutOff: the viewer was cut off and waits for a key frame anyway.
    /// - Returns: true if `target` has changed: a key frame of the new encoding is needed.
    public mutating func update(
        rate: Bitrate, fastest: Bitrate, mainBitrate: Bitrate, isCutOff: Bool = false, now: MediaInstant
    ) -> Bool {
        let own = Double(max(rate.bitsPerSecond, 1))
        let ratio = Double(fastest.bitsPerSecond) / own
        let share = Double(mainBitrate.bitsPerSecond) / own
        let before = target
        switch target {
        case .main:
            highSince = nil
            idleSince = nil
            let isShort = ratio > Self.split && share > 0.6
            noteShortage(isShort, isFar: ratio > Self.split, now)
            let isRelapse = returned.map { now - $0 < Self.relapseTime } ?? false
            if isShort, isCutOff || shortage * (isRelapse ? factor : 1) >= Self.shortageLimit {
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

    /// Sums up shortages over pauses of the screen. Otherwise one slow viewer would delay every change of a screen that
    /// is often still.
    private mutating func noteShortage(_ isShort: Bool, isFar: Bool, _ now: MediaInstant) {
        if !isFar {
            shortage = .zero
        } else if let last {
            let elapsed = now - last.at
            if !isShort {
                shortage = max(shortage - MediaDuration(nanoseconds: elapsed.nanoseconds / 16), .zero)
            } else if last.isShort {
                // The main encoding's bitrate is known for the last second only.
                shortage = shortage + min(elapsed, .seconds(1))
            }
        }
        last = (now, isShort)
    }

    /// 1, 2, 4 or 8. Each move costs the other viewers a key frame and seconds of a lower bitrate, so a viewer with a
    /// varying rate returns later and leaves sooner.
    private var factor: Int64 { 1 << relapses }

    /// Takes in a key frame of an encoding.
    /// - Returns: true if the viewer gets it.
    public mutating func noteKeyframe(of encoding: EncodingID) -> Bool {
        if encoding == target { self.encoding = target }
        return encoding == self.encoding
    }
}
