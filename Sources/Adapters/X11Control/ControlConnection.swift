internal import CXCB
internal import Glibc
internal import MediaCore

/// A connection to an X server that accepts input (XTEST) and describes its keyboard (XKB). Used by one thread at a
/// time. xcb reports a lost connection as an error and never ends the process.
final class ControlConnection {
    /// XkbUseCoreKbd: the keyboard that programs hear of.
    static let coreKeyboard: UInt16 = 0x100

    let raw: OpaquePointer
    let root: xcb_window_t
    /// The bits of an id that tell the resources of one client apart.
    let resourceMask: UInt32
    /// The opcode of XInput 2.2; nil if the server lacks it.
    let inputOpcode: UInt8?
    /// XKB has one event, with types.
    private let keyboardEvent: UInt8
    private var isClosed = false

    /// - Parameter display: as in `$DISPLAY`; nil uses that variable.
    /// - Throws: `.noDisplay`; `.unsupported` without XTEST or XKB.
    init(_ display: String?) throws(SourceFailure) {
        let (connection, name, screen) = try Self.open(display)
        if let lacking = Self.missingExtension(connection) {
            xcb_disconnect(connection)
            throw SourceFailure(
                .unsupported, "display \(name) cannot be controlled: its X server lacks \(lacking)",
                remedy: "Start the X server with that extension.")
        }
        raw = connection
        root = screen.pointee.root
        resourceMask = xcb_get_setup(connection)?.pointee.resource_id_mask ?? 0
        inputOpcode = Self.inputOpcode(connection)
        keyboardEvent = cxcb_xkb(connection)?.pointee.first_event ?? 0
        let changes = UInt16(
            XCB_XKB_EVENT_TYPE_NEW_KEYBOARD_NOTIFY.rawValue | XCB_XKB_EVENT_TYPE_MAP_NOTIFY.rawValue)
        xcb_xkb_select_events(raw, Self.coreKeyboard, changes, 0, changes, 0xFF, 0xFF, nil)
    }

    deinit { close() }

    /// `raw` is invalid afterwards. A second call does nothing.
    func close() {
        if !isClosed { xcb_disconnect(raw) }
        isClosed = true
    }

    /// Opens a display.
    /// - Returns: the connection, the display's name and its screen, which is valid as long as the connection.
    static func open(
        _ display: String?
    ) throws(SourceFailure) -> (raw: OpaquePointer, name: String, screen: UnsafeMutablePointer<xcb_screen_t>) {
        let name = display ?? getenv("DISPLAY").map { String(cString: $0) } ?? ""
        // SIGPIPE would end the process when the server closes the socket during a write.
        var action = sigaction()
        if sigaction(SIGPIPE, nil, &action) == 0, action.__sigaction_handler.sa_handler == nil {
            signal(SIGPIPE, SIG_IGN)
        }
        var number: Int32 = 0
        guard !name.isEmpty, let connection = xcb_connect(name, &number) else { throw .cannotControl(name) }
        guard xcb_connection_has_error(connection) == 0, let setup = xcb_get_setup(connection) else {
            xcb_disconnect(connection)
            throw .cannotControl(name)
        }
        var screens = xcb_setup_roots_iterator(setup)
        for _ in 0..<max(number, 0) where screens.rem > 1 { xcb_screen_next(&screens) }
        guard screens.rem > 0, let screen = screens.data else {
            xcb_disconnect(connection)
            throw .cannotControl(name)
        }
        return (connection, name, screen)
    }

    var descriptor: Int32 { xcb_get_file_descriptor(raw) }
    var isLost: Bool { xcb_connection_has_error(raw) != 0 }

    private static func missingExtension(_ connection: OpaquePointer) -> String? {
        guard let test = cxcb_test(connection), test.pointee.present != 0 else { return "XTEST" }
        guard let xkb = cxcb_xkb(connection), xkb.pointee.present != 0,
            let reply = xcb_xkb_use_extension_reply(connection, xcb_xkb_use_extension(connection, 1, 0), nil)
        else { return "XKB" }
        defer { free(reply) }
        return reply.pointee.supported == 0 ? "XKB" : nil
    }

    private static func inputOpcode(_ connection: OpaquePointer) -> UInt8? {
        guard let input = cxcb_xinput(connection), input.pointee.present != 0,
            let reply = xcb_input_xi_query_version_reply(connection, xcb_input_xi_query_version(connection, 2, 2), nil)
        else { return nil }
        defer { free(reply) }
        let isNewEnough = (reply.pointee.major_version, reply.pointee.minor_version) >= (2, 2)
        return isNewEnough ? input.pointee.major_opcode : nil
    }

    /// Whether the event tells of another layout. A client of XKB gets no core events of a new keyboard.
    func isLayoutChange(_ event: UnsafeMutablePointer<xcb_generic_event_t>) -> Bool {
        let type = event.pointee.response_type & 0x7F
        if Int32(type) == XCB_MAPPING_NOTIFY { return true }
        guard type == keyboardEvent, keyboardEvent != 0 else { return false }
        let detail = Int32(UnsafeRawPointer(event).load(as: xcb_xkb_map_notify_event_t.self).xkbType)
        return detail == XCB_XKB_NEW_KEYBOARD_NOTIFY || detail == XCB_XKB_MAP_NOTIFY
    }

    // MARK: Input

    func moveMouse(x: Int, y: Int) {
        let (x, y) = (Int16(clamping: x), Int16(clamping: y))
        xcb_test_fake_input(raw, UInt8(XCB_MOTION_NOTIFY), 0, 0, root, x, y, 0)
    }

    func button(_ number: UInt8, isPressed: Bool) {
        let type = isPressed ? XCB_BUTTON_PRESS : XCB_BUTTON_RELEASE
        xcb_test_fake_input(raw, UInt8(type), number, 0, 0, 0, 0, 0)
    }

    func key(_ keycode: UInt8, isPressed: Bool) {
        let type = isPressed ? XCB_KEY_PRESS : XCB_KEY_RELEASE
        xcb_test_fake_input(raw, UInt8(type), keycode, 0, 0, 0, 0, 0)
    }

    /// Gives a keycode these keysyms on its first two levels; none: no keysym.
    func setKeysyms(_ keysyms: [Keysym], at keycode: UInt8) {
        let values = keysyms.isEmpty ? [0, 0] : keysyms.map(\.layoutValue)
        xcb_change_keyboard_mapping(raw, 1, keycode, UInt8(values.count), values)
    }
}

extension SourceFailure {
    fileprivate static func cannotControl(_ name: String) -> SourceFailure {
        SourceFailure(
            .noDisplay,
            name.isEmpty ? "there is no X display to control: DISPLAY is not set" : "cannot open display \(name)",
            remedy: "Name the X display of a graphical session, such as :0, that this user may use.")
    }
}
