internal import CXCB
internal import Glibc

/// What a device of this machine did.
enum LocalInput: Equatable {
    /// A key was pressed. As the server sends it, before any program changes it.
    case keyPress(UInt8)
    case other
}

/// Tells input of this machine's own devices from input that programs make by XTEST. Confined to the thread
/// `remote-input`, which passes it the connection's events.
struct LocalInputReader {
    private let connection: ControlConnection
    /// Whether each device is one of XTEST; devices come and go.
    private var devices: [UInt16: Bool] = [:]

    /// Selects the events.
    init(_ connection: ControlConnection) {
        self.connection = connection
        if connection.inputOpcode != nil { cxcb_select_raw_input(connection.raw, connection.root) }
    }

    /// What a device of this machine did; nil for other events.
    mutating func localInput(_ event: UnsafeMutablePointer<xcb_generic_event_t>) -> LocalInput? {
        guard Int32(event.pointee.response_type & 0x7F) == XCB_GE_GENERIC else { return nil }
        // Every raw event begins with these fields.
        let facts = UnsafeRawPointer(event).load(as: xcb_input_raw_button_press_event_t.self)
        guard facts.extension == connection.inputOpcode else { return nil }
        switch Int32(facts.event_type) {
        case XCB_INPUT_HIERARCHY:
            devices = [:]
            return nil
        case XCB_INPUT_RAW_KEY_PRESS...XCB_INPUT_RAW_MOTION, XCB_INPUT_RAW_TOUCH_BEGIN...XCB_INPUT_RAW_TOUCH_END:
            if devices[facts.sourceid] == nil { readDevices() }
            if devices[facts.sourceid] ?? false { return nil }
            guard Int32(facts.event_type) == XCB_INPUT_RAW_KEY_PRESS, let keycode = UInt8(exactly: facts.detail) else {
                return .other
            }
            return .keyPress(keycode)
        default: return nil
        }
    }

    /// Takes one round trip.
    private mutating func readDevices() {
        let cookie = xcb_input_xi_query_device(connection.raw, UInt16(XCB_INPUT_DEVICE_ALL.rawValue))
        guard let reply = xcb_input_xi_query_device_reply(connection.raw, cookie, nil) else { return }
        defer { free(reply) }
        var infos = xcb_input_xi_query_device_infos_iterator(reply)
        while infos.rem > 0, let info = infos.data {
            let length = Int(xcb_input_xi_device_info_name_length(info))
            let name = xcb_input_xi_device_info_name(info).map {
                String(decoding: UnsafeRawBufferPointer(start: $0, count: length), as: UTF8.self)
            }
            // The server names them so, of each pair of a pointer and a keyboard.
            devices[info.pointee.deviceid] =
                name.map { $0.hasSuffix(" XTEST pointer") || $0.hasSuffix(" XTEST keyboard") } ?? false
            xcb_input_xi_device_info_next(&infos)
        }
    }
}
