internal import CNice
import SessionDescription

extension ICEAgent {
    func configure(_ configuration: Configuration) throws(ICEFailure) {
        if let server = configuration.stunServers.first {
            guard isUnicast(server.address) else {
                throw ICEFailure("\(server.address) is not the address of a STUN server")
            }
            cnice_set_text(agent, "stun-server", server.address)
            cnice_set_number(agent, "stun-server-port", guint(server.port))
        }
        // libnice takes eight, and complains aloud of the ninth.
        for server in configuration.turnServers.prefix(8) {
            let kind =
                switch server.transport {
                case .udp: NICE_RELAY_TYPE_TURN_UDP
                case .tcp: NICE_RELAY_TYPE_TURN_TCP
                }
            guard isUnicast(server.address),
                nice_agent_set_relay_info(
                    agent, stream, 1, server.address, guint(server.port), server.username, server.password, kind) != 0
            else { throw ICEFailure("\(server.address) is not the address of a TURN server") }
        }
        cnice_set_flag(agent, "force-relay", configuration.usesOnlyRelays ? 1 : 0)
        // As soon as one address is given, libnice gathers no others by itself.
        var addresses = configuration.localAddresses ?? Self.machineAddresses()
        if configuration.includesLoopback, !addresses.contains("127.0.0.1") { addresses.append("127.0.0.1") }
        // Each of them is asked a port for. A router refuses what is not its own network's, and is asked again at once, without
        // end; so with UPnP the address that it knows is the only one of IPv4.
        if configuration.usesUPnP, let outward = outwardAddress(), addresses.contains(outward) {
            addresses.removeAll { $0 != outward && !$0.contains(":") }
        }
        for text in addresses {
            var address = NiceAddress()
            nice_address_init(&address)
            guard isUnicast(text), nice_address_set_from_string(&address, text) != 0,
                nice_agent_add_local_address(agent, &address) != 0
            else { throw ICEFailure("\(text) is not an address to listen at") }
        }
    }

    /// The addresses that this machine can be reached at now, numeric; no loopback, no link-local ones with a zone.
    public static func machineAddresses() -> [String] {
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
private func isUnicast(_ address: String) -> Bool { IPAddress(address)?.isUnicast ?? false }
