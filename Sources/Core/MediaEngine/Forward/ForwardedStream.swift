import MediaCore
import RTPWire

/// Which packets of a forwarded stream one receiver gets: those from a key frame on, in the temporal layers that it has
/// bandwidth for. What does not fit is left out for this receiver alone.
struct ForwardedStream {
    let source: ForwardedVideo
    /// The position of the next packet.
    var next: Int64
    var filter = TemporalLayerFilter()
    /// The present frame is sent.
    private(set) var isFrameAdmitted = false
    private var isKeyframe = false
    /// The number of pictures left out.
    private(set) var pictureIDShift: UInt16 = 0
    private var lastTimestamp: RTPTimestamp?
    /// The average size of frames of temporal layer 1, which is not known before the last packet.
    private var layerBytes = 0.0
    private var frameBytes = 0
    private var isLayerFrame = false

    /// A backlog of so long is congestion; see `TemporalLayerFilter.note`.
    private static let congestion = MediaDuration.milliseconds(20)

    init(_ source: ForwardedVideo) {
        self.source = source
        next = source.end
    }

    /// Takes in how long packets wait for the pacer.
    /// - Returns: what follows for the receiver.
    mutating func note(backlog: MediaDuration, now: MediaInstant) -> Action {
        filter.note(isCongested: backlog > Self.congestion, now: now)
        if filter.takeReturn(now: now) || filter.takeLayerKeyframe(now: now) { return .keyframe }
        guard filter.isFollowing, let since = filter.congestedSince, now - since > TemporalLayerFilter.backlogLimit
        else { return .nothing }
        filter.cutOff(now: now)
        isFrameAdmitted = false
        return .cutOff
    }

    enum Action {
        case nothing
        /// The receiver has been cut off and may go on now, or cannot get a layer for which it has bandwidth.
        case keyframe
        /// The receiver is too slow: it gets nothing before its backlog is sent.
        case cutOff
    }

    /// Decides on the next packet.
    /// - Parameter rate: the bitrate for the receiver's video.
    /// - Returns: whether it is sent.
    mutating func admits(_ packet: ForwardedVideo.Packet, rate: Bitrate, now: MediaInstant) -> Bool {
        next = packet.position &+ 1
        if packet.isFrameStart { beginFrame(packet, rate, now) }
        frameBytes &+= packet.length
        return isFrameAdmitted
    }

    private mutating func beginFrame(_ packet: ForwardedVideo.Packet, _ rate: Bitrate, _ now: MediaInstant) {
        if isLayerFrame { layerBytes += (Double(frameBytes) - layerBytes) / 8 }
        isLayerFrame = packet.layer > 0
        frameBytes = 0
        isKeyframe = packet.isKeyframe
        framesBehind = max(framesBehind &- 1, 0)
        isFrameAdmitted = filter.admits(
            isKeyframe: packet.isKeyframe, layer: packet.layer, layerSwitch: packet.layerSwitch,
            isNonReference: packet.isNonReference,
            bytes: isLayerFrame ? Int(layerBytes) : packet.length, rate: rate,
            base: isLayerFrame ? source.baseBitrate : nil, now: now)
        // A key frame begins anew, so what was left out before it does not count.
        if packet.isKeyframe { pictureIDShift = 0 }
        if filter.isFollowing, !isFrameAdmitted, packet.pictureIDOffset > 0 {
            pictureIDShift = (pictureIDShift &+ 1) & 0x7FFF
        }
    }

    /// The receiver can only go on with a key frame.
    mutating func reset() {
        filter.reset()
        isFrameAdmitted = false
    }

    // MARK: Joining

    /// As much as a receiver gets in 0.4 s at the bitrate that it begins with, and as many frames as a decoder takes at
    /// once.
    private static let replayLimit = (bytes: 128 * 1_024, frames: ForwardedVideo.replayedFrames)
    /// Between the timestamps of frames that are sent at once. A player that schedules by them must not be behind
    /// from then on.
    private static let replayInterval = 90

    /// Goes back to the first packet of the newest key frame, if what came since is little.
    /// - Returns: false if it is not; a key frame has to be requested then.
    mutating func rewind() -> Bool {
        guard let start = source.group.start, source.packet(start) != nil, lastTimestamp == nil,
            source.group.bytes <= Self.replayLimit.bytes, source.group.frames <= Self.replayLimit.frames
        else { return false }
        next = start
        framesBehind = source.group.frames
        return true
    }

    /// Frames that are to be sent at once.
    private var framesBehind = 0

    /// How an admitted packet is sent to this receiver.
    struct Label {
        var timestamp: RTPTimestamp
        var pictureIDShift: UInt16
        var isOfKeyframe: Bool
    }

    mutating func label(of packet: ForwardedVideo.Packet) -> Label {
        Label(
            timestamp: timestamp(of: packet), pictureIDShift: pictureIDShift, isOfKeyframe: isKeyframe)
    }

    /// The timestamp of an admitted packet: the source's, but for frames that are sent at once, just before the newest.
    private mutating func timestamp(of packet: ForwardedVideo.Packet) -> RTPTimestamp {
        guard framesBehind > 0, let newest = source.lastTimestamp else {
            lastTimestamp = packet.timestamp
            return packet.timestamp
        }
        let stamp = newest.advanced(by: -Self.replayInterval &* framesBehind)
        lastTimestamp = stamp
        return stamp
    }
}
