import NetworkBed
import TestSupport
import Testing

/// Two homes behind routers of every kind, a TURN server between them, and one forwarded TCP port for the signalling.
@Suite(.serialized) struct TranslationTests {
    /// Connects two homes, with a server for STUN, and for TURN over UDP and TCP.
    private func meet(_ host: TwoHomes.Home, _ viewer: TwoHomes.Home) throws -> Meeting {
        let homes = try TwoHomes(host: host, viewer: viewer, conditions: LinkConditions(delayMilliseconds: 10))
        let server = try TURNServer(in: homes.server)
        let options = [
            "--stun", "\(TwoHomes.serverAddress):3478", "--turn", TURNServer.url(), "--turn", TURNServer.url("tcp"),
        ]
        return try Meeting(homes, [server], host: options, viewer: options)
    }

    /// Hole punching fails if a router maps each destination to a new port, unless the other side accepts every source.
    private static func isDirect(_ host: AddressTranslation, _ viewer: AddressTranslation) -> Bool {
        switch (host, viewer) {
        case (.symmetric, .symmetric), (.symmetric, .portRestricted), (.portRestricted, .symmetric): false
        default: true
        }
    }

    @Test(arguments: AddressTranslation.allCases, AddressTranslation.allCases)
    func everyPairConnectsAndDirectlyWhereThatIsPossible(
        host: AddressTranslation, viewer: AddressTranslation
    ) throws {
        let meeting = try meet(.init(host), .init(viewer))
        let path = try meeting.path()
        print("| \(host.rawValue) | \(viewer.rawValue) | \(path) |")
        #expect(path.contains("relay") == !Self.isDirect(host, viewer), "\(path)")
    }

    @Test(arguments: [(true, false), (false, true), (true, true)])
    func whereDatagramsAreBlockedTURNOverTCPConnects(hostIsBlocked: Bool, viewerIsBlocked: Bool) throws {
        let meeting = try meet(
            .init(.portRestricted, blocksDatagrams: hostIsBlocked),
            .init(.portRestricted, blocksDatagrams: viewerIsBlocked))
        let path = try meeting.path()
        print("| UDP blocked: \(hostIsBlocked) | UDP blocked: \(viewerIsBlocked) | \(path) |")
        #expect(path.contains("relay"), "\(path)")
    }
}
