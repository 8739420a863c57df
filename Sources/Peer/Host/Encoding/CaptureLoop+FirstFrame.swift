import MediaCore
import MediaEngine

/// The first frame of viewers that are connecting.
struct FirstFramePreparation {
    /// A key frame that nobody has got yet. The encoder has encoded nothing since.
    var frame: EncodingStage.Result?
    /// When one was last made.
    var last: MediaInstant?

    /// Viewers that come and go, or a screen that changes, cost one key frame in this time.
    static let interval = MediaDuration.seconds(1)
}

/// Makes the first frame while a viewer is connecting and nobody watches, so that it is ready when the connection is.
extension CaptureLoop {
    /// Reads the screen and encodes a key frame, or waits until that is due.
    func prepareFirstFrame(_ control: EncoderControls, _ now: MediaInstant) throws(SourceFailure) {
        guard let target = control.expected else { return }
        if source.size != canvas.size { return adoptSize() }
        let due = preparation.last.map { $0 + FirstFramePreparation.interval } ?? now
        guard needsRead, due <= now else { return try sleep(until: needsRead ? due : .distantFuture, control) }
        preparation.last = now
        needsRead = false
        if try read() { lastChange = captured }
        // Nobody has waited for it.
        main.changedSince = nil
        if source.size != canvas.size { return adoptSize() }
        var request = control.main
        request.target = target
        preparation.frame = stage.make(
            canvas, main, request, .init(isKeyframe: true, captured: captured), clock())
    }

    /// Passes on the frame that was made for a viewer that is connected now. What has changed since follows it.
    /// - Returns: false if there is none.
    func passFirstFrame(_ control: EncoderControl, _ now: MediaInstant) -> Bool {
        guard let frame = preparation.frame else { return false }
        guard control.isWanted else {
            dropFirstFrame()
            return false
        }
        preparation.frame = nil
        main.schedule.note(frameAt: now)
        _ = stage.pass(frame, main, now)
        return true
    }

    /// What follows has to be a key frame, as nobody has the one that was dropped.
    func dropFirstFrame() {
        guard preparation.frame != nil else { return }
        preparation.frame = nil
        main.restart(canvas.size)
        main.lastKeyframe = nil
    }
}
