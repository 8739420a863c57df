import LinuxRuntime
import MediaCore
import MediaEngine

/// Pauses a broadcast. Its viewers keep the last frame, and their sessions and reports continue.
extension Broadcast {
    package var isPaused: Bool { pausing.since != nil && !isEnded }

    /// Stops capturing. Nothing that is captured from now on is sent.
    /// - Returns: false if the broadcast is paused or has ended.
    package func pause() -> Bool {
        let now = MonotonicClock.now
        guard !isEnded, pausing.begin(now: now) else { return false }
        source.setPaused(true)
        for viewer in viewers.all { viewer.frames.freezeMeter.notePause(now: now) }
        emit(.broadcastPaused)
        return true
    }

    /// Continues with the next change of the screen, or with a key frame if the viewers have missed a frame.
    /// - Returns: false if the broadcast is not paused or has ended.
    package func resume() -> Bool {
        guard !isEnded, let end = pausing.end(now: MonotonicClock.now) else { return false }
        for viewer in viewers.all {
            viewer.frames.freezeMeter.noteResumption()
            if end.needsKeyframe { viewer.frames.layerFilter.reset() }
        }
        if end.needsKeyframe {
            for receiver in receivers { receiver.waitForKeyframe() }
            for encoding in EncodingID.allCases where policy.decision?[encoding] != nil {
                source.requestKeyframe(encoding, isFirst: true)
            }
        }
        source.setPaused(false)
        emit(.broadcastResumed(after: end.duration))
        return true
    }
}
