public import MediaCore

/// Decides for one viewer which frames of its encoding are sent (as an SFU does): base layer frames always, frames of
/// temporal layer 1 while there is bandwidth for them. A viewer that cannot even take the base layer is cut off until a
/// key frame.
public struct TemporalLayerFilter: Sendable {
    /// The viewer was sent what the next base layer frame refers to.
    public private(set) var isFollowing = false
    /// The viewer was cut off, as the others could not wait for it any longer.
    public private(set) var isCutOff = false
    /// When the backlog in front of the network began; nil if there is none.
    public private(set) var congestedSince: MediaInstant?
    private var credit = 0.0
    private var filled: MediaInstant?
    private var passed = 0
    private var dropped = 0
    private var counted: MediaInstant?
    /// The highest temporal layer of which it got more than half over the last second.
    public private(set) var layer: UInt8 = 0
    /// The highest temporal layer that the viewer wants.
    public var maximumLayer = UInt8.max
    /// The highest layer whose frames refer to nothing that was left out.
    private var decodableLayer = UInt8.max
    /// Since when the layer above that has been left out, though the viewer wants it and has the bandwidth.
    private var undecodableSince: MediaInstant?
    private var lastLayerKeyframe: MediaInstant?
    private var cut: MediaInstant?
    private var pause = TemporalLayerFilter.shortestPause

    /// How long other viewers wait for one with a backlog of base layer frames before it is cut off.
    public static let backlogLimit = MediaDuration.seconds(1)
    static let shortestPause = MediaDuration.seconds(1)
    static let longestPause = MediaDuration.seconds(8)
    /// How long a layer is left out before a key frame is worth its bandwidth, and the least time until the next one.
    static let layerKeyframeDelay = MediaDuration.seconds(5)
    static let layerKeyframeInterval = MediaDuration.seconds(30)

    public init() {}

    /// Takes in whether frames wait in front of the network.
    public mutating func note(isCongested: Bool, now: MediaInstant) {
        if !isCongested { congestedSince = nil } else if congestedSince == nil { congestedSince = now }
    }

    /// Whether the viewer gets this frame.
    /// - Parameters:
    ///   - layerSwitch: which layers can be taken up again at this frame.
    ///   - isNonReference: no other frame refers to this one.
    ///   - rate: the bitrate for its video.
    ///   - base: the bitrate of the base layer; nil without layers.
    public mutating func admits(
        isKeyframe: Bool, layer: UInt8, layerSwitch: LayerSwitch, isNonReference: Bool = false, bytes: Int,
        rate: Bitrate, base: Bitrate?, now: MediaInstant
    ) -> Bool {
        fill(rate, now)
        if isKeyframe {
            isFollowing = true
            isCutOff = false
            congestedSince = nil
            decodableLayer = .max
            undecodableSince = nil
        }
        guard isFollowing else { return false }
        guard layer > 0 else {
            credit -= Double(bytes)
            noteAdmitted(layer, layerSwitch)
            return true
        }
        let isDecodable = layer <= decodableLayer || layerSwitch == .own
        let hasRoom =
            layer <= maximumLayer && congestedSince == nil && credit >= Double(bytes)
            && Double(rate.bitsPerSecond) > 1.15 * Double(base?.bitsPerSecond ?? 0)
        let isAdmitted = isDecodable && hasRoom
        if isAdmitted {
            credit -= Double(bytes)
            noteAdmitted(layer, layerSwitch)
        } else if !isNonReference, layer <= decodableLayer {
            (decodableLayer, undecodableSince) = (layer - 1, nil)
        }
        if !isDecodable, layer - 1 == decodableLayer { undecodableSince = hasRoom ? undecodableSince ?? now : nil }
        count(isAdmitted, now)
        return isAdmitted
    }

    private mutating func noteAdmitted(_ layer: UInt8, _ layerSwitch: LayerSwitch) {
        switch layerSwitch {
        // Frames of a layer between, if they were left out, may still be referred to.
        case .own where layer > 0 && decodableLayer == layer - 1: (decodableLayer, undecodableSince) = (layer, nil)
        case .higher: (decodableLayer, undecodableSince) = (.max, nil)
        case .none, .own: break
        }
    }

    /// The viewer can only go on with a key frame: it got nothing for a while, or missed a frame.
    public mutating func reset() {
        isFollowing = false
        isCutOff = false
    }

    /// Cuts the viewer off, so that the others go on without it. The pause is 1 s, and doubles up to 8 s if the last
    /// cut was less than 20 s ago.
    public mutating func cutOff(now: MediaInstant) {
        guard isFollowing else { return }
        pause = cut.map { now - $0 < .seconds(20) } ?? false ? min(pause * 2, Self.longestPause) : Self.shortestPause
        cut = now
        isFollowing = false
        isCutOff = true
    }

    /// True once after a cut, when the backlog has been sent and the pause is over: the viewer may have a key frame
    /// now. Until then it gets no frames, and its rate does not count.
    public mutating func takeReturn(now: MediaInstant) -> Bool {
        guard isCutOff, congestedSince == nil, let cut, now - cut >= pause else { return false }
        isCutOff = false
        return true
    }

    /// True if a layer has been left out for `layerKeyframeDelay` though there was bandwidth for it, once in
    /// `layerKeyframeInterval`: its sender does not say where the layer can be taken up again, so a key frame has to
    /// help.
    mutating func takeLayerKeyframe(now: MediaInstant) -> Bool {
        guard let undecodableSince, now - undecodableSince >= Self.layerKeyframeDelay,
            lastLayerKeyframe.map({ now - $0 >= Self.layerKeyframeInterval }) ?? true
        else { return false }
        lastLayerKeyframe = now
        return true
    }

    private mutating func fill(_ rate: Bitrate, _ now: MediaInstant) {
        let bytes = Double(max(rate.bitsPerSecond, 0)) / 8
        let elapsed = filled.map { min(max((now - $0).inSeconds, 0), 1) } ?? 1
        filled = now
        // Credit for at most a quarter of a second can be saved.
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
