internal import CXCB
internal import Glibc
internal import MediaCore

/// Where viewers' input goes on a display, as its server says at the moment. Each question takes round trips. Confined
/// to the thread `remote-input`.
struct ServerArea: ControlledArea {
    let connection: ControlConnection
    let area: RemoteInput.Area

    /// No tree of windows is that deep.
    private static let deepest = 32

    // MARK: ControlledArea

    var isWholeScreen: Bool {
        if area == .display { return true }
        guard case .screen(let rect) = area, let root = rectangle(of: connection.root) else { return false }
        return rect.x <= 0 && rect.y <= 0 && rect.maxX >= root.width && rect.maxY >= root.height
    }

    var hasFocus: Bool {
        let raw = connection.raw
        guard !isWholeScreen else { return true }
        guard let reply = xcb_get_input_focus_reply(raw, xcb_get_input_focus(raw), nil) else { return false }
        defer { free(reply) }
        let focus = reply.pointee.focus
        // 0: no window has the keyboard; 1: the one below the pointer has it.
        if focus == 0 { return false }
        if focus == 1 { return hasPointer }
        switch area {
        case .display: return true
        case .window(let window): return ancestors(of: focus).contains(window)
        case .screen(let rect):
            guard let focused = rectangle(of: focus), focus != connection.root else { return false }
            return focused.x < rect.maxX && rect.x < focused.maxX && focused.y < rect.maxY && rect.y < focused.maxY
        }
    }

    var hasPointer: Bool {
        let raw = connection.raw
        guard let reply = xcb_query_pointer_reply(raw, xcb_query_pointer(raw, connection.root), nil) else {
            return false
        }
        defer { free(reply) }
        guard reply.pointee.same_screen != 0 else { return false }
        return isShared(at: ScreenPoint(x: Int(reply.pointee.root_x), y: Int(reply.pointee.root_y)))
    }

    func pixel(of point: PicturePoint) -> ScreenPoint? {
        guard let root = rectangle(of: connection.root), let rect = shown, rect.width > 0, rect.height > 0 else {
            return nil
        }
        let pixel = point.pixel(width: rect.width, height: rect.height)
        let place = ScreenPoint(x: rect.x + pixel.x, y: rect.y + pixel.y)
        return (0..<root.width).contains(place.x) && (0..<root.height).contains(place.y) ? place : nil
    }

    func isShared(at point: ScreenPoint) -> Bool {
        guard let rect = shown, (rect.x..<max(rect.maxX, rect.x)).contains(point.x),
            (rect.y..<max(rect.maxY, rect.y)).contains(point.y)
        else { return false }
        guard case .window(let window) = area else { return true }
        let path = path(at: point)
        return path.contains(window) || path.first.map { isMenu($0, of: window) } ?? false
    }

    // MARK: Requests

    /// The area in pixels of the root window; nil if its window is not shown.
    private var shown: PixelRect? {
        switch area {
        case .display: return rectangle(of: connection.root)
        case .screen(let rect): return rect
        case .window(let window):
            guard let attributes = attributes(of: window),
                attributes.map_state == UInt8(XCB_MAP_STATE_VIEWABLE.rawValue)
            else { return nil }
            return rectangle(of: window)
        }
    }

    /// Without its border, in pixels of the root window.
    private func rectangle(of window: xcb_window_t) -> PixelRect? {
        let raw = connection.raw
        let geometry = xcb_get_geometry(raw, window)
        let place = xcb_translate_coordinates(raw, window, connection.root, 0, 0)
        let size = xcb_get_geometry_reply(raw, geometry, nil)
        let corner = xcb_translate_coordinates_reply(raw, place, nil)
        defer {
            free(size)
            free(corner)
        }
        guard let size = size?.pointee, let corner = corner?.pointee else { return nil }
        return PixelRect(
            x: Int(corner.dst_x), y: Int(corner.dst_y), width: Int(size.width), height: Int(size.height))
    }

    private func attributes(of window: xcb_window_t) -> xcb_get_window_attributes_reply_t? {
        let cookie = xcb_get_window_attributes(connection.raw, window)
        guard let reply = xcb_get_window_attributes_reply(connection.raw, cookie, nil) else { return nil }
        defer { free(reply) }
        return reply.pointee
    }

    /// The windows at a pixel that would get a press there, from the child of the root window down.
    private func path(at point: ScreenPoint) -> [xcb_window_t] {
        let raw = connection.raw
        var path: [xcb_window_t] = []
        var window = connection.root
        for _ in 0..<Self.deepest {
            let cookie = xcb_translate_coordinates(
                raw, connection.root, window, Int16(clamping: point.x), Int16(clamping: point.y))
            guard let reply = xcb_translate_coordinates_reply(raw, cookie, nil) else { return [] }
            defer { free(reply) }
            guard reply.pointee.child != 0 else { return path }
            window = reply.pointee.child
            path.append(window)
        }
        return path
    }

    /// The window and those that contain it.
    private func ancestors(of window: xcb_window_t) -> [xcb_window_t] {
        let raw = connection.raw
        var found = [window]
        while found.count < Self.deepest, let last = found.last, last != connection.root {
            guard let reply = xcb_query_tree_reply(raw, xcb_query_tree(raw, last), nil) else { break }
            defer { free(reply) }
            guard reply.pointee.parent != 0 else { break }
            found.append(reply.pointee.parent)
        }
        return found
    }

    /// Whether it is a menu or the like, which window managers leave alone, of the window's own program.
    private func isMenu(_ other: xcb_window_t, of window: xcb_window_t) -> Bool {
        let client = ~connection.resourceMask
        guard other & client == window & client, let attributes = attributes(of: other) else { return false }
        return attributes.override_redirect != 0
    }
}
