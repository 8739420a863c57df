import NetworkBed
import TestSupport
import Testing

/// Two homes behind routers of every kind, a TURN server between them, and one forwarded TCP port for the signalling.
@Suite(.serialized) struct TranslationTests {
    /// A pair of homes with a host and a viewer in them.
    private final class Meeting {
        let homes: TwoHomes
        private let server: TURNServer
        private let folder: TemporaryFolder
        private let host: Endpoint
        let viewer: Endpoint

        /// - Parameter servers: the options that name them, for both sides.
        init(_ host: TwoHomes.Home, _ viewer: TwoHomes.Home, servers: [String] = Meeting.servers) throws {
            homes = try TwoHomes(host: host, viewer: viewer, conditions: LinkConditions(delayMilliseconds: 10))
            server = try TURNServer(in: homes.server, address: TwoHomes.serverAddress)
            folder = try TemporaryFolder()
            let environment = ["SHARE_TURN_CREDENTIAL": TURNServer.credential]
            self.host = try Endpoint(
                ["host", "--source", "test", "--accept", "any", "--listen", "0.0.0.0:\(TwoHomes.hostPort)"] + servers,
                in: homes.host, folder, environment: environment)
            guard let link = try self.host.event("link")["link"] as? String else { throw Program.Failure("no link") }
            self.viewer = try Endpoint(
                ["join", "--headless"] + servers, in: homes.viewer, folder, link: homes.published(link),
                environment: environment)
        }

        static let servers = [
            "--stun", "\(TwoHomes.serverAddress):3478",
            "--turn", "turn:\(TURNServer.user)@\(TwoHomes.serverAddress):3478",
            "--turn", "turn:\(TURNServer.user)@\(TwoHomes.serverAddress):3478?transport=tcp",
        ]

        /// The way that the media goes when pictures have come for a while.
        func way() throws -> String {
            try viewer.event("first-picture", seconds: 20)
            let statistics = try viewer.reports(2)
            guard statistics.number("frames") ?? 0 > 0 else { throw Program.Failure("no pictures") }
            return try viewer.event("connected")["path"] as? String ?? ""
        }
    }

    /// No hole can be punched where each packet to a new place gets a new port, unless the other side takes everything.
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
        let meeting = try Meeting(.init(host), .init(viewer))
        let way = try meeting.way()
        print("| \(host.rawValue) | \(viewer.rawValue) | \(way) |")
        #expect(way.contains("relay") == !Self.isDirect(host, viewer), "\(way)")
    }

    @Test(arguments: [(true, false), (false, true), (true, true)])
    func whereDatagramsAreBlockedTURNOverTCPConnects(hostIsBlocked: Bool, viewerIsBlocked: Bool) throws {
        let meeting = try Meeting(
            .init(.portRestricted, blocksDatagrams: hostIsBlocked),
            .init(.portRestricted, blocksDatagrams: viewerIsBlocked))
        let way = try meeting.way()
        print("| UDP blocked: \(hostIsBlocked) | UDP blocked: \(viewerIsBlocked) | \(way) |")
        #expect(way.contains("relay"), "\(way)")
    }
}
