internal import Host
internal import LinuxRuntime

/// Pauses the broadcast of an app while the app is in the background: its window is hidden, as the app or the display
/// says, or the session is locked.
/// The app's user is asked on return. A broadcast that was paused before stays as it is.
struct Background: Sendable {
    enum Change: Sendable {
        /// The broadcast was paused.
        case paused
        /// The app can be seen again, and the broadcast is still paused.
        case returned
    }

    /// As the app says.
    let isHidden: StateChanges<Bool>
    let windows: OwnWindows
    let lock: SessionLock

    /// Pauses until the task is cancelled.
    func follow(_ broadcast: any ControllableBroadcast, _ report: @Sendable (Change) -> Void) async {
        var hasPaused = false
        for await isAway in changes {
            if isAway {
                hasPaused = await broadcast.pause()
                if hasPaused { report(.paused) }
            } else if hasPaused {
                hasPaused = false
                if await broadcast.isPaused() { report(.returned) }
            }
        }
    }

    /// Whether the app is in the background: now, and after each change.
    private var changes: AsyncStream<Bool> {
        let (stream, feed) = AsyncStream.makeStream(of: Bool.self)
        let last = Monitor(false)
        let update: @Sendable () -> Void = {
            last.with { last in
                let isAway = isHidden.value || windows.areHidden || lock.isLocked
                guard isAway != last else { return }
                last = isAway
                feed.yield(isAway)
            }
        }
        let tasks = [isHidden.stream, windows.stream, lock.stream].map { changes in
            Task { for await _ in changes { update() } }
        }
        feed.onTermination = { _ in for task in tasks { task.cancel() } }
        return stream
    }
}
