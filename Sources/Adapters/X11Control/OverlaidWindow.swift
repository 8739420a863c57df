internal import CXCB
internal import Glibc
internal import MediaCore

/// Where a window is, and whether it is shown.
struct WindowPlace: Equatable {
    /// Without its border, in pixels of the root window.
    var rect: PixelRect
    /// The child of the root window that contains it.
    var topLevel: xcb_window_t
    var isShown: Bool
}

/// The window below an overlay. Confined to the overlay's thread, which passes it the connection's events.
struct OverlaidWindow {
    private let connection: OverlayConnection
    private let id: xcb_window_t
    /// The window and those that contain it, up to the child of the root window.
    private var path: [xcb_window_t] = []
    private var hasGone = false
    /// WM_STATE (ICCCM 4.1.3.1), _NET_WM_STATE and _NET_WM_STATE_HIDDEN.
    private let state: xcb_atom_t
    private let states: xcb_atom_t
    private let hidden: xcb_atom_t

    private static let iconic: UInt32 = 3
    /// No tree of windows is that deep.
    private static let deepest = 32

    init(_ id: xcb_window_t, _ connection: OverlayConnection) {
        self.id = id
        self.connection = connection
        state = connection.atom("WM_STATE") ?? 0
        states = connection.atom("_NET_WM_STATE") ?? 0
        hidden = connection.atom("_NET_WM_STATE_HIDDEN") ?? 0
    }

    /// Whether the window's place, order or state may have changed.
    mutating func isConcerned(by event: UnsafeMutablePointer<xcb_generic_event_t>) -> Bool {
        switch Int32(event.pointee.response_type & 0x7F) {
        case XCB_CONFIGURE_NOTIFY, XCB_MAP_NOTIFY, XCB_UNMAP_NOTIFY, XCB_GRAVITY_NOTIFY: return true
        case XCB_REPARENT_NOTIFY:
            path = []
            return true
        case XCB_DESTROY_NOTIFY:
            // Its number may be another window's from now on.
            if UnsafeRawPointer(event).load(as: xcb_destroy_notify_event_t.self).window == id { hasGone = true }
            return true
        case XCB_PROPERTY_NOTIFY:
            let property = UnsafeRawPointer(event).load(as: xcb_property_notify_event_t.self)
            return property.atom == state || property.atom == states
        default: return false
        }
    }

    /// Takes a few round trips.
    /// - Returns: nil if the window has gone.
    mutating func look() -> WindowPlace? {
        guard !hasGone else { return nil }
        if path.isEmpty { findPath() }
        guard let topLevel = path.last else { return nil }
        let raw = connection.raw
        let cookies = (
            xcb_get_geometry(raw, id), xcb_translate_coordinates(raw, id, connection.root, 0, 0),
            xcb_get_window_attributes(raw, id)
        )
        let properties = [state, states].map {
            xcb_get_property(raw, 0, id, $0, xcb_atom_t(XCB_GET_PROPERTY_TYPE_ANY.rawValue), 0, 64)
        }
        let size = xcb_get_geometry_reply(raw, cookies.0, nil)
        let corner = xcb_translate_coordinates_reply(raw, cookies.1, nil)
        let attributes = xcb_get_window_attributes_reply(raw, cookies.2, nil)
        let values = properties.map { cardinals(xcb_get_property_reply(raw, $0, nil)) }
        defer {
            free(size)
            free(corner)
            free(attributes)
        }
        guard let size = size?.pointee, let corner = corner?.pointee, let attributes = attributes?.pointee else {
            return nil
        }
        let isMinimised = values[0].first == Self.iconic || values[1].contains(hidden)
        return WindowPlace(
            rect: PixelRect(
                x: Int(corner.dst_x), y: Int(corner.dst_y), width: Int(size.width), height: Int(size.height)),
            topLevel: topLevel,
            isShown: attributes.map_state == UInt8(XCB_MAP_STATE_VIEWABLE.rawValue) && !isMinimised)
    }

    /// Selects the events of each window before its parent is asked for, so that no change is missed.
    private mutating func findPath() {
        let raw = connection.raw
        var window = id
        while path.count < Self.deepest {
            var mask = UInt32(XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue)
            if window == id { mask |= UInt32(XCB_EVENT_MASK_PROPERTY_CHANGE.rawValue) }
            xcb_change_window_attributes(raw, window, UInt32(XCB_CW_EVENT_MASK.rawValue), &mask)
            guard let reply = xcb_query_tree_reply(raw, xcb_query_tree(raw, window), nil) else { break }
            defer { free(reply) }
            path.append(window)
            guard reply.pointee.parent != connection.root, reply.pointee.parent != 0 else { return }
            window = reply.pointee.parent
        }
        path = []
    }

    /// Frees the reply.
    private func cardinals(_ reply: UnsafeMutablePointer<xcb_get_property_reply_t>?) -> [UInt32] {
        guard let reply else { return [] }
        defer { free(reply) }
        guard reply.pointee.format == 32, let value = xcb_get_property_value(reply) else { return [] }
        let bytes = UnsafeRawBufferPointer(start: value, count: Int(max(xcb_get_property_value_length(reply), 0)))
        return stride(from: 0, to: bytes.count - 3, by: 4).map {
            bytes.loadUnaligned(fromByteOffset: $0, as: UInt32.self)
        }
    }
}
