import ICETransport
import SessionDescription

/// Which addresses a peer's candidates, and the servers that it names, may have, by the place of the peer. Loopback and
/// link-local addresses are refused from a peer elsewhere.
package struct CandidatePolicy: Sendable {
    var allowsLoopback: Bool
    var allowsLinkLocal: Bool

    /// The place of a peer, by its address in signalling.
    package enum Place: Hashable, Sendable {
        /// The peer's address is loopback; it may be a tunnel's end.
        case loopback
        /// The peer's address is one of this machine's own.
        case thisMachine
        case link
        case elsewhere

        /// Whether loopback candidates are gathered for the peer. 127.0.0.1 reaches no remote STUN or TURN server, and
        /// the attempts keep gathering busy; with servers, loopback is therefore only for peers that came over
        /// loopback.
        package func gathersLoopback(with servers: ICEServerPreparation.Addresses) -> Bool {
            self == .loopback || self == .thisMachine && servers.isEmpty
        }
    }

    /// - Parameters:
    ///   - text: a numeric address without port, or a name. Only the name `localhost` is known.
    ///   - own: this machine's addresses.
    package static func place(of text: String, own: [String]) -> Place {
        guard let address = IPAddress(text) else { return text == "localhost" ? .loopback : .elsewhere }
        if address.isLoopback { return .loopback }
        if own.contains(where: { IPAddress($0) == address }) { return .thisMachine }
        return address.isLinkLocal ? .link : .elsewhere
    }

    package init(_ place: Place) {
        allowsLoopback = place == .loopback || place == .thisMachine
        allowsLinkLocal = place != .elsewhere
    }

    func permits(_ address: IPAddress) -> Bool {
        if address.isLoopback { return allowsLoopback }
        if address.isInstanceMetadata { return false }
        if address.isLinkLocal { return allowsLinkLocal }
        // Such addresses are not valid candidates (RFC 8445 section 5.1.1.1), and they would bypass the rules above.
        guard address.isUnicast, !address.holdsIPv4 else { return false }
        return address.embeddedIPv4.allSatisfy(permits)
    }

    /// Whether this machine may connect to an address because that peer has named it as a server, or as a place to go
    /// on. A peer elsewhere does not name this machine's own addresses, where services listen that its firewall keeps
    /// from others.
    /// - Parameter own: this machine's addresses.
    package func permits(server text: String, own: [String]) -> Bool {
        guard let address = IPAddress(text), permits(address) else { return false }
        guard !allowsLoopback else { return true }
        let own = own.compactMap { IPAddress($0) }
        return !own.contains(address) && !address.embeddedIPv4.contains(where: own.contains)
    }
}
