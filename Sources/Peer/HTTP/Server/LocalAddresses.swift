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

    /// The address at which a server listens whose owner wants `host`, and the address for its link.
    ///
    /// A socket at "0.0.0.0" is for IPv4 alone, and one at "::" for both. So "0.0.0.0" becomes "::" where there are
    /// IPv6 addresses alone, and a link never names an address at which nothing listens.
    public static func place(of host: String, among addresses: [String] = all()) -> (host: String, link: String) {
        let isOnlyIPv6 = !addresses.isEmpty && addresses.allSatisfy { $0.contains(":") }
        switch host {
        case "0.0.0.0" where !isOnlyIPv6: return (host, addresses.first { !$0.contains(":") } ?? "127.0.0.1")
        case "0.0.0.0", "::": return ("::", addresses.first ?? "::1")
        default: return (host, host)
        }
    }

    /// The name of the interface of the IPv4 default route.
    private static func defaultInterface() -> String? {
        guard let table = try? String(contentsOfFile: "/proc/self/net/route", encoding: .utf8) else { return nil }
        for line in table.split(separator: "\n").dropFirst() {
            let fields = line.split(separator: "\t")
            if fields.count > 7, fields[1] == "00000000", fields[7] == "00000000" { return String(fields[0]) }
        }
        return nil
    }
}
