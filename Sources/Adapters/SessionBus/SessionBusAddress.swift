import Glibc

/// Where the session bus of the user is.
public enum SessionBusAddress {
    /// The address of the running session bus, as the environment has it; nil if there is none. Never starts one.
    public static func running(in environment: [String: String]) -> String? {
        if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty { return address }
        guard let folder = environment["XDG_RUNTIME_DIR"], !folder.isEmpty, access(folder + "/bus", F_OK) == 0 else {
            return nil
        }
        return "unix:path=" + folder + "/bus"
    }
}
