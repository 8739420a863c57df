import ICETransport
import SessionDescription

/// Which addresses a peer's candidates may have, by where the peer itself is: one that is elsewhere has no business
/// with this machine's loopback or with a link that it is not on.
package struct CandidatePolicy: Sendable {
    var allowsLoopback: Bool
    var allowsLinkLocal: Bool

    /// Where a peer is, by the address that its signalling has.
    package enum Place: Equatable {
        /// It came over loopback, or a tunnel ends there.
        case loopback
        /// It came from one of this machine's own addresses.
        case thisMachine
        case link
        case elsewhere
    }

    /// - Parameters:
    ///   - text: numeric, without port; or a name, of which `localhost` alone is known.
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
        if address.isLinkLocal { return allowsLinkLocal }
        // RFC 8445 section 5.1.1.1: such addresses are not candidates; they would lead around the rules above.
        return address.isUnicast && !address.holdsIPv4
    }
}
