internal import CNice
import SessionDescription

/// A libnice agent with one stream of one component. Confined to the loop.
///
/// A copy refers to the same agent. The creator closes it and releases `agent` once.
struct NiceStream {
    let agent: OpaquePointer
    let id: guint
    let isControlling: Bool
    private let ports: ClosedRange<UInt16>?

    /// - Parameter context: the loop's context; libnice attaches its sources to it.
    /// - Throws: if libnice is missing, or creates no agent or no stream.
    init(
        _ context: OpaquePointer, _ configuration: ICEAgent.Configuration, _ credentials: ICECredentials
    ) throws(ICEFailure) {
        try ICEAgent.loadLibrary()
        // libnice's consent freshness is not used: it sends a request each 4...6 s, gives up permanently after 10 s,
        // and then refuses to send over a relay. Without it libnice sends the same requests and gives up after 50 s.
        // RFC 7675's 30 s are counted in `ICEAgent+Consent.swift`.
        let options = NICE_AGENT_OPTION_ICE_TRICKLE
        guard let agent = nice_agent_new_full(context, NICE_COMPATIBILITY_RFC5245, options) else {
            throw ICEFailure("libnice made no agent")
        }
        cnice_set_flag(agent, "controlling-mode", configuration.isControlling ? 1 : 0)
        cnice_set_flag(agent, "upnp", configuration.usesUPnP ? 1 : 0)
        // A router may take 3 s to answer a UPnP search, and libnice's 0.2 s are too short for its other answers, too.
        // Media does not wait for it: late candidates are trickled.
        cnice_set_number(agent, "upnp-timeout", 6_000)
        cnice_set_flag(agent, "ice-tcp", 0)
        cnice_set_flag(agent, "keepalive-conncheck", 1)
        cnice_set_number(agent, "stun-pacing-timer", guint(max(1, min(configuration.checkInterval, 1_000))))
        id = nice_agent_add_stream(agent, 1)
        guard id > 0,
            nice_agent_set_local_credentials(agent, id, credentials.usernameFragment, credentials.password) != 0
        else {
            cnice_unref(agent)
            throw ICEFailure("libnice made no stream")
        }
        self.agent = agent
        isControlling = configuration.isControlling
        ports = configuration.ports
    }

    /// Sets the servers and the local addresses.
    /// - Throws: if an address cannot be used.
    func configure(_ configuration: ICEAgent.Configuration) throws(ICEFailure) {
        if let server = configuration.stunServers.first {
            guard isUnicast(server.address) else {
                throw ICEFailure("\(server.address) is not the address of a STUN server")
            }
            cnice_set_text(agent, "stun-server", server.address)
            cnice_set_number(agent, "stun-server-port", guint(server.port))
        }
        // libnice uses eight servers, and prints a warning for the ninth.
        for server in configuration.turnServers.prefix(8) {
            let kind =
                switch server.transport {
                case .udp: NICE_RELAY_TYPE_TURN_UDP
                case .tcp: NICE_RELAY_TYPE_TURN_TCP
                }
            guard isUnicast(server.address),
                nice_agent_set_relay_info(
                    agent, id, 1, server.address, guint(server.port), server.username, server.password, kind) != 0
            else { throw ICEFailure("\(server.address) is not the address of a TURN server") }
        }
        cnice_set_flag(agent, "force-relay", configuration.usesOnlyRelays ? 1 : 0)
        // If at least one address is set, libnice does not gather on others.
        var addresses = configuration.localAddresses ?? ICEAgent.localInterfaceAddresses()
        if configuration.includesLoopback, !addresses.contains("127.0.0.1") { addresses.append("127.0.0.1") }
        // libnice requests a port mapping for each address. A router refuses addresses of other networks, and libnice
        // repeats the request at once, without end. With UPnP, the address of the default route is therefore the only
        // IPv4 one.
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

    /// Opens the sockets and starts to gather.
    /// - Returns: false if no socket can be opened.
    func gather() -> Bool {
        if let ports {
            nice_agent_set_port_range(agent, id, 1, guint(ports.lowerBound), guint(ports.upperBound))
            // It fails if one address has no free port there, and forgets what it has opened.
            if nice_agent_gather_candidates(agent, id) != 0 { return true }
            nice_agent_set_port_range(agent, id, 1, 0, 0)
        }
        return nice_agent_gather_candidates(agent, id) != 0
    }

    /// Adds a candidate of the other side.
    /// - Throws: `.malformed` or `.hostName` if libnice refuses it.
    func add(_ parsed: ICECandidate) throws(CandidateRefusal) {
        let kind =
            switch parsed.kind {
            case .host: NICE_CANDIDATE_TYPE_HOST
            case .serverReflexive: NICE_CANDIDATE_TYPE_SERVER_REFLEXIVE
            case .peerReflexive: NICE_CANDIDATE_TYPE_PEER_REFLEXIVE
            case .relayed: NICE_CANDIDATE_TYPE_RELAYED
            }
        guard let candidate = nice_candidate_new(kind) else { throw .malformed }
        defer { nice_candidate_free(candidate) }
        candidate.pointee.transport = NICE_CANDIDATE_TRANSPORT_UDP
        candidate.pointee.priority = parsed.priority
        candidate.pointee.stream_id = id
        candidate.pointee.component_id = 1
        cnice_candidate_set_foundation(candidate, parsed.foundation)
        guard nice_address_set_from_string(cnice_candidate_address(candidate), parsed.address) != 0 else {
            throw .hostName
        }
        nice_address_set_port(cnice_candidate_address(candidate), guint(parsed.port))
        let list = g_slist_append(nil, candidate)
        defer { g_slist_free(list) }
        if nice_agent_set_remote_candidates(agent, id, 1, list) < 0 { throw .malformed }
    }
}
