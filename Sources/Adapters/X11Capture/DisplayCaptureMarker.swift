internal import CXCB
internal import Glibc
public import MediaCore

/// Marks an X display as captured, and by which broadcast: an unmapped window with a property. The server destroys the
/// window when the connection ends, so a host that crashed leaves no mark.
public final class DisplayCaptureMarker {
    private static let property = "_SHARE_CAPTURE"
    private let connection: X11Connection

    /// Marks the display until `close` or the end of the process.
    /// - Parameter text: the name of the capture; ASCII.
    /// - Throws: `.noDisplay`.
    public init(_ text: String, display: String?) throws(SourceFailure) {
        connection = try X11Connection(display)
        let raw = connection.raw
        let window = xcb_generate_id(raw)
        xcb_create_window(
            raw, 0, window, connection.root, 0, 0, 1, 1, 0, UInt16(XCB_WINDOW_CLASS_INPUT_ONLY.rawValue), 0, 0, nil)
        guard let atom = connection.atom(Self.property, isMade: true) else { throw connection.gone }
        let bytes = Array(text.utf8)
        xcb_change_property(
            raw, UInt8(XCB_PROP_MODE_REPLACE.rawValue), window, atom, xcb_atom_t(XCB_ATOM_STRING.rawValue), 8,
            UInt32(bytes.count), bytes)
        // A round trip, so that the mark is set when the initializer returns.
        _ = try connection.rootSize()
    }

    /// Removes the mark. A second call does nothing.
    public func close() { connection.close() }

    /// Whether the display has a mark with this text; nil if the display does not answer.
    public static func isPresent(_ text: String, display: String?) -> Bool? {
        guard let connection = try? X11Connection(display) else { return nil }
        guard let atom = connection.atom(property, isMade: false),
            let tree = xcb_query_tree_reply(connection.raw, xcb_query_tree(connection.raw, connection.root), nil)
        else { return false }
        defer { free(tree) }
        guard let children = xcb_query_tree_children(tree) else { return false }
        let wanted = Array(text.utf8)
        // All requests are sent before the first reply is read, so they take one round trip.
        let cookies = (0..<Int(xcb_query_tree_children_length(tree))).map { index in
            xcb_get_property(
                connection.raw, 0, children[index], atom, xcb_atom_t(XCB_ATOM_STRING.rawValue), 0, 64)
        }
        var isFound = false
        for cookie in cookies {
            guard let reply = xcb_get_property_reply(connection.raw, cookie, nil) else { continue }
            defer { free(reply) }
            guard let value = xcb_get_property_value(reply) else { continue }
            let bytes = UnsafeRawBufferPointer(start: value, count: Int(xcb_get_property_value_length(reply)))
            if !bytes.isEmpty, bytes.elementsEqual(wanted) { isFound = true }
        }
        return isFound
    }
}
