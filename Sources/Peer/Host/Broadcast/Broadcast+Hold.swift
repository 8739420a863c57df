import LinuxRuntime
package import MediaCore
import MediaEngine

/// Holds a broadcast back. The sessions of its viewers, and their reports, continue.
extension Broadcast {
    package var holds: Set<BroadcastHold> { isEnded ? [] : holding.holds }

    /// Begins a hold, or ends it. While the broadcast is paused or blanked, nothing that is captured from now on is
    /// sent.
    /// - Returns: false if that is so already, or the broadcast has ended.
    package func set(_ hold: BroadcastHold, _ isOn: Bool) -> Bool {
        let (now, former) = (MonotonicClock.now, holding.effective)
        guard !isEnded, let change = holding.set(hold, isOn, now: now) else { return false }
        if change.effective != former { apply(change.effective, now) }
        emit(.holdChanged(change))
        return true
    }

    /// Viewers continue with the next change of the screen, or with a key frame if they have missed a frame.
    private func apply(_ hold: BroadcastHold?, _ now: MediaInstant) {
        let lackKeyframe = hold == .pause ? [] : holding.broken
        for viewer in viewers.all {
            if hold == nil {
                viewer.frames.freezeMeter.noteResumption()
            } else {
                viewer.frames.freezeMeter.notePause(now: now)
            }
            if !lackKeyframe.isEmpty { viewer.frames.layerFilter.reset() }
        }
        if lackKeyframe.contains(.main) {
            for receiver in receivers { receiver.waitForKeyframe() }
        }
        if !lackKeyframe.isEmpty {
            for encoding in EncodingID.allCases where policy.decision?[encoding] != nil {
                source.requestKeyframe(encoding, isFirst: true)
            }
        }
        source.set(hold)
    }
}
