import FoundationEssentials
import NIOCore

/// The addresses of this machine that others may reach.
public enum LocalAddresses {
    /// IPv4 first, the default route's interface first of all; no loopback, no link-local.
    public static func all() -> [String] {
        let main = defaultInterface()
        let found = ((try? System.enumerateDevices()) ?? []).compactMap { device -> (rank: Int, text: String)? in
            guard let address = device.address, let text = address.ipAddress, device.name != "lo",
                !text.hasPrefix("127."), text != "::1", !text.hasPrefix("fe80"), !text.hasPrefix("169.254.")
            else { return nil }
            return ((address.protocol == .inet ? 0 : 2) + (device.name == main ? 0 : 1), text)
        }
        return found.sorted { $0.rank < $1.rank }.map(\.text)
    }

    /// The address that a link names when the host listens everywhere.
    public static func preferred() -> String { all().first ?? "127.0.0.1" }

    /// The interface of the IPv4 default route.
    private static func defaultInterface() -> String? {
        guard let table = try? String(contentsOfFile: "/proc/net/route", encoding: .utf8) else { return nil }
        for line in table.split(separator: "\n").dropFirst() {
            let fields = line.split(separator: "\t")
            if fields.count > 7, fields[1] == "00000000", fields[7] == "00000000" { return String(fields[0]) }
        }
        return nil
    }
}
