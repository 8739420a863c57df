internal import CNice

extension UnsafeMutablePointer<NiceCandidate> {
    var kind: String {
        switch pointee.type {
        case NICE_CANDIDATE_TYPE_HOST: "host"
        case NICE_CANDIDATE_TYPE_SERVER_REFLEXIVE: "srflx"
        case NICE_CANDIDATE_TYPE_PEER_REFLEXIVE: "prflx"
        default: "relay"
        }
    }
}

extension UnsafeMutablePointer<NiceAddress> {
    var text: String {
        withUnsafeTemporaryAllocation(of: gchar.self, capacity: 64) { buffer in
            guard let start = buffer.baseAddress else { return "" }
            start.initialize(repeating: 0, count: 64)
            nice_address_to_string(self, start)
            return String(cString: start)
        }
    }

    var endpoint: String {
        let text = text
        return (text.contains(":") ? "[\(text)]" : text) + ":\(nice_address_get_port(self))"
    }
}
