import Foundation
import NetworkBed
import TestSupport
import Testing

/// Sessions whose media can only use a TURN server, when the server or the path to it fails.
@Suite(.serialized, .timeLimit(.minutes(4))) struct RelayLossTests {
    /// Connects two homes that cannot reach each other directly.
    private func meet(
        _ servers: [TURNServer], _ options: [String] = ["--turn", TURNServer.url()], environment: [String: String] = [:]
    ) throws -> ReverseTunnel {
        let tunnel = try ReverseTunnel(homes, servers, host: options, environment: environment)
        let path = try tunnel.path()
        #expect(path.contains("relay"), "\(path)")
        return tunnel
    }

    private let homes: TwoHomes

    init() throws {
        homes = try TwoHomes(
            host: .init(.symmetric), viewer: .init(.symmetric), conditions: LinkConditions(delayMilliseconds: 10))
    }

    @Test func anotherServerTakesOverFromOneThatDies() throws {
        let server = try TURNServer(in: homes.server)
        let tunnel = try meet([server], ["--turn", TURNServer.url(), "--turn", TURNServer.url(port: 3_479)])
        // Only now, so that the session begins at the first.
        let other = try TURNServer(in: homes.server, port: 3_479)
        server.kill()
        try tunnel.viewer.event("interrupted", seconds: 20)
        let path = try tunnel.viewer.event("resumed", seconds: 20)["path"] as? String
        #expect(path?.contains("relay") == true)
        #expect(!other.sessions.isEmpty)
        #expect(try tunnel.isBack())
    }

    /// The server returns after ten seconds, without its previous state.
    @Test func aServerThatIsRestartedCostsLittleMoreThanItsAbsence() throws {
        let server = try TURNServer(in: homes.server)
        let tunnel = try meet([server])
        server.kill()
        try tunnel.viewer.event("interrupted", seconds: 20)
        let sides = [tunnel.host, tunnel.viewer]
        let before = try sides.map { try #require($0.processorSeconds) }
        Thread.sleep(forTimeInterval: 10)
        let spent = try zip(sides, before).map { side, before in try #require(side.processorSeconds) - before }
        #expect(spent.allSatisfy { $0 < 2 }, "busy for nothing: \(spent) s of 10")
        let again = try TURNServer(in: homes.server)
        try tunnel.viewer.event("resumed", seconds: 20)
        #expect(!again.sessions.isEmpty)
        #expect(try tunnel.isBack())
    }

    @Test func allocationsThatExpireAreMadeAnew() throws {
        let server = try TURNServer(in: homes.server)
        let tunnel = try meet([server])
        #expect(try server.expireAllocations() >= 2)
        try tunnel.viewer.event("interrupted", seconds: 20)
        try tunnel.viewer.event("resumed", seconds: 20)
        #expect(try tunnel.isBack())
    }

    /// One server never returns; the other one removes the allocation and rejects the user.
    @Test func aViewerThatLosesItsServerIsToldWhy() throws {
        let secret = "of-the-server"
        let limited = TimeLimited(secret: secret, seconds: 10)
        let dying = try TURNServer(in: homes.server, guests: .user(credential: limited.credential))
        let expiring = try TURNServer(in: homes.server, port: 3_479, guests: .timeLimited(secret: secret))
        let tunnel = try meet(
            [dying, expiring],
            ["--turn", TURNServer.url(), "--turn", TURNServer.url(port: 3_479, user: limited.user)],
            environment: ["SHARE_TURN_CREDENTIAL": limited.credential])
        Thread.sleep(until: limited.end.addingTimeInterval(1))
        dying.kill()
        #expect(try expiring.expireAllocations() >= 2)
        try tunnel.host.event("interrupted", seconds: 20)
        let ended = try tunnel.viewer.event("ended", seconds: 40)
        #expect(ended["code"] as? String == "connectionLost")
        #expect(tunnel.viewer.exitCode() == 74)
        #expect(try tunnel.host.event("viewer-left", seconds: 20).number("viewers") == 0)
        for words in [tunnel.viewer.errorText, tunnel.host.errorText] {
            // The kernel reports a closed port at most once a second.
            let isSilent = words.contains(":3478?transport=udp does not answer")
            #expect(words.contains(":3478?transport=udp cannot be reached") || isSilent, "\(words)")
            #expect(words.contains(":3479?transport=udp does not accept the user name and credential"), "\(words)")
            #expect(words.contains("time-limited ones may be over"), "\(words)")
            #expect(!words.contains(limited.credential))
        }
        let findings = (ended["servers"] as? [[String: Any]])?.compactMap { $0["finding"] as? String }
        #expect(findings?.count == 2)
        #expect(tunnel.host.isRunning)
    }

    @Test func aSilenceOfTenSecondsAndAnotherAddressAreSurvived() throws {
        let server = try TURNServer(in: homes.server)
        let tunnel = try meet([server])
        try homes.viewer.run("ip addr flush dev home")
        try homes.viewer.run("ip addr add 192.168.2.7/25 dev home")
        try homes.viewer.run("ip route add default via 192.168.2.1")
        try tunnel.viewer.event("resumed", seconds: 20)
        #expect(try tunnel.isBack())
        try homes.line.set(LinkConditions(delayMilliseconds: 10, isDown: true))
        Thread.sleep(forTimeInterval: 10)
        try homes.line.set(LinkConditions(delayMilliseconds: 10))
        var returns = 0
        let path =
            try tunnel.viewer.event("resumed", seconds: 20) { _ in
                returns += 1
                return returns == 2
            }["path"] as? String
        #expect(path?.contains("relay") == true)
        #expect(try tunnel.isBack())
        #expect(!server.sessions.isEmpty)
    }
}
