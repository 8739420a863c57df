import CGIO

/// The desktop's file manager: freedesktop.org, File Manager D-Bus Interface.
public enum DesktopFileManager {
    /// The longest time that the call waits for the desktop, in ms.
    private static let timeout: gint = 5_000

    /// Opens a window that shows the folder of a file, with the file selected. Blocks until the file manager has
    /// answered; the bus starts one if there is one.
    /// - Parameters:
    ///   - uri: of the file: "file:///home/...".
    ///   - address: as in DBUS_SESSION_BUS_ADDRESS.
    /// - Returns: false if no bus or no file manager answers.
    public static func show(_ uri: String, address: String) -> Bool {
        guard let bus = BusConnection(address: address) else { return false }
        defer { bus.close() }
        let arguments = BusValue.tuple([.array(of: "s", [.text(uri)]), .text("")])
        let reply = bus.ifOpen { connection in
            g_dbus_connection_call_sync(
                connection, "org.freedesktop.FileManager1", "/org/freedesktop/FileManager1",
                "org.freedesktop.FileManager1", "ShowItems", arguments.variant, nil, G_DBUS_CALL_FLAGS_NONE, timeout,
                nil, nil)
        }
        guard case let reply?? = reply else { return false }
        g_variant_unref(reply)
        return true
    }
}
