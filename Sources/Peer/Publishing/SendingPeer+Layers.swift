import EventLoop
import LinuxRuntime
import MediaCore
import MediaEngine

/// What a viewer gets beside others that are faster or slower.
extension SendingPeer {
    /// Times for which a change of the picture waited here before it was sent to this viewer, and how long.
    func heldBack(now: MediaInstant) -> (count: Int, time: MediaDuration) { frames.holds.figures(now: now) }

    /// What it gets of an encoding that is made in two temporal layers or not.
    func layer(isLayered: Bool) -> ViewerLayer {
        guard isReceiving, !frames.gate.isCutOff else { return .none }
        let hasAll = !isLayered || frames.gate.layer > 0
        return frames.plan.encoding == .main ? hasAll ? .all : .base : hasAll ? .low : .lowBase
    }

    /// It gets no frames until what waits for it has left.
    var isCutOff: Bool { isReceiving && frames.gate.isCutOff }

    func noteCongestion(now: MediaInstant) { frames.gate.note(isCongested: isCongested, now: now) }

    /// True once when it has been cut off and may have a key frame now.
    func takeReturn(now: MediaInstant) -> Bool { frames.gate.takeReturn(now: now) }

    private var isCongested: Bool { isReceiving && sender.backlog > .milliseconds(20) }

    /// Whether it gets this encoding, or is about to.
    func uses(_ encoding: EncodingID) -> Bool { frames.plan.encoding == encoding || frames.plan.target == encoding }

    /// Adds what it can receive to its encoding's load, and to that of the one that it changes to.
    func contribute(to load: inout EncoderPolicy.Load, now: MediaInstant) {
        let rate = sender.videoEstimate(now: now)
        load.add(video: rate, audio: sender.audioEstimate)
        let counted = frames.gate.isCutOff ? nil : rate
        if uses(.main) { contribute(counted, to: &load.main, isThere: frames.plan.encoding == .main) }
        if uses(.low) { contribute(counted, to: &load.low, isThere: frames.plan.encoding == .low) }
        let statistics = sender.statistics
        if !statistics.isAudioRedundant { load.loss = max(load.loss, statistics.fractionLost) }
        load.isDraining = load.isDraining || isCutOff
    }

    private func contribute(_ rate: Bitrate?, to load: inout EncodingLoad, isThere: Bool) {
        load.add(
            rate: rate, isWaiting: !isThere || !frames.gate.isFollowing,
            congestedSince: isThere ? frames.gate.congestedSince : nil)
    }

    /// Cuts it off if the base has waited for it long enough.
    func cutOffIfStuck(now: MediaInstant) -> Bool {
        guard frames.gate.isFollowing, let since = frames.gate.congestedSince,
            now - since > TemporalLayerFilter.patience
        else {
            return false
        }
        frames.gate.cutOff(now: now)
        return true
    }

    /// - Returns: true if it is to go to another encoding now.
    func updatePlan(fastest: Bitrate, demand: Bitrate, now: MediaInstant) -> Bool {
        frames.plan.update(
            rate: sender.videoEstimate(now: now), fastest: fastest, demand: demand, isCutOff: frames.gate.isCutOff,
            now: now)
    }
}
