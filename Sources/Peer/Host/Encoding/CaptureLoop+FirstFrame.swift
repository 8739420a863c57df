import MediaCore
import MediaEngine

/// The first frame of viewers that are connecting.
struct FirstFramePreparation {
    /// A key frame that nobody has got yet. The encoder has encoded nothing since.
    var frame: EncodingStage.Result?
    /// The source has shown its picture of the time since it was resumed, and not one from before.
    var isCurrent = false
    /// The canvas was read for nobody who has got it.
    var isUnseen = false
    /// When a frame may be made again: viewers that never connect, or a screen that changes, cost one in a second, and
    /// half of their bitrate.
    private(set) var due = MediaInstant(nanoseconds: 0)
    private var made = MediaInstant(nanoseconds: 0)
    /// Until when the frames that were passed on are paid for.
    private var paid = MediaInstant(nanoseconds: 0)

    static let interval = MediaDuration.seconds(1)

    mutating func noteMade(bytes: Int, _ target: EncodingTarget, at now: MediaInstant) {
        made = now
        due = now + max(Self.interval, target.bitrate.duration(ofBytes: 2 * bytes))
    }

    /// A viewer that is connected has got the frame. The next one need not wait, and those after it no longer than
    /// viewers that join others.
    mutating func noteTaken() {
        frame = nil
        due = min(due, max(paid, made))
        paid = max(paid, made) + CaptureLoop.firstKeyframeInterval
    }
}

/// Makes the first frame while a viewer is connecting and nobody watches, so that it is ready when the connection is.
extension CaptureLoop {
    /// Reads the screen and encodes a key frame, or waits until that is due.
    func prepareFirstFrame(_ control: EncoderControls, _ now: MediaInstant) throws(SourceFailure) {
        guard let target = control.expected else { return }
        if source.size != canvas.size { return adoptSize() }
        guard preparation.isCurrent else {
            switch try source.wait(until: nil) {
            case .damaged: preparation.isCurrent = true
            case .resized: adoptSize()
            case .woken: break
            }
            return
        }
        let due = preparation.due
        guard needsRead, due <= now else { return try sleep(until: needsRead ? due : .distantFuture, control) }
        preparation.isUnseen = true
        // Nobody waits for it.
        defer { main.changedSince = nil }
        guard let after = try updateCanvas(since: now) else { return }
        dropFirstFrame()
        var request = control.main
        request.target = target
        let frame = stage.make(canvas, main, request, .init(isKeyframe: true, captured: captured), after)
        preparation.frame = frame
        preparation.noteMade(bytes: frame?.frame.bytes.count ?? 0, target, at: now)
    }

    /// Passes on the frame that was made for a viewer that is connected now. What has changed since follows it.
    /// - Returns: false if there is none.
    func passFirstFrame(_ control: EncoderControl, _ now: MediaInstant) -> Bool {
        preparation.isUnseen = false
        guard let frame = preparation.frame else { return false }
        guard control.isWanted else {
            dropFirstFrame()
            return false
        }
        preparation.noteTaken()
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
