import NetworkBed

/// A sender's machine, a viewer's machine, and the emulated link between them.
final class EmulatedPath {
    static let hostAddress = "10.9.0.1"
    let host: NetworkNode
    let viewer: NetworkNode
    let link: EmulatedLink
    private let bed: NetworkBed

    /// - Parameter conditions: apply in both directions.
    init(_ conditions: LinkConditions) throws {
        bed = try NetworkBed()
        host = try bed.node()
        viewer = try bed.node()
        link = try bed.link(host, "\(Self.hostAddress)/24", viewer, "10.9.0.2/24", conditions: conditions)
        // Chromium gathers only on the address of the default route.
        for node in [host, viewer] { try node.run("ip route add default dev link") }
    }

    deinit { bed.close() }
}
