import CSDL
import Glibc
import LinuxRuntime
public import MediaCore
import Synchronization

/// A window that shows video frames.
///
/// At rest it sleeps in one `poll`, without timers. Keys: F, F11 or a double click toggles full screen, M mutes, S
/// shows statistics, 1 switches between the frame's own size and the window's, arrow keys, the wheel and the mouse move
/// a frame that is larger than the window, Q closes, Esc leaves full screen or closes.
/// - Isolation: created, run and released on the main thread. `show`, `setStatus`, `setStatistics`,
///   `showComment`, `setTitle`, `setIcon`, `stop` and `dismiss` from any thread.
public final class VideoWindow: @unchecked Sendable {
    // SAFETY: `shadow`, `commands` and `wakeup` are the crossing and guard themselves. Everything else is confined to
    // the thread that made the window, which `run` checks.

    /// How frames are presented.
    public enum Presentation: Sendable {
        /// The GPU if there is one, else `surface`.
        case automatic
        /// Conversion on the CPU; only changed blocks go to the display.
        case surface
        /// Conversion and scaling on the GPU.
        case texture
    }

    /// Why `run` returned.
    public enum End: Equatable, Sendable {
        case closedByUser, stopped, deadline
    }

    let shadow = FrameDoubleBuffer()
    let commands = Mutex(Commands())
    let wakeup: WindowWakeup
    private let owner = pthread_self()
    let window: OpaquePointer
    private let presenter: WindowPresenter
    var geometry: WindowGeometry
    var overlay = WindowOverlay()
    var view = View()
    /// Whether any key closes the window.
    var isDismissible = false
    var isClosedByUser = false
    /// Whether a signal's event was in SDL's queue.
    var isSignalled = false
    let onMute: @Sendable (Bool) -> Void
    let onStatistics: @Sendable (Bool) -> Void
    var showsStatistics = false

    /// How the next frame is presented.
    struct View {
        var isDimmed = false
        var isHidden = false
        /// Whether all of the window must be drawn, not only what changed.
        var needsEverything = true
        /// When the overlay changes by itself.
        var nextChange: MediaInstant?
        /// The part of the frame that the user looks at.
        var picture = PictureLayout.View()
    }

    /// Opens the window.
    /// - Parameters:
    ///   - place: where the user has left such a window; nil for the middle of the work area, in the frames' size.
    ///   - startsMute: whether audio is muted at first.
    ///   - awaitsAudio: there is nothing to mute before `noteAudio` is called.
    ///   - onMute: called on the main thread when the user mutes or unmutes.
    ///   - onStatistics: called on the main thread when the user shows or hides statistics.
    /// - Throws: `.noDisplay` if there is no display.
    public init(
        title: String, converter: any PixelConverter, place: WindowPlace? = nil, startsFullscreen: Bool = false,
        startsMute: Bool = false, awaitsAudio: Bool = false, presentation: Presentation = .automatic,
        onMute: @escaping @Sendable (Bool) -> Void = { _ in },
        onStatistics: @escaping @Sendable (Bool) -> Void = { _ in }
    ) throws(SourceFailure) {
        guard SDLLibrary.open(UInt32(SDL_INIT_VIDEO)) else { throw Self.noDisplay() }
        do {
            var geometry = WindowGeometry(remembered: place)
            window = try geometry.makeWindow(title: title)
            self.geometry = geometry
            var socket = Int32(-1)
            if let display = csdl_x11_display(window) {
                socket = csdl_x11_socket(display)
                SDLLibrary.surviveDisplayLoss(display)
            }
            wakeup = try WindowWakeup(socket: socket)
            presenter = try WindowPresenter(window, converter, presentation)
        } catch {
            SDLLibrary.close(UInt32(SDL_INIT_VIDEO))
            throw error
        }
        self.onMute = onMute
        self.onStatistics = onStatistics
        overlay.isMute = startsMute
        overlay.hasAudio = !awaitsAudio
        WindowIcon.share.set(window)
        SDL_StopTextInput()
        if startsFullscreen { self.geometry.toggleFullscreen(window) }
    }

    /// The place to be remembered for the next window; nil if the user has not moved or resized this one.
    /// - Isolation: main thread.
    public var chosenPlace: WindowPlace? {
        SDLLibrary.isDisplayGone.load(ordering: .acquiring) ? nil : geometry.chosenPlace(window)
    }

    /// Checks that a window can be opened.
    /// - Throws: `.noDisplay` if the display does not answer.
    public static func checkDisplay() throws(SourceFailure) {
        guard SDLLibrary.open(UInt32(SDL_INIT_VIDEO)) else { throw noDisplay() }
        SDLLibrary.close(UInt32(SDL_INIT_VIDEO))
    }

    private static func noDisplay() -> SourceFailure {
        SourceFailure(
            .noDisplay, "No window can be opened: \(SDLLibrary.lastError).",
            remedy: "Set DISPLAY to a running X server, or join without a window.")
    }

    deinit {
        guard !SDLLibrary.isDisplayGone.load(ordering: .acquiring) else { return }
        presenter.close()
        SDL_DestroyWindow(window)
        SDLLibrary.close(UInt32(SDL_INIT_VIDEO))
    }

    /// Keeps the window with the last frame until the user presses a key or closes it, or until `dismiss`.
    /// - Parameter status: why the video ended.
    public func runUntilDismissed(_ status: String) throws(SourceFailure) -> End {
        change {
            $0.isStopped = $0.isDismissed
            $0.status = status
            $0.isDimmed = true
        }
        isClosedByUser = false
        isDismissible = true
        defer { isDismissible = false }
        return try run()
    }

    /// Handles window events until the user closes the window or `stop` is called.
    /// It may be called again, to keep the last frame on screen.
    /// - Parameter deadline: nil for no time limit.
    /// - Throws: `.displayGone` if the connection to the display broke; the window cannot be used afterwards.
    public func run(until deadline: MediaInstant? = nil) throws(SourceFailure) -> End {
        precondition(pthread_equal(owner, pthread_self()) != 0, "a window runs on the thread that made it")
        var isTimedOut = false
        while true {
            handleEvents()
            isSignalled = false
            let isStopped = takeCommands()
            if SDLLibrary.isDisplayGone.load(ordering: .acquiring) { throw Self.displayGone }
            let nextFrame = shadow.takeDue(MonotonicClock.now)
            if !view.isHidden { present() }
            // Presenting may have read events from the connection, which `poll` would not report any more.
            handleEvents()
            if SDLLibrary.isDisplayGone.load(ordering: .acquiring) { throw Self.displayGone }
            if isClosedByUser { return .closedByUser }
            if isStopped { return .stopped }
            if isTimedOut { return .deadline }
            if !isSignalled, !view.needsEverything || view.isHidden {
                wakeup.wait(until: [nextFrame, view.nextChange, deadline].compactMap(\.self).min())
            }
            if let deadline, MonotonicClock.now >= deadline { isTimedOut = true }
        }
    }

    private static let displayGone = SourceFailure(
        .displayGone, "The display is gone: the connection to the X server broke.",
        remedy: "Start the X server again and join once more.")

    private func takeCommands() -> Bool {
        let now = MonotonicClock.now
        let (isStopped, changes) = commands.withLock { commands in
            if let end = commands.comments.nextEnd, end <= now {
                commands.comments.expire(now)
                commands.hasChanges = true
            }
            defer {
                commands.hasChanges = false
                commands.title = nil
                commands.icon = nil
            }
            return (commands.isStopped, commands.hasChanges ? commands : nil)
        }
        if let changes {
            overlay.status = changes.status
            overlay.hasAudio = overlay.hasAudio || changes.hasAudio
            overlay.comments = changes.comments.text
            view.nextChange = changes.comments.nextEnd
            overlay.statistics = showsStatistics ? changes.statistics : nil
            view.isDimmed = changes.isDimmed
            if let title = changes.title { SDL_SetWindowTitle(window, title) }
            changes.icon?.set(window)
        }
        return isStopped
    }

    private func present() {
        if let size = shadow.size, geometry.adopt(size, window) { view.needsEverything = true }
        let everything = view.needsEverything
        view.needsEverything = false
        presenter.present(
            shadow, overlay, view.picture, isDimmed: view.isDimmed, everything: everything)
    }
}
