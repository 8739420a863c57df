import LinuxRuntime
import MediaCore
import MediaEngine

/// When there is something to do for an encoding, and what.
extension CaptureLoop {
    /// Whether a frame would be more than a refinement.
    func hasNews(_ lane: VideoEncoding, _ control: EncoderControl) -> Bool {
        needsRead || lane.hasChanges || control.isKeyframeWanted || control.recoversFrom != nil
    }

    func earlier(_ a: MediaInstant?, _ b: MediaInstant?) -> MediaInstant? {
        guard let a, let b else { return a ?? b }
        return min(a, b)
    }

    func work(_ lane: VideoEncoding, _ control: EncoderControl, _ now: MediaInstant) {
        guard let due = nextWork(lane, control), due <= now else { return }
        let isKeyframe = keyframeIsDue(lane, control, now)
        let recovery = isKeyframe ? nil : recoveryIsDue(lane, control, now)
        let isRefinement = !lane.hasChanges && !isKeyframe && recovery == nil
        stage.encode(
            canvas, lane, control,
            .init(
                isKeyframe: isKeyframe, isRefinement: isRefinement, recoversFrom: recovery,
                captured: isRefinement ? now : captured), now)
    }

    /// When there is something to do for an encoding; nil if nothing but news from outside can bring any.
    func nextWork(_ lane: VideoEncoding, _ control: EncoderControl) -> MediaInstant? {
        guard control.isWanted, !control.demand.isBlocked else { return nil }
        let interval = MediaDuration.microseconds(1_000_000 / max(framesPerSecond, 1))
        let next = lane.lastFrame + interval
        if needsRead || lane.hasChanges { return next }
        if control.isKeyframeWanted {
            return lane.lastKeyframe.map { max(next, $0 + keyframeInterval(control)) } ?? next
        }
        if control.recoversFrom != nil {
            return lane.lastRecovery.map { max(next, $0 + Self.recoveryInterval) } ?? next
        }
        // What comes now is of the base.
        if control.demand.layering?.isBaseBlocked == true { return nil }
        if lane.encoder.isBehind { return next }
        return lane.encoder.unrefined == nil ? nil : max(next, lastChange + restBeforeRefinement)
    }

    private var restBeforeRefinement: MediaDuration { .milliseconds(120) }

    private func keyframeIsDue(_ lane: VideoEncoding, _ control: EncoderControl, _ now: MediaInstant) -> Bool {
        guard let last = lane.lastKeyframe else { return true }
        return control.isKeyframeWanted && now - last >= keyframeInterval(control)
    }

    /// Between two frames that go on from a long-term reference.
    private static let recoveryInterval = MediaDuration.milliseconds(300)

    /// The kept frame to go on from now; where the encoder cannot, a key frame is wanted instead.
    private func recoveryIsDue(_ lane: VideoEncoding, _ control: EncoderControl, _ now: MediaInstant) -> UInt32? {
        guard let number = control.recoversFrom else { return nil }
        guard lane.encoder.canRecover(from: number) else {
            controls.with {
                $0[lane.id].noteRecovery()
                $0[lane.id].isKeyframeWanted = true
            }
            return nil
        }
        return lane.lastRecovery.map { now - $0 >= Self.recoveryInterval } ?? true ? number : nil
    }

    private func keyframeInterval(_ control: EncoderControl) -> MediaDuration {
        control.isPictureAwaited ? .milliseconds(250) : .seconds(1)
    }
}
