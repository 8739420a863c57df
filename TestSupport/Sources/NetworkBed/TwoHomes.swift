/// Two homes and a server on an emulated internet (addresses of RFC 5737 and RFC 1918).
///
///     host 192.168.1.2 - router 203.0.113.2 = emulated link = 203.0.113.1 core 198.51.100.1 - 198.51.100.2 router -
///     192.168.2.2 viewer
///                                                                           |
///                                                                   server 192.0.2.2
///
/// A home without translation has public addresses instead: 203.0.113.130 and 198.51.100.130.
public final class TwoHomes: Sendable {
    /// The properties of a home.
    public struct Home: Sendable {
        public var translation: AddressTranslation
        public var blocksDatagrams: Bool

        public init(_ translation: AddressTranslation, blocksDatagrams: Bool = false) {
            self.translation = translation
            self.blocksDatagrams = blocksDatagrams
        }
    }

    /// The address of the server.
    public static let serverAddress = "192.0.2.2"
    /// The port that the host's router forwards.
    public static let hostPort = 8_443

    public let bed: NetworkBed
    public let host: NetworkNode
    public let hostRouter: NetworkNode
    public let viewer: NetworkNode
    public let viewerRouter: NetworkNode
    public let server: NetworkNode
    private let core: NetworkNode
    /// The host's line; forward is from the host.
    public let line: EmulatedLink
    /// The outside address of the host's signalling.
    public let hostAddress: String

    public init(host hostHome: Home, viewer viewerHome: Home, conditions: LinkConditions = LinkConditions()) throws {
        bed = try NetworkBed()
        (host, hostRouter) = (try bed.node(), try bed.node())
        (viewer, viewerRouter) = (try bed.node(), try bed.node())
        server = try bed.node()
        core = try bed.node()
        line = try bed.link(
            hostRouter, "203.0.113.2/30", core, "203.0.113.1/30", interface: "line", conditions: conditions)
        try bed.wire(viewerRouter, "198.51.100.2/30", core, "198.51.100.1/30", interface: "line2")
        try bed.wire(server, "\(Self.serverAddress)/24", core, "192.0.2.1/24", interface: "servers")
        try server.run("ip route add default via 192.0.2.1")
        try core.forward()

        let isHostPublic = hostHome.translation == .none
        let hostInside = isHostPublic ? "203.0.113.130" : "192.168.1.2"
        hostAddress = isHostPublic ? hostInside : "203.0.113.2"
        try Self.build(
            hostHome, bed, host, hostInside, isHostPublic ? "203.0.113.129" : "192.168.1.1", hostRouter,
            outside: "line", "203.0.113.2", core: core, coreAddress: "203.0.113.1", forwarding: Self.hostPort)
        let isViewerPublic = viewerHome.translation == .none
        let viewerInside = isViewerPublic ? "198.51.100.130" : "192.168.2.2"
        try Self.build(
            viewerHome, bed, viewer, viewerInside, isViewerPublic ? "198.51.100.129" : "192.168.2.1", viewerRouter,
            outside: "line2", "198.51.100.2", core: core, coreAddress: "198.51.100.1", forwarding: nil)
    }

    private static func build(
        _ home: Home, _ bed: NetworkBed, _ machine: NetworkNode, _ inside: String, _ gateway: String,
        _ router: NetworkNode, outside interface: String, _ address: String, core: NetworkNode, coreAddress: String,
        forwarding port: Int?
    ) throws {
        try bed.wire(machine, "\(inside)/25", router, "\(gateway)/25", interface: "home")
        try machine.run("ip route add default via \(gateway)")
        try router.run("ip route add default via \(coreAddress)")
        if home.translation == .none { try core.run("ip route add \(inside)/32 via \(address)") }
        try router.route(
            home.translation, outside: interface, address: address, inside: inside, forwarding: port,
            blocksDatagrams: home.blocksDatagrams)
    }

    /// Routes another address to the host's router.
    public func routeToHost(_ address: String) throws { try core.run("ip route add \(address)/32 via 203.0.113.2") }

    /// Returns a link with the outside address, as a user with a forwarded port would share it.
    public func published(_ link: String) -> String {
        let parts = link.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4 else { return link }
        return "\(parts[0])//\(hostAddress):\(Self.hostPort)/\(parts[3])"
    }
}
