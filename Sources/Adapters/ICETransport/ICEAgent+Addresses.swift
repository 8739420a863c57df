internal import CNice
internal import NiceFunctions
import SessionDescription

extension ICEAgent {
    /// Returns the present numeric addresses of this machine, without loopback and without link-local ones with a zone.
    /// None without libnice.
    public static func localInterfaceAddresses() -> [String] {
        guard nice_functions_load() == nil else { return [] }
        var addresses: [String] = []
        let list = nice_interfaces_get_local_ips(0)
        var item = list
        while let current = item {
            if let text = current.pointee.data {
                let address = String(cString: text.assumingMemoryBound(to: CChar.self))
                // A link-local IPv6 address has a zone, which is meaningless on other machines.
                if isUnicast(address), !addresses.contains(address) { addresses.append(address) }
                g_free(text)
            }
            item = current.pointee.next
        }
        g_list_free(list)
        return addresses
    }
}

/// Whether a text is a numeric unicast address.
func isUnicast(_ address: String) -> Bool { IPAddress(address)?.isUnicast ?? false }
