import LinuxRuntime
import MediaCore
import MediaEngine

/// Schedules the frames of an encoding.
extension CaptureLoop {
    /// Whether a frame would be more than a refinement.
    func hasNews(_ encoding: VideoEncoding, _ control: EncoderControl) -> Bool {
        needsRead || encoding.hasChanges || control.isKeyframeWanted || control.recoveryReference != nil
    }

    func earlier(_ a: MediaInstant?, _ b: MediaInstant?) -> MediaInstant? {
        guard let a, let b else { return a ?? b }
        return min(a, b)
    }

    func work(_ encoding: VideoEncoding, _ control: EncoderControl, _ now: MediaInstant) {
        guard let due = nextWork(encoding, control), due <= now else { return }
        let isKeyframe = keyframeIsDue(encoding, control, now)
        let recovery = isKeyframe ? nil : recoveryIsDue(encoding, control, now)
        let isRefinement = !encoding.hasChanges && !isKeyframe && recovery == nil
        stage.encode(
            blank ?? canvas, encoding, control,
            .init(
                isKeyframe: isKeyframe, isRefinement: isRefinement, recoveryReference: recovery,
                captured: isRefinement || blank != nil ? now : captured, isBlank: blank != nil), now)
    }

    /// When the encoding's next frame is due; nil if only new damage or a new request makes one due.
    func nextWork(_ encoding: VideoEncoding, _ control: EncoderControl) -> MediaInstant? {
        guard control.isWanted, !control.target.isBlocked || isUrgent(encoding) else { return nil }
        let next = encoding.schedule.earliest
        if needsRead || encoding.hasChanges { return next }
        if control.isKeyframeWanted {
            return encoding.lastKeyframe.map { max(next, $0 + keyframeInterval(control)) } ?? next
        }
        if control.recoveryReference != nil {
            return encoding.lastRecovery.map { max(next, $0 + Self.recoveryInterval) } ?? next
        }
        // A refinement is a base layer frame.
        if control.target.layering?.isBaseBlocked == true { return nil }
        let rest = encoding.schedule.afterInterval
        if encoding.encoder.hasUncodedChanges { return rest }
        return encoding.encoder.unrefined == nil ? nil : max(rest, lastChange + restBeforeRefinement)
    }

    /// The first blank frame waits for nothing: it replaces what viewers see now, and is small.
    private func isUrgent(_ encoding: VideoEncoding) -> Bool { blank != nil && encoding.lastKeyframe == nil }

    private var restBeforeRefinement: MediaDuration { .milliseconds(120) }

    private func keyframeIsDue(_ encoding: VideoEncoding, _ control: EncoderControl, _ now: MediaInstant) -> Bool {
        guard let last = encoding.lastKeyframe else { return true }
        return control.isKeyframeWanted && now - last >= keyframeInterval(control)
    }

    /// The shortest interval between two recovery frames.
    private static let recoveryInterval = MediaDuration.milliseconds(300)

    /// Returns the long-term reference from which a recovery frame is due now. Requests a key frame instead if the
    /// encoder cannot recover from it.
    private func recoveryIsDue(_ encoding: VideoEncoding, _ control: EncoderControl, _ now: MediaInstant) -> UInt32? {
        guard let number = control.recoveryReference else { return nil }
        guard encoding.encoder.canRecover(from: number) else {
            controls.with {
                $0[encoding.id].noteRecovery()
                $0[encoding.id].isKeyframeWanted = true
            }
            return nil
        }
        return encoding.lastRecovery.map { now - $0 >= Self.recoveryInterval } ?? true ? number : nil
    }

    /// The shortest interval between two key frames for viewers that have shown none yet.
    static var firstKeyframeInterval: MediaDuration { .milliseconds(250) }

    private func keyframeInterval(_ control: EncoderControl) -> MediaDuration {
        control.isFirstFrameAwaited ? Self.firstKeyframeInterval : .seconds(1)
    }
}
