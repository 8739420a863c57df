internal import CXCB
internal import Glibc
internal import LinuxRuntime
public import MediaCore

/// Tells whether the windows of a process are hidden: each is minimised or not mapped, as the X server and the window
/// manager say (WM_STATE, ICCCM 4.1.3.1; _NET_WM_STATE_HIDDEN). Windows that are only covered by others are not hidden.
/// On the thread `own-windows`, with a connection of its own.
public final class OwnWindowsObserver: Sendable {
    private let thread: StoppableThread

    /// - Parameters:
    ///   - display: nil uses `$DISPLAY`.
    ///   - process: whose windows; they name it in _NET_WM_PID. Nil: this one.
    ///   - onChange: called on the thread `own-windows`, at first and with each change. When the server has gone,
    ///     nothing is hidden.
    /// - Throws: `.noDisplay`, `.unsupported`.
    public init(
        display: String? = nil, of process: Int32? = nil, onChange: @escaping @Sendable (_ areHidden: Bool) -> Void
    ) throws(SourceFailure) {
        thread = try StoppableThread("own-windows", display: display) { connection, wakeup, isClosed in
            var reader = OwnWindowsReader(connection, process ?? getpid())
            reader.run(wakeup, isClosed, onChange)
        }
    }

    /// Ends the thread. May be called twice.
    public func close() { thread.close() }
}

/// Confined to the thread `own-windows`.
private struct OwnWindowsReader {
    private let connection: X11Connection
    private let process: UInt32
    private let machine: [UInt8]
    private let atoms: X11Atoms
    private let processID: xcb_atom_t
    private let state: xcb_atom_t
    private let hidden: xcb_atom_t
    /// Whose events are selected.
    private var selected: Set<xcb_window_t> = []
    /// Toolkits have windows that are never shown: only windows that were mapped once can be hidden.
    private var hasShown = false
    /// What was mapped since the last look, and may not be any more.
    private var mapped: Set<xcb_window_t> = []
    /// Nil: nothing was told yet.
    private var told: Bool?
    private var hiddenSince: MediaInstant?

    /// Toolkits make a window anew, and window managers put it into a frame: it is not mapped for a moment.
    private static let settlingTime = MediaDuration.milliseconds(300)
    private static let iconic: UInt32 = 3

    init(_ connection: X11Connection, _ process: Int32) {
        self.connection = connection
        self.process = UInt32(bitPattern: process)
        var name = [CChar](repeating: 0, count: 256)
        let isKnown = gethostname(&name, name.count - 1) == 0
        machine = isKnown ? name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) } : []
        atoms = X11Atoms(connection)
        processID = connection.atom("_NET_WM_PID", isMade: true) ?? 0
        state = connection.atom("_NET_WM_STATE", isMade: true) ?? 0
        hidden = connection.atom("_NET_WM_STATE_HIDDEN", isMade: true) ?? 0
        select(XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY, of: connection.root)
    }

    mutating func run(_ wakeup: Wakeup, _ isClosed: Monitor<Bool>, _ onChange: (Bool) -> Void) {
        var isStale = true
        while !isClosed.with({ $0 }), xcb_connection_has_error(connection.raw) == 0 {
            while let event = xcb_poll_for_event(connection.raw) {
                isStale = concernsVisibility(event) || isStale
                free(event)
            }
            if isStale {
                // Its round trips may bring events into xcb's queue, so that is looked at again before the wait.
                isStale = false
                let areHidden = look()
                hiddenSince = areHidden ? hiddenSince ?? MonotonicClock.now : nil
                if !areHidden || told == nil { note(false, onChange) }
                continue
            }
            let settled = told == true ? nil : hiddenSince.map { $0 + Self.settlingTime }
            if let settled, settled <= MonotonicClock.now {
                note(true, onChange)
                continue
            }
            xcb_flush(connection.raw)
            wakeup.consume()
            if isClosed.with({ $0 }) { return }
            wakeup.wait(or: connection.descriptor, until: settled)
        }
        if !isClosed.with({ $0 }) { note(false, onChange) }
    }

    private mutating func note(_ new: Bool, _ onChange: (Bool) -> Void) {
        guard new != told else { return }
        told = new
        onChange(new)
    }

    private mutating func concernsVisibility(_ event: UnsafeMutablePointer<xcb_generic_event_t>) -> Bool {
        switch Int32(event.pointee.response_type & 0x7f) {
        case XCB_MAP_NOTIFY:
            mapped.insert(UnsafeRawPointer(event).load(as: xcb_map_notify_event_t.self).window)
            return true
        case XCB_UNMAP_NOTIFY, XCB_REPARENT_NOTIFY, XCB_DESTROY_NOTIFY: return true
        case XCB_PROPERTY_NOTIFY:
            let property = UnsafeRawPointer(event).load(as: xcb_property_notify_event_t.self)
            return property.atom == state || property.atom == atoms.windowState || property.atom == processID
        default: return false
        }
    }

    /// Whether no window of the process can be seen, and one could be before.
    private mutating func look() -> Bool {
        let all = WindowTree(connection, atoms).topLevels.flatMap(\.clients)
        let own = zip(all, pairs(all.map(\.id))).filter { isOwn($1) }.map(\.0)
        let new = Set(own.map(\.id)).subtracting(selected)
        selected = Set(own.map(\.id))
        for window in new {
            select(XCB_EVENT_MASK_PROPERTY_CHANGE, XCB_EVENT_MASK_STRUCTURE_NOTIFY, of: window)
        }
        let isSeen = own.contains { $0.isViewable && !isMinimised($0.id) }
        hasShown = hasShown || isSeen || own.contains { mapped.contains($0.id) }
        mapped = []
        return hasShown && !isSeen
    }

    private func isMinimised(_ window: xcb_window_t) -> Bool {
        let states = [atoms.windowState, state].map { query($0, of: window) }.map { value($0) }
        return states[0].first == Self.iconic || states[1].contains(hidden)
    }

    /// The process and the machine of each window, in one round trip.
    private func pairs(_ windows: [xcb_window_t]) -> [(process: [UInt32], machine: [UInt8])] {
        let queries = windows.map { window in
            (query(processID, of: window), query(xcb_atom_t(XCB_ATOM_WM_CLIENT_MACHINE.rawValue), of: window))
        }
        return queries.map { (value($0), bytes($1)) }
    }

    /// A number is this process's only on this machine.
    private func isOwn(_ window: (process: [UInt32], machine: [UInt8])) -> Bool {
        window.process.first == process && (window.machine.isEmpty || window.machine == machine)
    }

    // MARK: Requests

    private func select(_ masks: xcb_event_mask_t..., of window: xcb_window_t) {
        var mask = masks.reduce(0) { $0 | UInt32($1.rawValue) }
        xcb_change_window_attributes(connection.raw, window, UInt32(XCB_CW_EVENT_MASK.rawValue), &mask)
    }

    private func query(_ atom: xcb_atom_t, of window: xcb_window_t) -> xcb_get_property_cookie_t {
        xcb_get_property(
            connection.raw, 0, window, atom, xcb_atom_t(XCB_GET_PROPERTY_TYPE_ANY.rawValue), 0, 64)
    }

    private func bytes(_ cookie: xcb_get_property_cookie_t) -> [UInt8] {
        guard let reply = xcb_get_property_reply(connection.raw, cookie, nil) else { return [] }
        defer { free(reply) }
        guard let value = xcb_get_property_value(reply) else { return [] }
        return Array(UnsafeRawBufferPointer(start: value, count: Int(max(xcb_get_property_value_length(reply), 0))))
    }

    private func value(_ cookie: xcb_get_property_cookie_t) -> [UInt32] {
        let bytes = bytes(cookie)
        return bytes.withUnsafeBytes { buffer in
            stride(from: 0, to: buffer.count - 3, by: 4).map {
                buffer.loadUnaligned(fromByteOffset: $0, as: UInt32.self)
            }
        }
    }
}
