/// The address translation of a home router (RFC 4787), by nftables.
public enum AddressTranslation: String, CaseIterable, Sendable {
    /// Forwards packets unchanged.
    case none
    /// One mapping for each inside port, for all destinations; every outside address may send to it.
    case fullCone = "full cone"
    /// One mapping for each inside port; only addresses and ports that it has sent to may send to it.
    case portRestricted = "port-restricted"
    /// A separate mapping, at a random port, for each destination address and port.
    case symmetric

    /// The rules for nft(8), each a separate command.
    fileprivate func rules(outside: String, address: String, inside: String) -> [String] {
        let table = "add table ip translation"
        let source = "add chain ip translation source { type nat hook postrouting priority srcnat; }"
        let rewrite = "add rule ip translation source oifname \(outside) snat to \(address)"
        // An unexpected packet to the router itself would create a connection entry, and the kernel would then map the
        // inside's own packet to another port than a cone's.
        let closed = [
            "add chain ip translation input { type filter hook input priority filter; }",
            "add rule ip translation input iifname \(outside) meta l4proto udp drop",
        ]
        return switch self {
        case .none: []
        case .fullCone:
            [
                table, source, rewrite,
                "add chain ip translation target { type nat hook prerouting priority dstnat; }",
                "add rule ip translation target iifname \(outside) meta l4proto udp dnat to \(inside)",
            ]
        case .portRestricted: [table, source, rewrite] + closed
        case .symmetric: [table, source, rewrite + " fully-random"] + closed
        }
    }
}

extension NetworkNode {
    /// Makes this node a home router.
    /// - Parameters:
    ///   - interface: the outside interface, which has the router's `address`.
    ///   - inside: the address of the one machine behind it.
    ///   - port: an outside TCP port that is forwarded to the same port of that machine.
    ///   - blocksDatagrams: drops all UDP, as networks of hotels and companies do.
    public func route(
        _ translation: AddressTranslation, outside interface: String, address: String, inside: String,
        forwarding port: Int? = nil, blocksDatagrams: Bool = false
    ) throws {
        try forward()
        var rules = translation.rules(outside: interface, address: address, inside: inside)
        if let port, translation != .none {
            rules += [
                "add table ip forwarded",
                "add chain ip forwarded target { type nat hook prerouting priority mangle; }",
                "add rule ip forwarded target iifname \(interface) tcp dport \(port) dnat to \(inside)",
            ]
        }
        if blocksDatagrams {
            rules += [
                "add table inet blocked",
                "add chain inet blocked forward { type filter hook forward priority filter; }",
                "add rule inet blocked forward meta l4proto udp drop",
            ]
        }
        for rule in rules { try run("nft \(rule)") }
    }

    /// Removes every mapping of this router and uses other ports from now on, as after a restart.
    public func rebind(_ translation: AddressTranslation, outside interface: String, address: String) throws {
        precondition(translation == .portRestricted || translation == .symmetric, "\(translation) forgets nothing")
        try run("nft flush chain ip translation source")
        let rule = "nft add rule ip translation source oifname \(interface)"
        try run("\(rule) meta l4proto udp snat to \(address):30000-39999 fully-random")
        try run("\(rule) snat to \(address)")
        try run("conntrack -F")
    }
}
