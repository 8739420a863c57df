import CSDL
import Glibc
import LinuxRuntime
public import MediaCore
import Synchronization

/// A window that shows video frames.
///
/// At rest it sleeps in one `poll`, without timers. Keys: F, F11 or a double click toggles full screen, M mutes, S
/// shows statistics, 1 switches between the frame's own size and the window's, arrow keys, the wheel and the mouse move
/// a frame that is larger than the window, Q closes, Esc leaves full screen or closes. With the rights that the host
/// gives, P points, C opens a line for a comment, and R controls the host's screen, which then gets all keys and the
/// mouse until Right Ctrl is pressed and released alone. A bar with these choices comes with the mouse.
/// - Isolation: created, run and released on the main thread. `show`, `setStatus`, `setStatistics`, `showComment`,
///   `setRights`, `showPointers`, `setTitle`, `setIcon`, `stop` and `dismiss` from any thread.
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
    let presenter: WindowPresenter
    var geometry: WindowGeometry
    var overlay = WindowOverlay()
    var view = View()
    /// Whether any key closes the window.
    var isDismissible = false
    var isClosedByUser = false
    /// Whether a signal's event was in SDL's queue.
    var isSignalled = false
    let callbacks: Callbacks
    var interaction = Interaction()
    let keyReader: KeyReader

    /// What the window tells, on the main thread.
    struct Callbacks {
        var onMute: @Sendable (Bool) -> Void
        var onStatistics: @Sendable (Bool) -> Void
        var onAction: @Sendable (Action) -> Void
    }

    /// How the next frame is presented.
    struct View {
        var isDimmed = false
        var isHidden = false
        /// Whether all of the window must be drawn, not only what changed.
        var needsEverything = true
        /// When the comments change by themselves.
        var nextChange: MediaInstant?
        /// The part of the frame that the user looks at.
        var picture = PictureLayout.View()
        var showsStatistics = false
        var bar = WindowBar()
        var controlHint = WindowOverlay.Edge.bottom
        /// The pointers of viewers, and when they change by themselves.
        var marks: [PointerMark] = []
        var nextMarks: MediaInstant?
        /// The pointer of the mouse; nil: SDL's own.
        var cursor: OpaquePointer?
    }

    /// Opens the window.
    /// - Parameters:
    ///   - place: where the user has left such a window; nil for the middle of the work area, in the frames' size.
    ///   - startsMute: whether audio is muted at first.
    ///   - awaitsAudio: there is nothing to mute before `noteAudio` is called.
    ///   - onMute: called on the main thread when the user mutes or unmutes.
    ///   - onStatistics: called on the main thread when the user shows or hides statistics.
    ///   - onAction: called on the main thread with what the user does beside watching. It has to return at once.
    /// - Throws: `.noDisplay` if there is no display.
    public init(
        title: String, converter: any PixelConverter, place: WindowPlace? = nil, startsFullscreen: Bool = false,
        startsMute: Bool = false, awaitsAudio: Bool = false, presentation: Presentation = .automatic,
        onMute: @escaping @Sendable (Bool) -> Void = { _ in },
        onStatistics: @escaping @Sendable (Bool) -> Void = { _ in },
        onAction: @escaping @Sendable (Action) -> Void = { _ in }
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
        callbacks = Callbacks(onMute: onMute, onStatistics: onStatistics, onAction: onAction)
        keyReader = KeyReader(window: window)
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
        keyReader.stop()
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
        changeInteraction { $0.end() }
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
            updateOverlay(MonotonicClock.now)
            if SDLLibrary.isDisplayGone.load(ordering: .acquiring) { throw Self.displayGone }
            let nextFrame = shadow.takeDue(MonotonicClock.now)
            if !view.isHidden { present() }
            // Presenting may have read events from the connection, which `poll` would not report any more.
            let hasMore = handleEvents()
            if SDLLibrary.isDisplayGone.load(ordering: .acquiring) { throw Self.displayGone }
            if isClosedByUser { return .closedByUser }
            if isStopped { return .stopped }
            if isTimedOut { return .deadline }
            if !hasMore, !isSignalled, !view.needsEverything || view.isHidden {
                let changes = [view.nextChange, view.nextMarks, view.bar.end, interaction.nextTime]
                wakeup.wait(until: (changes + [nextFrame, deadline]).compactMap(\.self).min())
            }
            if let deadline, MonotonicClock.now >= deadline { isTimedOut = true }
        }
    }

    private static let displayGone = SourceFailure(
        .displayGone, "The display is gone: the connection to the X server broke.",
        remedy: "Start the X server again and join once more.")

    private func present() {
        if let size = shadow.size, geometry.adopt(size, window) { view.needsEverything = true }
        let everything = view.needsEverything
        view.needsEverything = false
        presenter.present(
            shadow, overlay, view.picture, view.marks, isDimmed: view.isDimmed, everything: everything)
    }
}
