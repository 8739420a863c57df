import CGIO
import MediaCore

/// A desktop notification on a session bus (Desktop Notifications Specification 1.2).
///
/// Each call on an open connection blocks until the desktop answers, at most for `timeout`, so use a thread of its own.
/// A missing bus or a bus without a notification service is no error.
public final class DesktopNotification {
    /// The longest time that a call waits for the desktop, in ms.
    private static let timeout: gint = 2_000

    private let bus: OpaquePointer
    private var identifier: UInt32 = 0

    /// Connects to a bus.
    /// - Parameter address: as in DBUS_SESSION_BUS_ADDRESS. Unlike GIO's default, this starts no bus.
    /// - Returns: nil if no bus answers.
    public init?(address: String) {
        // A private connection, as GIO ends the process when a shared one closes.
        guard g_dbus_is_supported_address(address, nil) != 0, let bus = cgio_connect(address) else { return nil }
        self.bus = bus
    }

    deinit { cgio_disconnect(bus) }

    /// Shows a notification, which replaces the last one.
    /// - Parameters:
    ///   - summary: one line of plain text.
    ///   - body: plain text; markup characters are escaped.
    ///   - expires: the time until it disappears, in milliseconds.
    /// - Returns: false if no desktop accepted it.
    @discardableResult
    public func show(summary: String, body: String, expires: Int) -> Bool {
        identifier = cgio_notify(
            bus, identifier, summary, UntrustedText.escapedMarkup(body), gint(clamping: expires), Self.timeout)
        return identifier != 0
    }

    /// Removes the notification. A second call does nothing.
    public func close() {
        guard identifier != 0 else { return }
        cgio_close_notification(bus, identifier, Self.timeout)
        identifier = 0
    }
}
