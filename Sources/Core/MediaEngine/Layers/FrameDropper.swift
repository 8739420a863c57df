public import MediaCore

/// Decides for one viewer which frames of its encoding it gets: the base always, layer 1 while there is room for it, and nothing
/// from when it cannot even take the base until a key frame.
public struct FrameDropper: Sendable {
    /// It has what the next frame of the base refers to.
    public private(set) var isFollowing = false
    /// The base could not wait for it any longer.
    public private(set) var isCutOff = false
    /// When something began to wait in front of the network that still does.
    public private(set) var congestedSince: MediaInstant?
    private var credit = 0.0
    private var filled: MediaInstant?
    private var passed = 0
    private var dropped = 0
    private var counted: MediaInstant?
    /// The highest layer of which it lately got more than half.
    public private(set) var layer: UInt8 = 0
    private var cut: MediaInstant?
    private var pause = FrameDropper.shortestPause

    /// How long others wait for one whose frame of the base has not left yet.
    public static let patience = MediaDuration.seconds(1)
    static let shortestPause = MediaDuration.seconds(1)
    static let longestPause = MediaDuration.seconds(8)

    public init() {}

    /// Takes note of whether frames wait in front of the network.
    public mutating func note(isCongested: Bool, now: MediaInstant) {
        if !isCongested { congestedSince = nil } else if congestedSince == nil { congestedSince = now }
    }

    /// Whether the viewer gets this frame.
    /// - Parameters:
    ///   - rate: what its frames may take.
    ///   - base: what the frames of the base may take.
    public mutating func admits(
        isKeyframe: Bool, layer: UInt8, bytes: Int, rate: Bitrate, base: Bitrate?, now: MediaInstant
    ) -> Bool {
        fill(rate, now)
        if isKeyframe {
            isFollowing = true
            isCutOff = false
            congestedSince = nil
        }
        guard isFollowing else { return false }
        guard layer > 0 else {
            credit -= Double(bytes)
            return true
        }
        let hasRoom =
            congestedSince == nil && credit >= Double(bytes)
            && Double(rate.bitsPerSecond) > 1.15 * Double(base?.bitsPerSecond ?? 0)
        if hasRoom { credit -= Double(bytes) }
        count(hasRoom, now)
        return hasRoom
    }

    /// A key frame is the next that it can use: nothing came through for a while, or it did not get a frame.
    public mutating func reset() {
        isFollowing = false
        isCutOff = false
    }

    /// The others go on without it.
    public mutating func cutOff(now: MediaInstant) {
        guard isFollowing else { return }
        pause = cut.map { now - $0 < .seconds(20) } ?? false ? min(pause * 2, Self.longestPause) : Self.shortestPause
        cut = now
        isFollowing = false
        isCutOff = true
    }

    /// True once when it was cut off, what waited for it has left, and it has paused: now it may have a key frame. Until then it gets
    /// nothing and its rate counts for nobody.
    public mutating func takeReturn(now: MediaInstant) -> Bool {
        guard isCutOff, congestedSince == nil, let cut, now - cut >= pause else { return false }
        isCutOff = false
        return true
    }

    private mutating func fill(_ rate: Bitrate, _ now: MediaInstant) {
        let bytes = Double(max(rate.bitsPerSecond, 0)) / 8
        let elapsed = filled.map { min(max((now - $0).inSeconds, 0), 1) } ?? 1
        filled = now
        // A quarter of a second may be saved up.
        credit = min(credit + bytes * elapsed, bytes / 4)
    }

    private mutating func count(_ isIn: Bool, _ now: MediaInstant) {
        passed &+= isIn ? 1 : 0
        dropped &+= isIn ? 0 : 1
        guard let counted else { return self.counted = now }
        guard now - counted >= .seconds(1) else { return }
        layer = passed > dropped ? 1 : 0
        (passed, dropped, self.counted) = (0, 0, now)
    }
}
