import CXCB
import Foundation
import MediaCore
import TestSupport

/// A private X server with a connection for drawing; it ends with this object.
// SAFETY: used by one test, whose steps run in sequence.
final class XvfbDisplay: @unchecked Sendable {
    let connection: OpaquePointer
    let root: xcb_window_t
    private let display: VirtualDisplay
    private let context: xcb_gcontext_t

    var name: String { display.name }

    /// - Parameter arguments: further server arguments, such as `-extension DAMAGE`.
    init(width: Int = 640, height: Int = 480, depth: Int = 24, arguments: [String] = []) throws {
        display = try VirtualDisplay(width: width, height: height, depth: depth, arguments: arguments)
        guard let connection = xcb_connect(display.name, nil), xcb_connection_has_error(connection) == 0,
            let setup = xcb_get_setup(connection), let screen = xcb_setup_roots_iterator(setup).data
        else { throw Program.Failure("cannot connect to Xvfb at \(display.name)") }
        self.connection = connection
        root = screen.pointee.root
        context = xcb_generate_id(connection)
        // Drawing includes child windows, as terminals do it; there are none here.
        var values = [UInt32(XCB_SUBWINDOW_MODE_INCLUDE_INFERIORS.rawValue)]
        xcb_create_gc(connection, context, root, UInt32(XCB_GC_SUBWINDOW_MODE.rawValue), &values)
    }

    // `display` ends the server after the connection was closed.
    deinit { xcb_disconnect(connection) }

    /// Kills the server to simulate a crash.
    func end() { display.kill() }

    /// Fills a rectangle and waits until the server has drawn it.
    /// - Parameters:
    ///   - color: 0xRRGGBB.
    ///   - window: nil: the root window.
    func fill(x: Int, y: Int, width: Int, height: Int, _ color: UInt32, in window: xcb_window_t? = nil) {
        var color = color
        var rect = xcb_rectangle_t(x: Int16(x), y: Int16(y), width: UInt16(width), height: UInt16(height))
        xcb_change_gc(connection, context, UInt32(XCB_GC_FOREGROUND.rawValue), &color)
        xcb_poly_fill_rectangle(connection, window ?? root, context, 1, &rect)
        sync()
    }

    // MARK: Windows

    /// Opens a window of one colour with a title, which is its class as well, and waits until it is shown.
    /// - Parameters:
    ///   - color: nil for no background, so that nothing is drawn when the window is mapped.
    ///   - type: of `_NET_WM_WINDOW_TYPE`.
    func window(
        x: Int, y: Int, width: Int, height: Int, _ color: UInt32?, title: String, type: String? = nil
    ) throws -> xcb_window_t {
        let id = xcb_generate_id(connection)
        var background = color ?? 0
        xcb_create_window(
            connection, UInt8(XCB_COPY_FROM_PARENT), id, root, Int16(x), Int16(y), UInt16(width), UInt16(height), 0,
            UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue), 0,
            color == nil ? 0 : UInt32(XCB_CW_BACK_PIXEL.rawValue), &background)
        let string = UInt32(XCB_ATOM_STRING.rawValue)
        set(UInt32(XCB_ATOM_WM_NAME.rawValue), of: id, type: string, Array(title.utf8))
        set(UInt32(XCB_ATOM_WM_CLASS.rawValue), of: id, type: string, Array((title + "\0" + title + "\0").utf8))
        if let type {
            var value = try atom(type)
            xcb_change_property(
                connection, UInt8(XCB_PROP_MODE_REPLACE.rawValue), id, try atom("_NET_WM_WINDOW_TYPE"),
                UInt32(XCB_ATOM_ATOM.rawValue), 32, 1, &value)
        }
        xcb_map_window(connection, id)
        sync()
        return id
    }

    private func set(_ property: UInt32, of id: xcb_window_t, type: UInt32, _ bytes: [UInt8]) {
        xcb_change_property(
            connection, UInt8(XCB_PROP_MODE_REPLACE.rawValue), id, property, type, 8, UInt32(bytes.count), bytes)
    }

    /// Sets a property of 32-bit values, and waits until the server has it.
    /// - Parameter type: a predefined atom.
    func setProperty(_ name: String, of id: xcb_window_t, type: xcb_atom_enum_t, _ values: [UInt32]) throws {
        xcb_change_property(
            connection, UInt8(XCB_PROP_MODE_REPLACE.rawValue), id, try atom(name), UInt32(type.rawValue), 32,
            UInt32(values.count), values)
        sync()
    }

    /// Sets the machine of the window's program (WM_CLIENT_MACHINE).
    func setMachine(_ name: String, of id: xcb_window_t) {
        let string = UInt32(XCB_ATOM_STRING.rawValue)
        set(UInt32(XCB_ATOM_WM_CLIENT_MACHINE.rawValue), of: id, type: string, Array(name.utf8))
        sync()
    }

    func setBorder(_ window: xcb_window_t, width: Int, _ color: UInt32) {
        var color = color
        xcb_change_window_attributes(connection, window, UInt32(XCB_CW_BORDER_PIXEL.rawValue), &color)
        var width = UInt32(width)
        xcb_configure_window(connection, window, UInt16(XCB_CONFIG_WINDOW_BORDER_WIDTH.rawValue), &width)
        sync()
    }

    func reparent(_ window: xcb_window_t, into frame: xcb_window_t, x: Int, y: Int) {
        xcb_reparent_window(connection, window, frame, Int16(x), Int16(y))
        sync()
    }

    func map(_ window: xcb_window_t) {
        xcb_map_window(connection, window)
        sync()
    }

    func unmap(_ window: xcb_window_t) {
        xcb_unmap_window(connection, window)
        sync()
    }

    func atom(_ name: String) throws -> UInt32 {
        let cookie = xcb_intern_atom(connection, 0, UInt16(name.utf8.count), name)
        guard let reply = xcb_intern_atom_reply(connection, cookie, nil) else {
            throw Program.Failure("the server makes no atom \(name)")
        }
        defer { free(reply) }
        return reply.pointee.atom
    }

    func move(_ window: xcb_window_t, x: Int, y: Int) {
        let values = [UInt32(bitPattern: Int32(x)), UInt32(bitPattern: Int32(y))]
        xcb_configure_window(
            connection, window, UInt16(XCB_CONFIG_WINDOW_X.rawValue | XCB_CONFIG_WINDOW_Y.rawValue), values)
        sync()
    }

    func resize(_ window: xcb_window_t, width: Int, height: Int) {
        let values = [UInt32(width), UInt32(height)]
        xcb_configure_window(
            connection, window, UInt16(XCB_CONFIG_WINDOW_WIDTH.rawValue | XCB_CONFIG_WINDOW_HEIGHT.rawValue), values)
        sync()
    }

    /// Fills the window, and waits until the server has drawn it.
    func paint(_ window: xcb_window_t, _ color: UInt32) {
        var color = color
        xcb_change_window_attributes(connection, window, UInt32(XCB_CW_BACK_PIXEL.rawValue), &color)
        xcb_clear_area(connection, 0, window, 0, 0, 0, 0)
        sync()
    }

    func close(_ window: xcb_window_t) {
        xcb_destroy_window(connection, window)
        sync()
    }

    /// Moves the pointer by a request, as a program does.
    func warpMouse(x: Int, y: Int) {
        xcb_warp_pointer(connection, 0, root, 0, 0, 0, 0, Int16(x), Int16(y))
        sync()
    }

    /// Moves the pointer through the input device, as a user does.
    func moveMouse(x: Int, y: Int) throws {
        guard let at = xcb_query_pointer_reply(connection, xcb_query_pointer(connection, root), nil) else {
            throw Program.Failure("the server does not say where the pointer is")
        }
        defer { free(at) }
        try display.run(
            "xdotool",
            ["mousemove_relative", "--", "\(x - Int(at.pointee.root_x))", "\(y - Int(at.pointee.root_y))"])
    }

    /// Sets the root window's cursor: one colour, 8 x 8 pixels, with the hot spot in its centre.
    func setCursor(_ color: UInt32) {
        let bitmap = xcb_generate_id(connection)
        xcb_create_pixmap(connection, 1, bitmap, root, 8, 8)
        let bits = xcb_generate_id(connection)
        var one: UInt32 = 1
        xcb_create_gc(connection, bits, bitmap, UInt32(XCB_GC_FOREGROUND.rawValue), &one)
        var all = xcb_rectangle_t(x: 0, y: 0, width: 8, height: 8)
        xcb_poly_fill_rectangle(connection, bitmap, bits, 1, &all)
        let red = UInt16(color >> 16 & 255) * 257
        let green = UInt16(color >> 8 & 255) * 257
        let blue = UInt16(color & 255) * 257
        var cursor = xcb_generate_id(connection)
        xcb_create_cursor(connection, cursor, bitmap, bitmap, red, green, blue, red, green, blue, 4, 4)
        xcb_change_window_attributes(connection, root, UInt32(XCB_CW_CURSOR.rawValue), &cursor)
        xcb_free_cursor(connection, cursor)
        xcb_free_gc(connection, bits)
        xcb_free_pixmap(connection, bitmap)
        sync()
    }

    /// Resizes the screen; the size cannot exceed the initial one.
    func resize(width: Int, height: Int) throws {
        guard
            let resources = xcb_randr_get_screen_resources_reply(
                connection, xcb_randr_get_screen_resources(connection, root), nil)
        else { throw Program.Failure("the server has no RANDR") }
        defer { free(resources) }
        // The CRTCs must be off while the screen becomes smaller than their area.
        let count = Int(xcb_randr_get_screen_resources_crtcs_length(resources))
        for crtc in UnsafeBufferPointer(start: xcb_randr_get_screen_resources_crtcs(resources), count: count) {
            let cookie = xcb_randr_set_crtc_config(
                connection, crtc, 0, resources.pointee.config_timestamp, 0, 0, 0,
                UInt16(XCB_RANDR_ROTATION_ROTATE_0.rawValue), 0, nil)
            free(xcb_randr_set_crtc_config_reply(connection, cookie, nil))
        }
        let cookie = xcb_randr_set_screen_size_checked(connection, root, UInt16(width), UInt16(height), 100, 100)
        if let error = xcb_request_check(connection, cookie) {
            defer { free(error) }
            throw Program.Failure("the server did not change its size: error \(error.pointee.error_code)")
        }
    }

    // MARK: Monitors

    /// Adds a monitor, or changes its place. The server has it until its last connection ends.
    /// - Parameter hasOutput: it is what the only output of the server shows, instead of a monitor of the server's own.
    func setMonitor(_ name: String, _ rect: PixelRect, hasOutput: Bool = false) throws {
        let place = "\(rect.width)/100x\(rect.height)/100+\(rect.x)+\(rect.y)"
        try display.run("xrandr", ["--setmonitor", name, place, hasOutput ? "screen" : "none"])
    }

    func deleteMonitor(_ name: String) throws { try display.run("xrandr", ["--delmonitor", name]) }

    private func sync() { free(xcb_get_input_focus_reply(connection, xcb_get_input_focus(connection), nil)) }
}
