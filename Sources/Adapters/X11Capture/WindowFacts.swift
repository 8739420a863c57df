internal import CXCB
internal import Glibc
internal import MediaCore

/// What the server and the window manager say of one window.
struct WindowFacts {
    var id: xcb_window_t = 0
    /// In the parent's coordinates, with the border.
    var rect = PixelRect(x: 0, y: 0, width: 0, height: 0)
    var border = 0
    var depth = 0
    /// The window itself, not whether its parents are.
    var isMapped = false
    /// The window and all its parents are mapped.
    var isViewable = false
    var isInputOnly = false
    var children: [xcb_window_t] = []
    var names = WindowNames()
    /// Whether the window manager manages it.
    var hasState = false
    var isNotification = false
    var isDesktopOrPanel = false
    var asksForExclusion = false
    var isTranslucent = false
    /// Its shape is not its rectangle.
    var isShaped = false

    var isNamed: Bool { !names.title.isEmpty || !names.application.isEmpty }

    /// Inside of the border.
    var size: PixelSize { PixelSize(width: rect.width - 2 * border, height: rect.height - 2 * border) }

    func matches(_ pattern: WindowPattern) -> Bool {
        pattern.matches(names.title) || pattern.matches(names.application) || pattern.matches(names.instance)
    }
}

/// The names of a window.
struct WindowNames: Equatable {
    var title = ""
    /// WM_CLASS: of the instance, and of the application.
    var instance = ""
    var application = ""
}

/// The requests for the facts of one window. All windows of a level are asked before the first reply is read, so a
/// level takes one round trip.
struct WindowQuery {
    private let id: xcb_window_t
    private let attributes: xcb_get_window_attributes_cookie_t
    private let geometry: xcb_get_geometry_cookie_t
    private let tree: xcb_query_tree_cookie_t
    private let values: [xcb_get_property_cookie_t]
    private let shape: xcb_shape_query_extents_cookie_t?

    init(_ id: xcb_window_t, _ connection: X11Connection, _ atoms: X11Atoms) {
        self.id = id
        let raw = connection.raw
        attributes = xcb_get_window_attributes(raw, id)
        geometry = xcb_get_geometry(raw, id)
        tree = xcb_query_tree(raw, id)
        let asked = [
            atoms.windowName, xcb_atom_t(XCB_ATOM_WM_NAME.rawValue), xcb_atom_t(XCB_ATOM_WM_CLASS.rawValue),
            atoms.windowState, atoms.windowType, atoms.excluded, atoms.opacity,
        ]
        values = asked.map { xcb_get_property(raw, 0, id, $0, xcb_atom_t(XCB_GET_PROPERTY_TYPE_ANY.rawValue), 0, 256) }
        shape = connection.shape.map { _ in xcb_shape_query_extents(raw, id) }
    }

    /// - Returns: nil if the window has gone.
    func take(_ connection: X11Connection, _ atoms: X11Atoms) -> WindowFacts? {
        let raw = connection.raw
        let attributes = xcb_get_window_attributes_reply(raw, attributes, nil)
        let geometry = xcb_get_geometry_reply(raw, geometry, nil)
        let tree = xcb_query_tree_reply(raw, tree, nil)
        // Every reply is taken, as xcb would keep it otherwise.
        let values = values.map { PropertyValue(xcb_get_property_reply(raw, $0, nil)) }
        let shape = shape.flatMap { xcb_shape_query_extents_reply(raw, $0, nil) }
        defer {
            free(shape)
            free(attributes)
            free(geometry)
            free(tree)
        }
        guard let attributes = attributes?.pointee, let geometry = geometry?.pointee, let tree else { return nil }
        var facts = WindowFacts(id: id)
        facts.border = Int(geometry.border_width)
        facts.rect = PixelRect(
            x: Int(geometry.x), y: Int(geometry.y), width: Int(geometry.width) + 2 * facts.border,
            height: Int(geometry.height) + 2 * facts.border)
        facts.depth = Int(geometry.depth)
        facts.isMapped = attributes.map_state != UInt8(XCB_MAP_STATE_UNMAPPED.rawValue)
        facts.isViewable = attributes.map_state == UInt8(XCB_MAP_STATE_VIEWABLE.rawValue)
        facts.isInputOnly = attributes._class == UInt16(XCB_WINDOW_CLASS_INPUT_ONLY.rawValue)
        facts.children = Array(
            UnsafeBufferPointer(
                start: xcb_query_tree_children(tree), count: Int(xcb_query_tree_children_length(tree))))
        facts.names.title = values[0].text.isEmpty ? values[1].text : values[0].text
        let classes = values[2].bytes.split(separator: 0, omittingEmptySubsequences: false)
        facts.names.instance = classes.first.map { String(decoding: $0, as: UTF8.self) } ?? ""
        facts.names.application =
            classes.dropFirst().first.map { String(decoding: $0, as: UTF8.self) } ?? facts.names.instance
        facts.hasState = !values[3].bytes.isEmpty
        let types = values[4].cardinals
        facts.isNotification = types.contains(atoms.notification)
        facts.isDesktopOrPanel = types.first.map { atoms.desktopOrPanel.contains($0) } ?? false
        facts.asksForExclusion = values[5].cardinals.first.map { $0 != 0 } ?? false
        facts.isShaped = shape.map { $0.pointee.bounding_shaped != 0 } ?? false
        facts.isTranslucent = values[6].cardinals.first.map { $0 != .max } ?? false
        return facts
    }
}

/// The value of a property; nothing if the window has none.
private struct PropertyValue {
    let bytes: [UInt8]
    private let type: xcb_atom_t

    init(_ reply: UnsafeMutablePointer<xcb_get_property_reply_t>?) {
        defer { free(reply) }
        guard let reply, let value = xcb_get_property_value(reply) else {
            bytes = []
            type = 0
            return
        }
        type = reply.pointee.type
        bytes = Array(
            UnsafeRawBufferPointer(start: value, count: Int(max(xcb_get_property_value_length(reply), 0))))
    }

    /// The value as UTF-8; Latin-1 if its type is STRING and it is no UTF-8.
    var text: String {
        if type == xcb_atom_t(XCB_ATOM_STRING.rawValue), String(validating: bytes, as: UTF8.self) == nil {
            return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The value as 32-bit numbers.
    var cardinals: [UInt32] {
        bytes.withUnsafeBytes { buffer in
            stride(from: 0, to: buffer.count - 3, by: 4).map {
                buffer.loadUnaligned(fromByteOffset: $0, as: UInt32.self)
            }
        }
    }
}
