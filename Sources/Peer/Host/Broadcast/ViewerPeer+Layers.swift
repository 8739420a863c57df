import EventLoop
import LinuxRuntime
import MediaCore
import MediaEngine

/// Selects the encoding and layer that a viewer gets.
extension ViewerPeer {
    /// - Parameter layer: the highest temporal layer that the viewer wants; nil: all.
    func limitLayers(to layer: Int?) {
        let limit = layer.flatMap { UInt8(exactly: $0) } ?? .max
        frames.layerFilter.maximumLayer = limit
        sender.limitForwardedLayers(to: limit)
    }

    /// Returns the encoding and layers that the viewer gets now.
    /// - Parameter isLayered: whether its encoding has two temporal layers.
    func layer(isLayered: Bool) -> ViewerLayer {
        guard isReceiving, !frames.layerFilter.isCutOff else { return .none }
        let hasAll = !isLayered || frames.layerFilter.layer > 0
        return frames.encodingSelector.encoding == .main ? hasAll ? .all : .base : hasAll ? .low : .lowBase
    }

    /// Whether the viewer gets no frames until its backlog has been sent.
    var isCutOff: Bool { isReceiving && frames.layerFilter.isCutOff }

    func noteCongestion(now: MediaInstant) { frames.layerFilter.note(isCongested: isCongested, now: now) }

    /// Returns true once when a viewer that was cut off may get a key frame now.
    func takeKeyframeAfterCutOff(now: MediaInstant) -> Bool { frames.layerFilter.takeReturn(now: now) }

    private var isCongested: Bool { isReceiving && sender.backlog > .milliseconds(20) }

    /// Whether the viewer gets this encoding, or is about to.
    func uses(_ encoding: EncodingID) -> Bool {
        frames.encodingSelector.encoding == encoding || frames.encodingSelector.target == encoding
    }

    /// Adds the viewer's bandwidth to the load of its encoding, and to that of the encoding that it changes to.
    func contribute(to load: inout EncoderPolicy.Load, now: MediaInstant) {
        let rate = sender.videoEstimate(now: now)
        load.add(video: rate, audio: sender.audioEstimate)
        let counted = frames.layerFilter.isCutOff ? nil : rate
        if uses(.main) { contribute(counted, to: &load.main, isThere: frames.encodingSelector.encoding == .main, now) }
        if uses(.low) { contribute(counted, to: &load.low, isThere: frames.encodingSelector.encoding == .low, now) }
        let statistics = sender.statistics
        if !statistics.isAudioRedundant { load.loss = max(load.loss, statistics.path.fractionLost) }
        load.isDraining = load.isDraining || isCutOff
    }

    /// A relay counts as its fastest and as its slowest viewer.
    private func contribute(_ rate: Bitrate?, to load: inout EncodingAudience, isThere: Bool, _ now: MediaInstant) {
        add(rate, to: &load, isThere: isThere, now)
        guard let rate else { return }
        let slowest = AudienceEstimates.video(ofSlowest: slowestBehind, estimate: sender.estimate, video: rate)
        if let slowest { add(slowest, to: &load, isThere: isThere, now) }
    }

    private func add(_ rate: Bitrate?, to load: inout EncodingAudience, isThere: Bool, _ now: MediaInstant) {
        load.add(
            rate: rate, isWaiting: !isThere || !frames.layerFilter.isFollowing || frames.replacement.isDue(now: now),
            congestedSince: isThere ? frames.layerFilter.congestedSince : nil)
    }

    /// Cuts the viewer off if base layer frames have waited for it for too long.
    func cutOffIfStuck(now: MediaInstant) -> Bool {
        guard frames.layerFilter.isFollowing, let since = frames.layerFilter.congestedSince,
            now - since > TemporalLayerFilter.backlogLimit
        else {
            return false
        }
        frames.layerFilter.cutOff(now: now)
        return true
    }

    /// - Returns: true if the viewer has to change to another encoding now.
    func updatePlan(fastest: Bitrate, mainBitrate: Bitrate, now: MediaInstant) -> Bool {
        frames.encodingSelector.update(
            rate: sender.videoEstimate(now: now), fastest: fastest, mainBitrate: mainBitrate,
            isCutOff: frames.layerFilter.isCutOff,
            now: now)
    }
}
