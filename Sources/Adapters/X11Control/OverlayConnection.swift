internal import CXCB
internal import Glibc
internal import MediaCore

/// A connection to an X server that shows windows over others, which no input reaches. Used by one thread at a time.
final class OverlayConnection {
    let raw: OpaquePointer
    let root: xcb_window_t
    /// What the user's text is larger than at 96 dots per inch (the resource Xft.dpi): 1 to 4.
    let scale: Double
    /// For drawables of the screen's depth, and of depth 1.
    let context: xcb_gcontext_t
    let maskContext: xcb_gcontext_t
    private let screen: UnsafeMutablePointer<xcb_screen_t>
    /// Of red, green and blue; 0 on screens with a table of colors.
    private let colorMasks: [UInt32]
    private var isClosed = false

    /// - Parameter display: nil uses `$DISPLAY`.
    /// - Throws: `.noDisplay`; `.unsupported` if windows have one shape for input and picture there (SHAPE below 1.1).
    init(_ display: String?) throws(SourceFailure) {
        let (connection, name, screen) = try ControlConnection.open(display)
        guard Self.hasInputShapes(connection) else {
            xcb_disconnect(connection)
            throw SourceFailure(
                .unsupported, "nothing can be shown over windows of display \(name): its X server lacks SHAPE 1.1",
                remedy: "Start the X server with that extension.")
        }
        raw = connection
        self.screen = screen
        root = screen.pointee.root
        colorMasks = Self.colorMasks(screen)
        context = xcb_generate_id(raw)
        maskContext = xcb_generate_id(raw)
        scale = Self.textScale(raw, screen.pointee.root)
        // Round caps and joins; exposures are not told of each copy.
        let mask =
            XCB_GC_CAP_STYLE.rawValue | XCB_GC_JOIN_STYLE.rawValue | XCB_GC_GRAPHICS_EXPOSURES.rawValue
        let values = [UInt32(XCB_CAP_STYLE_ROUND.rawValue), UInt32(XCB_JOIN_STYLE_ROUND.rawValue), 0]
        xcb_create_gc(raw, context, root, UInt32(mask), values)
        let bit = pixmap(PixelSize(width: 1, height: 1), isMask: true)
        xcb_create_gc(raw, maskContext, bit, UInt32(mask), values)
        xcb_free_pixmap(raw, bit)
    }

    deinit { close() }

    /// The server removes the windows. `raw` is invalid afterwards. A second call does nothing.
    func close() {
        if !isClosed { xcb_disconnect(raw) }
        isClosed = true
    }

    var descriptor: Int32 { xcb_get_file_descriptor(raw) }
    var isLost: Bool { xcb_connection_has_error(raw) != 0 }

    private static func hasInputShapes(_ connection: OpaquePointer) -> Bool {
        guard let shape = cxcb_shape(connection), shape.pointee.present != 0,
            let reply = xcb_shape_query_version_reply(connection, xcb_shape_query_version(connection), nil)
        else { return false }
        defer { free(reply) }
        return (reply.pointee.major_version, reply.pointee.minor_version) >= (1, 1)
    }

    private static func colorMasks(_ screen: UnsafeMutablePointer<xcb_screen_t>) -> [UInt32] {
        var depths = xcb_screen_allowed_depths_iterator(screen)
        while depths.rem > 0, let depth = depths.data {
            var visuals = xcb_depth_visuals_iterator(depth)
            while visuals.rem > 0, let visual = visuals.data?.pointee {
                if visual.visual_id == screen.pointee.root_visual {
                    return [visual.red_mask, visual.green_mask, visual.blue_mask]
                }
                xcb_visualtype_next(&visuals)
            }
            xcb_depth_next(&depths)
        }
        return [0, 0, 0]
    }

    private static func textScale(_ raw: OpaquePointer, _ root: xcb_window_t) -> Double {
        let cookie = xcb_get_property(
            raw, 0, root, UInt32(XCB_ATOM_RESOURCE_MANAGER.rawValue), UInt32(XCB_ATOM_STRING.rawValue), 0, 16_384)
        guard let reply = xcb_get_property_reply(raw, cookie, nil) else { return 1 }
        defer { free(reply) }
        guard let value = xcb_get_property_value(reply) else { return 1 }
        let bytes = UnsafeRawBufferPointer(start: value, count: Int(max(xcb_get_property_value_length(reply), 0)))
        let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("Xft.dpi:") }
        let words = line?.split { $0 == ":" || $0 == " " || $0 == "\t" } ?? []
        guard words.count == 2, let resolution = Double(words[1]), resolution.isFinite else { return 1 }
        return min(max(resolution / 96, 1), 4)
    }

    /// The value of a pixel.
    /// - Parameter color: 0xRRGGBB.
    func pixel(_ color: UInt32) -> UInt32 {
        let channels = [color >> 16 & 0xFF, color >> 8 & 0xFF, color & 0xFF]
        if colorMasks.contains(0) {
            return channels.reduce(0, +) > 383 ? screen.pointee.white_pixel : screen.pointee.black_pixel
        }
        return zip(channels, colorMasks).reduce(0) { pixel, part in
            let (channel, mask) = part
            let shift = UInt32(mask.trailingZeroBitCount)
            return pixel | UInt32(UInt64(channel) * UInt64(mask >> shift) / 255) << shift
        }
    }

    // MARK: Windows and pixmaps

    /// Makes a window that window managers leave alone, that no input reaches and that is not shown yet.
    func window(events: xcb_event_mask_t...) -> xcb_window_t {
        let id = xcb_generate_id(raw)
        let values: [UInt32] = [1, events.reduce(0) { $0 | UInt32($1.rawValue) }]
        xcb_create_window(
            raw, UInt8(XCB_COPY_FROM_PARENT), id, root, 0, 0, 1, 1, 0,
            UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue), 0,
            UInt32(XCB_CW_OVERRIDE_REDIRECT.rawValue | XCB_CW_EVENT_MASK.rawValue), values)
        xcb_shape_rectangles(
            raw, xcb_shape_op_t(XCB_SHAPE_SO_SET.rawValue), xcb_shape_kind_t(XCB_SHAPE_SK_INPUT.rawValue), 0, id, 0, 0,
            0, nil)
        // Compositing managers draw no shadow around what is dragged.
        if let name = atom("_NET_WM_WINDOW_TYPE"), var type = atom("_NET_WM_WINDOW_TYPE_DND") {
            xcb_change_property(
                raw, UInt8(XCB_PROP_MODE_REPLACE.rawValue), id, name, UInt32(XCB_ATOM_ATOM.rawValue), 32, 1, &type)
        }
        return id
    }

    /// - Parameter isMask: of depth 1; else of the screen's depth.
    func pixmap(_ size: PixelSize, isMask: Bool) -> xcb_pixmap_t {
        let id = xcb_generate_id(raw)
        xcb_create_pixmap(
            raw, isMask ? 1 : screen.pointee.root_depth, id, root, UInt16(clamping: max(size.width, 1)),
            UInt16(clamping: max(size.height, 1)))
        return id
    }

    /// Takes one round trip.
    func atom(_ name: String) -> xcb_atom_t? {
        let cookie = xcb_intern_atom(raw, 0, UInt16(name.utf8.count), name)
        guard let reply = xcb_intern_atom_reply(raw, cookie, nil) else { return nil }
        defer { free(reply) }
        return reply.pointee.atom
    }
}
