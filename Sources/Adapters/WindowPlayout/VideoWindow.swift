import CSDL
import Glibc
import LinuxRuntime
public import MediaCore
import Synchronization

/// A window that shows video frames.
///
/// At rest it sleeps in one `poll`, without timers. Keys: F, F11 or a double click toggles full screen, M mutes, S
/// shows statistics, Q closes, Esc leaves full screen or closes.
/// - Isolation: created, run and released on the main thread. `show`, `setStatus`, `setStatistics`, `setTitle`, `stop`
///   and `dismiss` from any thread.
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

    private struct Commands {
        var isStopped = false
        /// Set by `dismiss`: `runUntilDismissed` returns at once.
        var isDismissed = false
        var status: String?
        var isDimmed = false
        var statistics: String?
        var title: String?
        var hasChanges = false
    }

    private let shadow = FrameShadow()
    private let commands = Mutex(Commands())
    private let wakeup: WindowWakeup
    private let owner = pthread_self()
    private let window: OpaquePointer
    private let presenter: WindowPresenter
    private var geometry: WindowGeometry
    private var overlay = WindowOverlay()
    private var isDimmed = false
    /// Whether any key closes the window.
    private var isDismissible = false
    private var isHidden = false
    private var needsEverything = true
    private var isClosedByUser = false
    /// Whether a signal's event was in SDL's queue.
    private var isSignalled = false
    private let onMute: @Sendable (Bool) -> Void
    private let onStatistics: @Sendable (Bool) -> Void
    private var showsStatistics = false

    /// Opens the window.
    /// - Parameters:
    ///   - startsMute: whether audio is muted at first.
    ///   - onMute: called on the main thread when the user mutes or unmutes.
    ///   - onStatistics: called on the main thread when the user shows or hides statistics.
    /// - Throws: `.noDisplay` if there is no display.
    public init(
        title: String, converter: any PixelConverter, startsFullscreen: Bool = false, startsMute: Bool = false,
        presentation: Presentation = .automatic, onMute: @escaping @Sendable (Bool) -> Void = { _ in },
        onStatistics: @escaping @Sendable (Bool) -> Void = { _ in }
    ) throws(SourceFailure) {
        guard SDLLibrary.open(UInt32(SDL_INIT_VIDEO)) else { throw Self.noDisplay() }
        do {
            let geometry = WindowGeometry()
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
        WindowIcon.set(window)
        SDL_StopTextInput()
        if startsFullscreen { self.geometry.toggleFullscreen(window) }
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

    public func setTitle(_ text: String) {
        change { $0.title = text }
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

    private func change(_ body: (inout sending Commands) -> Void) {
        commands.withLock { commands in
            body(&commands)
            commands.hasChanges = true
        }
        wakeup.signal()
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
            if !isHidden { present() }
            // Presenting may have read events from the connection, which `poll` would not report any more.
            handleEvents()
            if SDLLibrary.isDisplayGone.load(ordering: .acquiring) { throw Self.displayGone }
            if isClosedByUser { return .closedByUser }
            if isStopped { return .stopped }
            if isTimedOut { return .deadline }
            if !isSignalled, !needsEverything || isHidden {
                wakeup.wait(until: nextFrame.map { min($0, deadline ?? $0) } ?? deadline)
            }
            if let deadline, MonotonicClock.now >= deadline { isTimedOut = true }
        }
    }

    private static let displayGone = SourceFailure(
        .displayGone, "The display is gone: the connection to the X server broke.",
        remedy: "Start the X server again and join once more.")

    private func takeCommands() -> Bool {
        let (isStopped, changes) = commands.withLock { commands in
            defer {
                commands.hasChanges = false
                commands.title = nil
            }
            return (commands.isStopped, commands.hasChanges ? commands : nil)
        }
        if let changes {
            overlay.status = changes.status
            overlay.statistics = showsStatistics ? changes.statistics : nil
            isDimmed = changes.isDimmed
            if let title = changes.title { SDL_SetWindowTitle(window, title) }
        }
        return isStopped
    }

    private func present() {
        if let size = shadow.size, geometry.adopt(size, window) { needsEverything = true }
        let everything = needsEverything
        needsEverything = false
        presenter.present(shadow, overlay, isDimmed: isDimmed, everything: everything)
    }

    private func handleEvents() {
        var event = SDL_Event()
        while SDL_PollEvent(&event) != 0 {
            switch SDL_EventType(event.type) {
            case SDL_QUIT: isClosedByUser = true
            case SDL_KEYDOWN where event.key.repeat == 0: handleKey(event.key.keysym)
            case SDL_MOUSEBUTTONDOWN where event.button.clicks == 2 && event.button.button == 1:
                geometry.toggleFullscreen(window)
            case SDL_WINDOWEVENT: handleWindow(event.window)
            case SDL_RENDER_TARGETS_RESET, SDL_RENDER_DEVICE_RESET: needsEverything = true
            default: if event.type == wakeup.eventType { isSignalled = true }
            }
        }
    }

    private func handleKey(_ key: SDL_Keysym) {
        // Modifier keys have the highest key codes. They do not close the window: they begin desktop shortcuts.
        let isModifier = (SDLK_LCTRL.rawValue...SDLK_RGUI.rawValue).contains(UInt32(bitPattern: key.sym))
        if isDismissible {
            isClosedByUser = isClosedByUser || !isModifier
            return
        }
        switch Int(key.sym) {
        case Int(SDLK_f.rawValue), Int(SDLK_F11.rawValue): geometry.toggleFullscreen(window)
        case Int(SDLK_m.rawValue):
            overlay.isMute.toggle()
            onMute(overlay.isMute)
        case Int(SDLK_s.rawValue):
            showsStatistics.toggle()
            // The statistics from before are out of date.
            commands.withLock { $0.statistics = showsStatistics ? "..." : nil }
            overlay.statistics = showsStatistics ? "..." : nil
            onStatistics(showsStatistics)
        case Int(SDLK_ESCAPE.rawValue) where geometry.isFullscreen: geometry.toggleFullscreen(window)
        case Int(SDLK_q.rawValue), Int(SDLK_ESCAPE.rawValue): isClosedByUser = true
        default: break
        }
    }

    private func handleWindow(_ event: SDL_WindowEvent) {
        switch SDL_WindowEventID(UInt32(event.event)) {
        case SDL_WINDOWEVENT_CLOSE: isClosedByUser = true
        case SDL_WINDOWEVENT_HIDDEN, SDL_WINDOWEVENT_MINIMIZED: isHidden = true
        case SDL_WINDOWEVENT_SHOWN, SDL_WINDOWEVENT_RESTORED, SDL_WINDOWEVENT_MAXIMIZED, SDL_WINDOWEVENT_EXPOSED:
            isHidden = false
            needsEverything = true
        case SDL_WINDOWEVENT_SIZE_CHANGED:
            geometry.sizeChanged(to: PixelSize(width: Int(event.data1), height: Int(event.data2)))
            needsEverything = true
        default: break
        }
    }
}
