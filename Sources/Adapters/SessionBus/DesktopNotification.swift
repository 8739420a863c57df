import CGIO

/// One desktop notification (Desktop Notifications Specification 1.2) on a session bus of the person's desktop.
///
/// Every call blocks until the desktop has answered, for `timeout` at most, once a connection stands: use it on a thread of its own.
/// A bus that is not there, or has nobody for notifications, is no error.
public final class DesktopNotification {
    /// How long the desktop may take, in ms.
    private static let timeout: gint = 2_000

    private let bus: OpaquePointer
    private var identifier: UInt32 = 0

    /// Connects.
    /// - Parameter address: as in DBUS_SESSION_BUS_ADDRESS. No bus is started, unlike with GIO's own choice.
    /// - Returns: nil if nobody is there.
    public init?(address: String) {
        // A private connection: GIO ends the process with a shared one.
        guard g_dbus_is_supported_address(address, nil) != 0, let bus = cgio_connect(address) else { return nil }
        self.bus = bus
    }

    deinit { cgio_disconnect(bus) }

    /// Shows it in the place of the last one.
    /// - Parameters:
    ///   - summary: one line, plain text.
    ///   - body: plain text; what would be markup is escaped.
    ///   - expires: after how many milliseconds it goes by itself.
    /// - Returns: false if no desktop took it.
    @discardableResult
    public func show(summary: String, body: String, expires: Int) -> Bool {
        identifier = cgio_notify(bus, identifier, summary, Self.escape(body), gint(clamping: expires), Self.timeout)
        return identifier != 0
    }

    /// Takes it away. May be called twice.
    public func close() {
        guard identifier != 0 else { return }
        cgio_close_notification(bus, identifier, Self.timeout)
        identifier = 0
    }

    static func escape(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.append(character)
            }
        }
        return result
    }
}
