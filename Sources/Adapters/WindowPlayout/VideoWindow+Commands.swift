import LinuxRuntime
public import MediaCore
import Synchronization

/// The methods of the window for other threads.
extension VideoWindow {
    struct Commands {
        var isStopped = false
        /// Set by `dismiss`: `runUntilDismissed` returns at once.
        var isDismissed = false
        var status: String?
        var isDimmed = false
        var statistics: String?
        var title: String?
        var icon: WindowIcon?
        var hasAudio = false
        var comments = WindowComments()
        var hasChanges = false
    }

    /// Copies a frame and removes the status. The frame is presented after those before it.
    /// - Parameter time: when to present it; nil or a time that is over: as soon as possible. At most 64 MiB of frames
    ///   wait.
    /// - Isolation: any one thread at a time. Allocates only when the frame size changes, and when frames have to wait.
    public func show(_ frame: I420Frame, at time: MediaInstant? = nil) {
        let isLater = time.map { $0 > MonotonicClock.now } ?? false
        let isChanged = shadow.update(frame, at: isLater ? time : nil)
        let hadStatus = commands.withLock { commands in
            guard commands.status != nil else { return false }
            commands.status = nil
            commands.isDimmed = false
            commands.hasChanges = true
            return true
        }
        if isChanged || hadStatus { wakeup.signal() }
    }

    /// There is audio, which can be muted.
    public func noteAudio() { change { $0.hasAudio = true } }

    /// Shows a sentence in the centre of the window, over the last frame if there is one; nil removes it.
    /// - Parameter isDimming: shows the frame darker, because it is out of date.
    public func setStatus(_ text: String?, isDimming: Bool = false) {
        change {
            $0.status = text
            $0.isDimmed = text != nil && isDimming
        }
    }

    /// Shows lines at the top left while statistics are on; `onStatistics` reports when they are switched.
    public func setStatistics(_ text: String) {
        change { $0.statistics = text }
    }

    /// Shows a comment at the bottom left for a time.
    /// - Parameter text: one line.
    public func showComment(_ text: String, for time: MediaDuration = .seconds(12)) {
        change { $0.comments.add(text, until: MonotonicClock.now + time) }
    }

    public func setTitle(_ text: String) {
        change { $0.title = text }
    }

    /// - Parameter icon: nil for share's own.
    public func setIcon(_ icon: WindowIcon?) {
        change { $0.icon = icon ?? .share }
    }

    /// Makes `run` return; if it is not running, the next call returns at once.
    public func stop() {
        change { $0.isStopped = true }
    }

    /// Makes this and every later call of `run` and `runUntilDismissed` return.
    public func dismiss() {
        change {
            $0.isStopped = true
            $0.isDismissed = true
        }
    }

    func change(_ body: (inout sending Commands) -> Void) {
        commands.withLock { commands in
            body(&commands)
            commands.hasChanges = true
        }
        wakeup.signal()
    }
}
