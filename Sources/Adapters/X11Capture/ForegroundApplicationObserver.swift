internal import CXCB
internal import Glibc
internal import LinuxRuntime
public import MediaCore

/// The application of the window in front, as the window manager and the window say.
public struct ForegroundApplication: Sendable, Equatable {
    /// WM_CLASS: the instance ("Navigator"), and the application for people ("Firefox").
    public var id: String
    public var name: String
    public var icon: WindowIcon?
}

/// Pixels of `_NET_WM_ICON`: 0xAARRGGBB, not premultiplied.
public struct WindowIcon: Sendable, Equatable {
    public var width: Int
    public var height: Int
    public var pixels: [UInt32]
}

/// Tells which application is in front (`_NET_ACTIVE_WINDOW`), on each change. On the thread `foreground`, with a
/// connection of its own. Windows that are hidden from captures are not told of.
public final class ForegroundApplicationObserver: Sendable {
    private let thread: StoppableThread

    /// - Parameters:
    ///   - display: nil uses `$DISPLAY`.
    ///   - onChange: called on the thread `foreground`, at first with the present one.
    /// - Throws: `.noDisplay`, `.unsupported`.
    public init(
        display: String?, hiddenWindows: [WindowPattern], onChange: @escaping @Sendable (ForegroundApplication) -> Void
    ) throws(SourceFailure) {
        thread = try StoppableThread("foreground", display: display) { connection, wakeup, isClosed in
            var reader = ForegroundReader(connection, hiddenWindows)
            reader.run(wakeup, isClosed, onChange)
        }
    }

    /// Ends the thread. May be called twice.
    public func close() { thread.close() }
}

/// Confined to the thread `foreground`.
private struct ForegroundReader {
    private let connection: X11Connection
    private let atoms: X11Atoms
    private let active: xcb_atom_t
    private let icon: xcb_atom_t
    private let hidden: [WindowPattern]
    private var last: ForegroundApplication?

    /// In words of 32 bits: the size of `_NET_WM_ICON` that is read.
    private static let iconWords: UInt32 = 400_000
    /// The largest icon that is told, and the size that is preferred.
    private static let (largestSide, preferredSide) = (256, 64)

    init(_ connection: X11Connection, _ hidden: [WindowPattern]) {
        self.connection = connection
        self.hidden = hidden
        atoms = X11Atoms(connection)
        active = connection.atom("_NET_ACTIVE_WINDOW", isMade: true) ?? 0
        icon = connection.atom("_NET_WM_ICON", isMade: true) ?? 0
        var mask = UInt32(XCB_EVENT_MASK_PROPERTY_CHANGE.rawValue)
        xcb_change_window_attributes(
            connection.raw, connection.root, UInt32(XCB_CW_EVENT_MASK.rawValue), &mask)
    }

    mutating func run(
        _ wakeup: Wakeup, _ isClosed: Monitor<Bool>, _ onChange: (ForegroundApplication) -> Void
    ) {
        var isStale = true
        while !isClosed.with({ $0 }), xcb_connection_has_error(connection.raw) == 0 {
            while let event = xcb_poll_for_event(connection.raw) {
                let type = event.pointee.response_type & 0x7f
                if type == UInt8(XCB_PROPERTY_NOTIFY) {
                    let property = UnsafeRawPointer(event).load(as: xcb_property_notify_event_t.self)
                    isStale = isStale || property.atom == active
                }
                free(event)
            }
            if isStale {
                // Its round trips may bring events into xcb's queue, so that is looked at again before the wait.
                isStale = false
                if let new = look(), new != last {
                    last = new
                    onChange(new)
                }
                continue
            }
            xcb_flush(connection.raw)
            wakeup.consume()
            if isClosed.with({ $0 }) { return }
            wakeup.wait(or: connection.descriptor, until: nil)
        }
    }

    /// Reads which window is in front, and whose it is.
    /// - Returns: nil if there is none, or it is hidden.
    private func look() -> ForegroundApplication? {
        guard let id = property(active, of: connection.root, words: 1).first, id != 0,
            let facts = WindowQuery(id, connection, atoms).take(connection, atoms), facts.isNamed,
            !facts.asksForExclusion, !hidden.contains(where: { facts.matches($0) })
        else { return nil }
        let name = facts.names.application.isEmpty ? facts.names.instance : facts.names.application
        guard !name.isEmpty else { return nil }
        return ForegroundApplication(
            id: facts.names.instance.isEmpty ? name : facts.names.instance, name: name,
            icon: Self.icon(property(icon, of: id, words: Self.iconWords)))
    }

    private func property(_ atom: xcb_atom_t, of window: xcb_window_t, words: UInt32) -> [UInt32] {
        let cookie = xcb_get_property(
            connection.raw, 0, window, atom, xcb_atom_t(XCB_GET_PROPERTY_TYPE_ANY.rawValue), 0, words)
        guard let reply = xcb_get_property_reply(connection.raw, cookie, nil) else { return [] }
        defer { free(reply) }
        guard reply.pointee.format == 32, let value = xcb_get_property_value(reply) else { return [] }
        let count = Int(max(xcb_get_property_value_length(reply), 0)) / 4
        return Array(UnsafeBufferPointer(start: value.assumingMemoryBound(to: UInt32.self), count: count))
    }

    /// The largest image of at most the preferred size, else the smallest one. The property is the program's own, so
    /// its sizes are checked.
    static func icon(_ words: [UInt32]) -> WindowIcon? {
        var found: WindowIcon?
        var start = 0
        while start + 2 <= words.count {
            let (width, height) = (Int(words[start]), Int(words[start + 1]))
            guard (1...1_024).contains(width), (1...1_024).contains(height), start + 2 + width * height <= words.count
            else { break }
            let side = max(width, height)
            let known = found.map { max($0.width, $0.height) }
            let isBetter = known.map { side <= preferredSide ? side > $0 || $0 > preferredSide : side < $0 } ?? true
            if side <= largestSide, isBetter {
                found = WindowIcon(
                    width: width, height: height, pixels: Array(words[(start + 2)..<(start + 2 + width * height)]))
            }
            start += 2 + width * height
        }
        return found
    }
}
