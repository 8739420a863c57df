import CommandSupport
import Host
import LinuxRuntime
import MediaCore
import PortalCapture
import Synchronization
import X11Control

/// Passes the input of the viewer that controls on to the screen that is shared. Safe from any thread.
///
/// An X display is opened when a viewer gets the control, and closed when it ends: until then nothing of this machine's
/// input is observed.
final class ScreenControl: Sendable {
    private struct State {
        var input: (any RemoteInputSink)?
        /// Says who controls.
        var notice: (any ShownController)?
        var pointers: PointerOverlay?
        /// Whether pointers cannot be shown.
        var lacksPointers = false
        /// What came while the display is being opened; nil: it is not.
        var waiting: [(input: ControlInput, at: MediaInstant)]?
        /// Grows with each viewer that gets the control, and with each end.
        var turn = 0
        /// The host's user takes the control back.
        var takeBack: (@Sendable () -> Void)?
    }

    private static let waitingLimit = 256
    /// Inputs that come later are not meant any more.
    private static let waitingTime = MediaDuration.milliseconds(500)

    let screen: ControlledScreen
    private let state = Mutex(State())
    private let queue = SerialTasks()

    /// - Parameter window: the one that is captured; nil for others.
    /// - Returns: nil for what is no display, or a part of one.
    init?(_ source: CaptureSource, window: UInt32?, display: String?) {
        switch source {
        case .screen, .monitor, .region: break
        case .window where window != nil: break
        default: return nil
        }
        screen = .x11(source, window: window, display: display)
    }

    /// - Parameter busAddress: of the session bus, where notifications are shown.
    init(_ input: PortalInput, busAddress: String?) { screen = .portal(input, busAddress: busAddress) }

    var target: ControlTarget {
        ControlTarget(
            apply: { [self] input in
                state.withLock { state in
                    guard let count = state.waiting?.count else {
                        state.input?.apply(input)
                        return
                    }
                    // A press without its release would stay.
                    if count >= Self.waitingLimit { state.waiting = [] }
                    state.waiting?.append((input, MonotonicClock.now))
                }
            },
            releaseAll: { [self] in
                state.withLock { state in
                    if state.waiting != nil { state.waiting = [] }
                    state.input?.releaseAll()
                }
            })
    }

    /// Sets what is done when the host's user takes the control back on the display.
    func onTakeBack(_ takeBack: (@Sendable () -> Void)?) { state.withLock { $0.takeBack = takeBack } }

    /// Shows pointers over the window that is shared. Over a display or a part of it, viewers would see them twice.
    /// - Parameter tell: gets those that cannot be shown; returns at once.
    func showPointers(
        otherwise tell: @escaping @Sendable (PointerEvents) -> Void
    ) -> @Sendable (PointerEvents) -> Void {
        guard case .x11(_, let window?, let display) = screen else { return tell }
        return { [self] events in
            if state.withLock({ $0.lacksPointers }) { return tell(events) }
            // Only the first ones wait for a display.
            if !showAtOnce(events) {
                queue.run { [self] in openPointers(over: window, of: display, showing: events) }
            }
        }
    }

    /// - Returns: false before it is known whether pointers can be shown.
    private func showAtOnce(_ events: PointerEvents) -> Bool {
        let (overlay, isLacking) = state.withLock { ($0.pointers, $0.lacksPointers) }
        overlay?.show(events)
        return overlay != nil || isLacking
    }

    private func openPointers(over window: UInt32, of display: String?, showing events: PointerEvents) {
        if showAtOnce(events) { return }
        do throws(SourceFailure) {
            let overlay = try PointerOverlay(display: display, window: window)
            state.withLock { $0.pointers = overlay }
            overlay.show(events)
        } catch {
            state.withLock { $0.lacksPointers = true }
            ErrorOutput.writeLine("share: pointers are not shown here: \(error.message)")
        }
    }

    /// A viewer controls the screen, or does not any more.
    func handle(_ change: ControlChange) {
        let turn = state.withLock { state in
            state.turn += 1
            state.waiting = change.end == nil ? [] : nil
            return state.turn
        }
        guard change.end == nil else { return queue.run { [self] in close() } }
        queue.run { [self] in
            close()
            open(turn, controlledBy: change.viewer.name)
        }
    }

    /// Ends the control; returns when everything is released.
    func end() {
        state.withLock { $0.turn += 1 }
        let done = Monitor(false)
        queue.run { [self] in
            close()
            state.withLock { $0.pointers.take() }?.close()
            done.change { $0 = true }
        }
        done.wait { $0 ? () : nil }
    }

    private func close() {
        let (input, notice) = state.withLock { ($0.input.take(), $0.notice.take()) }
        input?.close()
        notice?.close()
    }

    private func open(_ turn: Int, controlledBy name: String) {
        guard state.withLock({ $0.turn }) == turn else { return }
        do throws(SourceFailure) {
            let input = try screen.open { [weak self] in self?.takeBack() }
            let isMeant = state.withLock { state in
                guard state.turn == turn else { return false }
                let oldest = MonotonicClock.now - Self.waitingTime
                for early in state.waiting ?? [] where early.at >= oldest { input.apply(early.input) }
                (state.input, state.waiting) = (input, nil)
                return true
            }
            guard isMeant else { return input.close() }
            let notice = screen.show(name) { [weak self] in self?.takeBack() }
            state.withLock { $0.notice = notice }
        } catch {
            ErrorOutput.writeLine("share: the screen cannot be controlled: \(error.message)")
            takeBack()
        }
    }

    private func takeBack() { state.withLock { $0.takeBack }?() }
}

/// Runs closures one after another, on threads of their own as they block.
private final class SerialTasks: Sendable {
    private let feed: AsyncStream<@Sendable () -> Void>.Continuation

    init() {
        let (tasks, feed) = AsyncStream.makeStream(of: (@Sendable () -> Void).self)
        self.feed = feed
        Task { for await task in tasks { await onThread("control") { task() } } }
    }

    deinit { feed.finish() }

    func run(_ task: @escaping @Sendable () -> Void) { feed.yield(task) }
}
