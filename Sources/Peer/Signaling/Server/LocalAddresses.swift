import FoundationEssentials
import NIOCore

/// Lists the addresses of this machine that other machines may reach.
public enum LocalAddresses {
    /// IPv4 before IPv6, those of the default route's interface first in each. Loopback and link-local addresses are
    /// left out.
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

    /// The address for the link when the host listens on all addresses.
    public static func preferred() -> String { all().first ?? "127.0.0.1" }

    /// The name of the interface of the IPv4 default route.
    private static func defaultInterface() -> String? {
        guard let table = try? String(contentsOfFile: "/proc/net/route", encoding: .utf8) else { return nil }
        for line in table.split(separator: "\n").dropFirst() {
            let fields = line.split(separator: "\t")
            if fields.count > 7, fields[1] == "00000000", fields[7] == "00000000" { return String(fields[0]) }
        }
        return nil
    }
}
