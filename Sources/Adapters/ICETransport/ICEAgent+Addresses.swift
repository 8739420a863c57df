internal import CNice
import SessionDescription

extension ICEAgent {
    /// The addresses that this machine can be reached at now, numeric; no loopback, no link-local ones with a zone.
    public static func localInterfaceAddresses() -> [String] {
        var addresses: [String] = []
        let list = nice_interfaces_get_local_ips(0)
        var item = list
        while let current = item {
            if let text = current.pointee.data {
                let address = String(cString: text.assumingMemoryBound(to: CChar.self))
                // Link-local IPv6 comes with a zone, which means nothing to the other side.
                if isUnicast(address), !addresses.contains(address) { addresses.append(address) }
                g_free(text)
            }
            item = current.pointee.next
        }
        g_list_free(list)
        return addresses
    }
}

/// A numeric address that packets can be sent to.
func isUnicast(_ address: String) -> Bool { IPAddress(address)?.isUnicast ?? false }
