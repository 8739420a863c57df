import Foundation
import NetworkBed
import TestSupport
import Testing

/// Two homes behind routers of every kind, a TURN server between them, and one forwarded TCP port for the signalling.
@Suite(.serialized) struct TranslationTests {
    /// Connects two homes, with a server for STUN, and for TURN over UDP and TCP.
    private func meet(_ host: TwoHomes.Home, _ viewer: TwoHomes.Home) throws -> ReverseTunnel {
        let homes = try TwoHomes(host: host, viewer: viewer, conditions: LinkConditions(delayMilliseconds: 10))
        let server = try TURNServer(in: homes.server)
        let options = [
            "--stun", "\(TwoHomes.serverAddress):3478", "--turn", TURNServer.url(), "--turn", TURNServer.url("tcp"),
        ]
        return try ReverseTunnel(homes, [server], host: options, viewer: options)
    }

    /// Hole punching fails if a router maps each destination to a new port, unless the other side accepts every source.
    private static func isDirect(_ host: AddressTranslation, _ viewer: AddressTranslation) -> Bool {
        switch (host, viewer) {
        case (.symmetric, .symmetric), (.symmetric, .portRestricted), (.portRestricted, .symmetric): false
        default: true
        }
    }

    /// Four at the same time, each in a network of its own, as they mostly wait.
    @Test func everyPairConnectsAndDirectlyWhereThatIsPossible() async {
        let pairs = AddressTranslation.allCases.flatMap { host in AddressTranslation.allCases.map { (host, $0) } }
        for start in stride(from: 0, to: pairs.count, by: 4) {
            await withTaskGroup(of: Void.self) { group in
                for (host, viewer) in pairs[start..<min(start + 4, pairs.count)] {
                    group.addTask {
                        let path = await onThread { Result { try meet(.init(host), .init(viewer)).path() } }
                        switch path {
                        case .success(let path):
                            print("| \(host.rawValue) | \(viewer.rawValue) | \(path) |")
                            #expect(
                                path.contains("relay") == !Self.isDirect(host, viewer), "\(host), \(viewer): \(path)")
                        case .failure(let error): Issue.record("\(host), \(viewer): \(error)")
                        }
                    }
                }
            }
        }
    }

    /// Waits on a thread of its own, as the threads that run tests are few.
    private func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body()) }
        }
    }

    @Test(arguments: [(true, false), (false, true), (true, true)])
    func whereDatagramsAreBlockedTURNOverTCPConnects(hostIsBlocked: Bool, viewerIsBlocked: Bool) throws {
        let tunnel = try meet(
            .init(.portRestricted, blocksDatagrams: hostIsBlocked),
            .init(.portRestricted, blocksDatagrams: viewerIsBlocked))
        let path = try tunnel.path()
        print("| UDP blocked: \(hostIsBlocked) | UDP blocked: \(viewerIsBlocked) | \(path) |")
        #expect(path.contains("relay"), "\(path)")
    }

    /// Two homes that nobody can reach meet at a relay, which has no part in the media.
    @Test(arguments: [
        (AddressTranslation.portRestricted, AddressTranslation.portRestricted), (.fullCone, .symmetric),
        (.symmetric, .symmetric),
    ])
    func homesThatNobodyReachesMeetAtARelay(host: AddressTranslation, viewer: AddressTranslation) throws {
        let homes = try TwoHomes(
            host: .init(host), viewer: .init(viewer), conditions: LinkConditions(delayMilliseconds: 10))
        let server = try TURNServer(in: homes.server)
        defer { withExtendedLifetime(server) {} }
        let folders = try (0..<3).map { _ in try TemporaryFolder() }
        let relay = try Endpoint(
            [
                "relay", "--listen", "\(TwoHomes.serverAddress):0", "--accept", "any",
                "--stun", "\(TwoHomes.serverAddress):3478", "--turn", TURNServer.url(),
            ], in: homes.server, folders[0], environment: ["SHARE_TURN_CREDENTIAL": TURNServer.credential])
        let path = try meet(at: relay, homes, folders)
        print("| \(host.rawValue) | \(viewer.rawValue) | \(path) |")
        #expect(path.contains("relay") == !Self.isDirect(host, viewer), "\(path)")
    }

    /// A host and a viewer meet at a relay that has no part in the media.
    /// - Parameter folders: the second for the host, the third for the viewer.
    /// - Returns: the viewer's path.
    private func meet(at relay: Endpoint, _ homes: TwoHomes, _ folders: [TemporaryFolder]) throws -> String {
        let place = try #require(try relay.event("link")["link"] as? String)
        let publisher = try Endpoint(
            ["host", "--relay", place, "--route", "direct", "--source", "test", "--accept", "any"], in: homes.host,
            folders[1])
        let link = try #require(try publisher.event("link")["link"] as? String)
        let watcher = try Endpoint(["join", "--headless"], in: homes.viewer, folders[2], link: link)
        try watcher.event("first-picture")
        let path = try watcher.event("connected")["path"] as? String ?? ""
        #expect(try watcher.reports(2).number("frames") ?? 0 > 20)
        #expect(relay.events("live").isEmpty)
        return path
    }

    /// The relay is the only other machine: host and viewer learn their public addresses from it.
    @Test(arguments: [
        (AddressTranslation.portRestricted, AddressTranslation.portRestricted), (.fullCone, .symmetric),
    ])
    func homesMeetDirectlyWithTheRelayAsTheirSTUNServer(
        host: AddressTranslation, viewer: AddressTranslation
    ) throws {
        let homes = try TwoHomes(
            host: .init(host), viewer: .init(viewer), conditions: LinkConditions(delayMilliseconds: 10))
        let folders = try (0..<3).map { _ in try TemporaryFolder() }
        let relay = try Endpoint(
            ["relay", "--listen", "\(TwoHomes.serverAddress):0", "--accept", "any"], in: homes.server, folders[0])
        let path = try meet(at: relay, homes, folders)
        print("| \(host.rawValue) | \(viewer.rawValue) | \(path) |")
        #expect(!path.contains("relay"), "\(path)")
    }

    /// A service that nobody reaches is met there, too. Host and service get the relay's STUN and TURN servers from it.
    @Test(arguments: [
        (AddressTranslation.portRestricted, AddressTranslation.portRestricted), (.symmetric, .symmetric),
    ])
    func aServiceThatNobodyReachesIsMetAtARelay(host: AddressTranslation, service: AddressTranslation) throws {
        let homes = try TwoHomes(
            host: .init(host), viewer: .init(service), conditions: LinkConditions(delayMilliseconds: 10))
        let server = try TURNServer(in: homes.server)
        defer { withExtendedLifetime(server) {} }
        let folders = try (0..<3).map { _ in try TemporaryFolder() }
        let relay = try Endpoint(
            [
                "relay", "--listen", "\(TwoHomes.serverAddress):0", "--accept", "any",
                "--stun", "\(TwoHomes.serverAddress):3478", "--turn", TURNServer.url(),
            ], in: homes.server, folders[0], environment: ["SHARE_TURN_CREDENTIAL": TURNServer.credential])
        let place = try #require(try relay.event("link")["link"] as? String)
        let receiver = try Endpoint(
            ["service", "--id", "com.example.conference", "--headless", "--accept", "any", "--relay", place],
            in: homes.viewer, folders[1])
        let link = try #require(try receiver.event("link")["link"] as? String)
        let (launcher, words) = homes.host.command(try Program.share(), ["extension", "install", link])
        let installing = try Program(launcher, words, environment: ["XDG_DATA_HOME": folders[2].path])
        #expect(installing.exitCode(seconds: 20) == 0, "\(installing.text.errors)")
        let publisher = try Endpoint(
            ["host", "--preferred-extension", "com.example.conference", "--source", "test", "--audio", "none"],
            in: homes.host, folders[2], agrees: true)
        try receiver.event("first-picture", seconds: 30)
        let path = try receiver.event("connected")["path"] as? String ?? ""
        print("| \(host.rawValue) | \(service.rawValue) | \(path) |")
        #expect(path.contains("relay") == !Self.isDirect(host, service), "\(path)")
        #expect(publisher.isRunning && relay.events("live").isEmpty)
    }

    /// No datagram gets from one home to the other, and there is no TURN server: the relay sends to that viewer.
    @Test func homesWithoutADirectPathWatchOverTheRelay() throws {
        let homes = try TwoHomes(
            host: .init(.symmetric), viewer: .init(.symmetric), conditions: LinkConditions(delayMilliseconds: 10))
        let folders = try (0..<3).map { _ in try TemporaryFolder() }
        let relay = try Endpoint(
            ["relay", "--listen", "\(TwoHomes.serverAddress):0", "--accept", "any"], in: homes.server, folders[0])
        let place = try #require(try relay.event("link")["link"] as? String)
        let publisher = try Endpoint(
            ["host", "--relay", place, "--source", "test", "--accept", "any"], in: homes.host, folders[1])
        let link = try #require(try publisher.event("link")["link"] as? String)
        let watcher = try Endpoint(["join", "--headless"], in: homes.viewer, folders[2], link: link)
        try watcher.event("first-picture")
        #expect(try watcher.reports(2).number("frames") ?? 0 > 20)
        #expect(relay.events("live").count == 1)
    }
}
