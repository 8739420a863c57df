import CXCB
import Foundation
import MediaCore
import TestSupport
import Testing

/// An X server with windows that note the input they get.
// SAFETY: used by one test, whose steps run in sequence.
final class ControlledDisplay: @unchecked Sendable {
    enum Noted: Equatable {
        case key(UInt8, isPressed: Bool)
        case button(UInt8, isPressed: Bool, x: Int, y: Int)
    }

    let connection: OpaquePointer
    let root: xcb_window_t
    let name: String
    /// Nil if the server is not of this value.
    private let server: VirtualDisplay?

    /// Starts a server.
    convenience init() throws {
        let server = try VirtualDisplay(width: 640, height: 480)
        try self.init(name: server.name, server: server)
    }

    /// - Parameter name: of a server that runs.
    init(name: String, server: VirtualDisplay? = nil) throws {
        self.name = name
        self.server = server
        guard let connection = xcb_connect(name, nil), xcb_connection_has_error(connection) == 0,
            let setup = xcb_get_setup(connection), let screen = xcb_setup_roots_iterator(setup).data
        else { throw Program.Failure("cannot connect to \(name)") }
        self.connection = connection
        root = screen.pointee.root
    }

    /// Kills the server, like a crash.
    func end() { server?.kill() }

    /// Runs a program on this display until its end.
    func run(_ program: String, _ arguments: [String]) throws {
        try Program(program, arguments, environment: ["DISPLAY": name]).finish()
    }

    deinit { xcb_disconnect(connection) }

    /// Opens a window, topmost and with the keyboard.
    /// - Parameter isMenu: window managers leave it alone (override-redirect).
    func window(
        x: Int, y: Int, width: Int, height: Int, isMenu: Bool = false, parent: xcb_window_t? = nil
    ) -> xcb_window_t {
        let id = xcb_generate_id(connection)
        let events =
            XCB_EVENT_MASK_KEY_PRESS.rawValue | XCB_EVENT_MASK_KEY_RELEASE.rawValue
            | XCB_EVENT_MASK_BUTTON_PRESS.rawValue | XCB_EVENT_MASK_BUTTON_RELEASE.rawValue
        let values: [UInt32] = [isMenu ? 1 : 0, UInt32(events)]
        xcb_create_window(
            connection, UInt8(XCB_COPY_FROM_PARENT), id, parent ?? root, Int16(x), Int16(y), UInt16(width),
            UInt16(height), 0, UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue), 0,
            UInt32(XCB_CW_OVERRIDE_REDIRECT.rawValue | XCB_CW_EVENT_MASK.rawValue), values)
        xcb_map_window(connection, id)
        focus(id)
        return id
    }

    func focus(_ window: xcb_window_t) {
        xcb_set_input_focus(connection, UInt8(XCB_INPUT_FOCUS_NONE.rawValue), window, 0)
        sync()
    }

    func sync() { free(xcb_get_input_focus_reply(connection, xcb_get_input_focus(connection), nil)) }

    /// The window that has the keyboard.
    var focused: xcb_window_t {
        guard let reply = xcb_get_input_focus_reply(connection, xcb_get_input_focus(connection), nil) else { return 0 }
        defer { free(reply) }
        return reply.pointee.focus
    }

    func parent(of window: xcb_window_t) -> xcb_window_t? {
        guard let reply = xcb_query_tree_reply(connection, xcb_query_tree(connection, window), nil) else { return nil }
        defer { free(reply) }
        return reply.pointee.parent
    }

    var pointer: [Int] {
        guard let reply = xcb_query_pointer_reply(connection, xcb_query_pointer(connection, root), nil) else {
            return []
        }
        defer { free(reply) }
        return [Int(reply.pointee.root_x), Int(reply.pointee.root_y)]
    }

    /// The state of buttons and modifiers, as in events.
    var heldMask: Int {
        guard let reply = xcb_query_pointer_reply(connection, xcb_query_pointer(connection, root), nil) else {
            return -1
        }
        defer { free(reply) }
        return Int(reply.pointee.mask)
    }

    /// Whether any key is down.
    var hasPressedKeys: Bool {
        guard let reply = xcb_query_keymap_reply(connection, xcb_query_keymap(connection), nil) else { return true }
        defer { free(reply) }
        return withUnsafeBytes(of: reply.pointee.keys) { keys in keys.contains { $0 != 0 } }
    }

    /// What the windows got since the last call, in order; nothing if nothing comes.
    /// - Parameter count: as many as are waited for.
    func noted(_ count: Int, seconds: Double = 20) -> [Noted] {
        var found: [Noted] = []
        let deadline = Date(timeIntervalSinceNow: seconds)
        while found.count < count {
            if let event = xcb_poll_for_event(connection) {
                if let noted = Self.noted(event) { found.append(noted) }
                free(event)
                continue
            }
            let left = deadline.timeIntervalSinceNow
            guard left > 0, xcb_connection_has_error(connection) == 0 else { break }
            var state = pollfd(fd: xcb_get_file_descriptor(connection), events: Int16(POLLIN), revents: 0)
            poll(&state, 1, Int32(left * 1_000) + 1)
        }
        return found
    }

    private static func noted(_ event: UnsafeMutablePointer<xcb_generic_event_t>) -> Noted? {
        let type = Int32(event.pointee.response_type & 0x7F)
        // Key events have the same fields.
        let facts = UnsafeRawPointer(event).load(as: xcb_button_press_event_t.self)
        switch type {
        case XCB_KEY_PRESS, XCB_KEY_RELEASE: return .key(facts.detail, isPressed: type == XCB_KEY_PRESS)
        case XCB_BUTTON_PRESS, XCB_BUTTON_RELEASE:
            return .button(
                facts.detail, isPressed: type == XCB_BUTTON_PRESS, x: Int(facts.root_x), y: Int(facts.root_y))
        default: return nil
        }
    }

    // MARK: Pixels

    /// Fills a window, now and whenever it is uncovered.
    func paint(_ window: xcb_window_t, _ color: UInt32) {
        var color = color
        xcb_change_window_attributes(connection, window, UInt32(XCB_CW_BACK_PIXEL.rawValue), &color)
        xcb_clear_area(connection, 0, window, 0, 0, 0, 0)
        sync()
    }

    /// What the screen shows, row by row, as 0xRRGGBB; nothing if the server has gone.
    func screenshot() -> [UInt32] {
        let cookie = xcb_get_image(
            connection, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), root, 0, 0, 640, 480, .max)
        guard let reply = xcb_get_image_reply(connection, cookie, nil) else { return [] }
        defer { free(reply) }
        guard let data = xcb_get_image_data(reply) else { return [] }
        let bytes = UnsafeRawBufferPointer(start: data, count: Int(xcb_get_image_data_length(reply)))
        return stride(from: 0, to: bytes.count, by: 4).map {
            bytes.loadUnaligned(fromByteOffset: $0, as: UInt32.self) & 0xFF_FFFF
        }
    }

    /// The color of a pixel of the screen.
    func color(x: Int, y: Int) -> UInt32? {
        let pixels = screenshot()
        return pixels.indices.contains(y * 640 + x) ? pixels[y * 640 + x] : nil
    }

    func move(_ window: xcb_window_t, x: Int, y: Int) {
        xcb_configure_window(
            connection, window, UInt16(XCB_CONFIG_WINDOW_X.rawValue | XCB_CONFIG_WINDOW_Y.rawValue),
            [UInt32(x), UInt32(y)])
        sync()
    }

    func raise(_ window: xcb_window_t) {
        xcb_configure_window(
            connection, window, UInt16(XCB_CONFIG_WINDOW_STACK_MODE.rawValue),
            [UInt32(XCB_STACK_MODE_ABOVE.rawValue)])
        sync()
    }

    func setMapped(_ window: xcb_window_t, _ isMapped: Bool) {
        if isMapped { xcb_map_window(connection, window) } else { xcb_unmap_window(connection, window) }
        sync()
    }

    func destroy(_ window: xcb_window_t) {
        xcb_destroy_window(connection, window)
        sync()
    }

    /// The keysyms of a keycode on all levels, as the core protocol tells them.
    func keysyms(of keycode: UInt8) -> [UInt32] {
        let cookie = xcb_get_keyboard_mapping(connection, keycode, 1)
        guard let reply = xcb_get_keyboard_mapping_reply(connection, cookie, nil) else { return [] }
        defer { free(reply) }
        return Array(
            UnsafeBufferPointer(
                start: xcb_get_keyboard_mapping_keysyms(reply),
                count: Int(xcb_get_keyboard_mapping_keysyms_length(reply))))
    }

    /// The keycodes without any keysym.
    var freeKeycodes: [UInt8] { (8...255).filter { keysyms(of: $0).allSatisfy { $0 == 0 } } }
}

/// Every suite here starts servers of its own, one at a time.
@Suite(.serialized) enum X11ControlTests {}
