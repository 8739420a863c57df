import LinuxRuntime
import MediaCore
import MediaEngine

/// What the video thread does while the screen is not captured.
extension CaptureLoop {
    /// Encodes the frame that stands, if there is one, for viewers that lack it, and waits for a change of the
    /// requests.
    /// - Throws: the screen is gone.
    func hold(_ control: EncoderControls) throws(SourceFailure) {
        show(control.hold)
        updateLow(control)
        let hasPicture = blank != nil || control.hold == .freeze
        guard control.hasViewers, hasPicture, control.hold != .pause, let due = nextWork(control) else {
            if try !source.waitSuspended() { controls.wait { $0.generation != control.generation ? () : nil } }
            return
        }
        guard due <= clock() else {
            _ = controls.wait(until: due) { $0.generation != control.generation ? () : nil }
            return
        }
        work(main, control.main, clock())
        if let low { work(low, control.low, clock()) }
    }

    /// Makes the blank frame, or takes it away, as the hold has it. A pause leaves what viewers see.
    func show(_ hold: BroadcastHold?) {
        switch hold {
        case .blank: showBlank()
        // A frame that a blank picture has covered is not shown to stand still, nor one from before a pause.
        case .freeze: if captured.nanoseconds == 0 { showBlank() }
        case .pause: break
        case nil:
            guard blank != nil else { return }
            blank = nil
            for encoding in [main, low].compactMap(\.self) { encoding.restart(canvas.size) }
        }
    }

    private func showBlank() {
        guard blank?.size != canvas.size else { return }
        let frame = I420Buffer(canvas.size)
        frame.fillWithBlank()
        blank = frame
        // Frames that viewers have not got yet are dropped, so that it has to be a key frame.
        for encoding in [main, low].compactMap(\.self) {
            encoding.restart(frame.size)
            encoding.changedSince = nil
            encoding.lastKeyframe = nil
        }
    }
}

extension I420Buffer {
    /// Fills it with the dark grey of a blanked broadcast.
    package func fillWithBlank() { fill(luma: 52, cb: 132, cr: 125) }
}
