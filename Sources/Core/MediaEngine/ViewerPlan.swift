public import MediaCore

/// One of the encodings that a broadcast may make of its picture: the one for most, and a lower one for those far below it.
public enum EncodingID: UInt8, Hashable, Sendable, CaseIterable { case main, low }

/// Decides for one viewer of several which encoding it gets, by what its path carries. A value; time is an argument.
///
/// A second encoding costs the host a second encoder's time, so it takes seconds of a difference of more than three times, while
/// the picture asks for more than the slow viewer can have.
public struct ViewerPlan: Sendable {
    /// What the viewer gets now.
    public private(set) var encoding = EncodingID.main
    /// Where it goes with that encoding's next key frame.
    public private(set) var target = EncodingID.main
    private var lowSince: MediaInstant?
    private var highSince: MediaInstant?
    private var idleSince: MediaInstant?

    /// How many times slower than the fastest a viewer is who gets the lower encoding, and how many times who leaves it.
    static let (split, join) = (3.0, 2.0)
    static let patience = MediaDuration.seconds(3)
    static let joinPatience = MediaDuration.seconds(5)
    /// How long the main encoding has to take little until its slow viewers come back to it.
    static let idlePatience = MediaDuration.seconds(30)

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
            lowSince = ratio > Self.split && share > 0.6 ? lowSince ?? now : nil
            if let lowSince, isCutOff || now - lowSince >= Self.patience { target = .low }
        case .low:
            lowSince = nil
            highSince = ratio < Self.join ? highSince ?? now : nil
            idleSince = share < 0.3 ? idleSince ?? now : nil
            if highSince.map({ now - $0 >= Self.joinPatience }) ?? false
                || idleSince.map({ now - $0 >= Self.idlePatience }) ?? false
            {
                target = .main
            }
        }
        return target != before
    }

    /// A key frame of an encoding is there.
    /// - Returns: true if the viewer goes on with it.
    public mutating func noteKeyframe(of encoding: EncodingID) -> Bool {
        if encoding == target { self.encoding = target }
        return encoding == self.encoding
    }
}
