internal import LinuxRuntime
internal import MediaCore

/// The picture, from the camera's thread to those who show it.
extension CameraFeed {
    /// Grows with every change of the picture or the settings; `hasPicture`: there is one to show.
    var now: (serial: UInt64, hasPicture: Bool) { state.with { ($0.serial, $0.picture != nil) } }

    /// Calls `body` with the picture, or nil if there is none to show; the picture is lent for the call.
    func withPicture<R>(_ body: (I420Buffer?, Settings, _ serial: UInt64, _ captured: MediaInstant) -> R) -> R {
        state.with { body($0.picture, $0.settings, $0.serial, $0.captured) }
    }

    /// Waits for the first picture.
    /// - Throws: why there is none.
    func waitForPicture(within patience: MediaDuration) throws(SourceFailure) -> PixelSize {
        let result = state.wait(until: MonotonicClock.now + patience) { state -> Result<PixelSize, SourceFailure>? in
            if let picture = state.picture { return .success(picture.size) }
            return state.failure.map { .failure($0) }
        }
        guard let result else { throw SourceFailure(.noSuchDevice, "the camera delivers no picture") }
        return try result.get()
    }

    /// What the camera's thread is to do.
    struct CaptureRequest {
        var isClosed: Bool
        var isWanted: Bool
        var settings: Settings
        var frame: PixelSize?
        var choice: Choice
        var search: CameraSearch
    }

    var request: CaptureRequest {
        state.with { state in
            CaptureRequest(
                isClosed: state.isClosed, isWanted: state.isWanted, settings: state.settings, frame: state.frame,
                choice: state.choice, search: state.search)
        }
    }

    /// Exchanges the picture for the next one.
    /// - Parameter buffer: gets the old one, to be used again.
    func publish(_ buffer: inout I420Buffer?, of camera: CameraDevice, _ size: PixelSize, _ captured: MediaInstant) {
        state.change { state in
            guard state.settings.isEnabled else { return }
            swap(&state.picture, &buffer)
            state.serial += 1
            state.captured = captured
            state.name = camera.name
            state.size = size
            state.failure = nil
        }
        wakeWatchers()
    }

    /// Takes the picture away.
    /// - Parameter failure: why; nil if nobody wants it.
    func clear(_ failure: SourceFailure?) {
        let isNew = state.change { state in
            (state.name, state.size) = (nil, nil)
            state.failure = failure
            // A whole picture stays as it was.
            guard state.picture != nil, !isWhole else { return false }
            state.picture = nil
            state.serial += 1
            return true
        }
        if isNew { wakeWatchers() }
    }

    func fail(_ failure: SourceFailure) { state.change { $0.failure = failure } }

    func wakeWatchers() {
        for watcher in state.with({ $0.watchers.values.filter(\.isActive) }) { watcher.wake() }
    }
}
