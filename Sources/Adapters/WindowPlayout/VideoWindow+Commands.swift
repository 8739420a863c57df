import CSDL
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
        var isStatusLasting = false
        var comments = WindowComments()
        var rights: ViewerRights?
        var pointers = PointerMarks()
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
            guard commands.status != nil, !commands.isStatusLasting else { return false }
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
    /// - Parameters:
    ///   - isDimming: shows the frame darker, because it is out of date.
    ///   - isLasting: it stays when a frame comes.
    public func setStatus(_ text: String?, isDimming: Bool = false, isLasting: Bool = false) {
        change {
            ($0.status, $0.isStatusLasting) = (text, isLasting)
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

    /// What the user may do, as the host has told.
    public func setRights(_ rights: ViewerRights) {
        change { $0.rights = rights }
    }

    /// Shows what other viewers' pointers do. They fade by themselves.
    public func showPointers(_ events: PointerEvents) {
        let now = MonotonicClock.now
        change { $0.pointers.handle(events, now: now) }
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

    /// Takes over what other threads have set.
    /// - Returns: whether the window is to stop.
    func takeCommands() -> Bool {
        let now = MonotonicClock.now
        let areMarksDue = view.nextMarks.map { $0 <= now } ?? false
        let (isStopped, changes) = commands.withLock { commands in
            if let end = commands.comments.nextEnd, end <= now {
                commands.comments.expire(now)
                commands.hasChanges = true
            }
            if areMarksDue || commands.hasChanges {
                view.marks = commands.pointers.marks(at: now)
                view.nextMarks = commands.pointers.nextChange(after: now)
            }
            defer {
                commands.hasChanges = false
                commands.title = nil
                commands.icon = nil
                commands.rights = nil
            }
            return (commands.isStopped, commands.hasChanges ? commands : nil)
        }
        if let changes {
            overlay.status = changes.status
            overlay.hasAudio = overlay.hasAudio || changes.hasAudio
            overlay.comments = changes.comments.text
            view.nextChange = changes.comments.nextEnd
            overlay.statistics = view.showsStatistics ? changes.statistics : nil
            view.isDimmed = changes.isDimmed
            if let rights = changes.rights { changeInteraction { $0.setRights(rights, now: now) } }
            if let title = changes.title { SDL_SetWindowTitle(window, title) }
            changes.icon?.set(window)
        }
        return isStopped
    }
}
