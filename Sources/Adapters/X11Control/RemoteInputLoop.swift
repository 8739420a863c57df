internal import CXCB
internal import Glibc
internal import LinuxRuntime
internal import MediaCore

/// The thread `remote-input`: takes inputs from the queue and events from the server.
final class RemoteInputLoop {
    private let connection: ControlConnection
    private let area: ServerArea
    private let queue: Monitor<RemoteInputQueue>
    private let onEvent: @Sendable (RemoteInput.Event) -> Void
    private let keyboard: RemoteKeyboard
    private var reader: LocalInputReader
    private var state: RemoteInputState
    /// What is still to be done before the next input, and when the first of it can be.
    private var actions: [RemoteInputAction] = []
    private var ready: MediaInstant?
    /// Whether borrowed keycodes are to be given back.
    private var givesBack = false

    init(
        _ connection: ControlConnection, _ area: RemoteInput.Area, _ queue: Monitor<RemoteInputQueue>,
        _ onEvent: @escaping @Sendable (RemoteInput.Event) -> Void
    ) {
        self.connection = connection
        self.area = ServerArea(connection: connection, area: area)
        self.queue = queue
        self.onEvent = onEvent
        keyboard = RemoteKeyboard(connection)
        reader = LocalInputReader(connection)
        state = RemoteInputState(now: MonotonicClock.now)
    }

    /// Returns when the flag is set, or the server has gone.
    func run(_ wakeup: Wakeup, _ isClosed: Monitor<Bool>) {
        while !isClosed.with({ $0 }) {
            if connection.isLost {
                onEvent(.displayGone)
                return
            }
            // Round trips of either may bring events into xcb's queue, so that is looked at again before the wait.
            if handleEvents() || handleInput() { continue }
            xcb_flush(connection.raw)
            wakeup.consume()
            if isClosed.with({ $0 }) || ready == nil && queue.with({ !$0.isEmpty }) { continue }
            wakeup.wait(or: connection.descriptor, until: ready ?? (givesBack ? keyboard.settled : nil))
        }
        end()
    }

    private func end() {
        actions = []
        perform(state.releaseAll())
        xcb_flush(connection.raw)
        if let settled = keyboard.settled { MonotonicClock.sleep(until: settled) }
        keyboard.giveBack()
        // A round trip, so that the server has done all of it when this returns.
        free(xcb_get_input_focus_reply(connection.raw, xcb_get_input_focus(connection.raw), nil))
    }

    /// - Returns: whether there were any.
    private func handleEvents() -> Bool {
        var hasAny = false
        var isLocal = false
        var isTakenBack = false
        while let event = xcb_poll_for_event(connection.raw) {
            hasAny = true
            if connection.isLayoutChange(event) { keyboard.noteLayoutChange() }
            let input = reader.localInput(event)
            free(event)
            if input != nil { isLocal = true }
            if case .keyPress(let keycode) = input, keyboard.has(.escape, at: keycode) { isTakenBack = true }
        }
        if isLocal {
            let now = MonotonicClock.now
            let isNew = !state.isHeld(at: now)
            (actions, ready) = ([], nil)
            perform(state.handleLocalInput(now: now))
            if isNew { onEvent(.localInput) }
        }
        if isTakenBack { onEvent(.takenBack) }
        return hasAny
    }

    /// - Returns: whether something was done.
    private func handleInput() -> Bool {
        let now = MonotonicClock.now
        if let ready, now < ready { return false }
        ready = nil
        if !actions.isEmpty {
            // Another window may have the keyboard by now.
            guarded { perform(area.hasFocus ? actions : []) }
            return true
        }
        guard let item = queue.with({ $0.next() }) else {
            guard givesBack, let settled = keyboard.settled, settled <= now else { return false }
            givesBack = false
            keyboard.giveBack()
            return true
        }
        switch item {
        case .releaseAll:
            perform(state.releaseAll())
            givesBack = true
        case .input(let input):
            givesBack = false
            guarded { perform(state.handle(input, in: area, now: now)) }
        }
        return true
    }

    /// Has no other program do anything meanwhile: no window comes between the look at what lies there and the press.
    private func guarded(_ body: () -> Void) {
        let needsGrab = !area.isWholeScreen
        if needsGrab { xcb_grab_server(connection.raw) }
        body()
        if needsGrab { xcb_ungrab_server(connection.raw) }
        xcb_flush(connection.raw)
    }

    /// Leaves those that have to wait in `actions`.
    private func perform(_ list: [RemoteInputAction]) {
        actions = []
        for (index, action) in list.enumerated() {
            let now = MonotonicClock.now
            switch action {
            case .move(let point): connection.moveMouse(x: point.x, y: point.y)
            case .button(let number, let isPressed): connection.button(number, isPressed: isPressed)
            case .key(let keysym, false): keyboard.release(Keysym(keysym), now: now)
            case .key(let keysym, true):
                guard let later = keyboard.press(Keysym(keysym), now: now) else { continue }
                actions = Array(list[index...])
                ready = later
                return
            }
        }
    }
}
