import Foundation
import NetworkBed
import TestSupport
import Testing

/// The network is interrupted or changes. The session recovers without a new prompt. These tests run the real programs;
/// `cut` drops everything silently, as a dead Wi-Fi does.
/// OutageRecoveryTests, ConnectionLivenessTests and ViewerSessionSimulationTests test each decision and its time in
/// virtual time; RelayLossTests test the viewer's end after 30 s.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct OutageTests {
    /// A viewer and a host with a router between them.
    private final class Watched {
        static let host = "10.9.2.2"
        let bed: NetworkBed
        let viewerNode: NetworkNode
        let router: NetworkNode
        let hostNode: NetworkNode
        let line: EmulatedLink?
        let host: Endpoint
        let viewer: Endpoint
        let folder: TemporaryFolder

        /// - Parameters:
        ///   - translation: the translation of the viewer's router.
        ///   - conditions: the conditions of the viewer's line; without limits if nil.
        init(_ translation: AddressTranslation = .none, conditions: LinkConditions? = nil) throws {
            bed = try NetworkBed()
            viewerNode = try bed.node()
            router = try bed.node()
            hostNode = try bed.node()
            if let conditions {
                line = try bed.link(
                    viewerNode, "10.9.1.2/24", router, "10.9.1.1/24", interface: "inner", conditions: conditions)
            } else {
                line = nil
                try bed.wire(viewerNode, "10.9.1.2/24", router, "10.9.1.1/24", interface: "inner")
            }
            try bed.wire(router, "10.9.2.1/24", hostNode, "\(Self.host)/24", interface: "outer")
            try router.route(translation, outside: "outer", address: "10.9.2.1", inside: "10.9.1.2")
            try viewerNode.run("ip route add default via 10.9.1.1")
            if translation == .none { try hostNode.run("ip route add default via 10.9.2.1") }
            folder = try TemporaryFolder()
            host = try Endpoint(
                ["host", "--accept", "any", "--listen", "\(Self.host):8443", "--source", "test", "--audio", "none"],
                in: hostNode, folder)
            let link = try host.event("link")["link"] as? String
            viewer = try Endpoint(["join", "--headless"], in: viewerNode, folder, link: link)
            try viewer.event("first-picture")
        }

        /// - Parameters:
        ///   - interface: drops what arrives at this interface; everything if nil.
        ///   - protocol: "udp" does not affect the signalling.
        func cut(_ interface: String? = nil, protocol: String? = nil) throws {
            for rule in [
                "add table inet cut",
                "add chain inet cut everything { type filter hook prerouting priority -400; }",
                "add rule inet cut everything \(interface.map { "iifname \($0) " } ?? "")"
                    + "\(`protocol`.map { "meta l4proto \($0) " } ?? "")drop",
            ] {
                try router.run("nft \(rule)")
            }
        }

        func readdress(_ address: String) throws {
            try viewerNode.run("ip addr flush dev inner")
            try viewerNode.run("ip addr add \(address)/24 dev inner")
            try viewerNode.run("ip route add default via 10.9.1.1")
        }

        func mend() throws { try router.run("nft delete table inet cut") }

        /// Expects that both sides report the return within the limit, and that video continues.
        func expectReturn(within seconds: Double = 20) throws {
            try viewer.event("resumed", seconds: seconds)
            try host.event("resumed", seconds: seconds)
            let before = try #require(try viewer.reports(1).number("frames"))
            #expect(try #require(try viewer.reports(2).number("frames")) > before + 10)
            #expect(host.events("knock").count == 1, "somebody was asked again")
            #expect(viewer.isRunning && host.isRunning)
        }

        func expectAnotherSession() throws {
            try viewer.event("resumed", seconds: 20)
            let before = try #require(try viewer.reports(1).number("frames"))
            #expect(try #require(try viewer.reports(2).number("frames")) > before + 10)
            #expect(host.events("connected").count == 2)
            #expect(try host.reports(1).number("viewers") == 1, "one that never connected is still there")
            #expect(host.events("knock").count == 1, "somebody was asked again")
            #expect(viewer.isRunning && host.isRunning)
        }
    }

    @Test func eachSideSaysThatItIsInterruptedAndNoMediaIsSentMeanwhile() throws {
        let watched = try Watched()
        try watched.cut()
        try watched.viewer.event("interrupted", seconds: 20)
        try watched.host.event("interrupted", seconds: 20)
        let before = try #require(try watched.host.reports(1).number("sentPackets"))
        let after = try #require(try watched.host.reports(3).number("sentPackets"))
        // The estimator counts packets that were dropped before the socket, too; but without a receiving viewer nothing
        // is encoded.
        #expect(after - before < 60, "\(after - before) packets in 3 s to an address that does not answer")
        try watched.mend()
        try watched.expectReturn()
    }

    /// Long enough for several attempts; OutageRecoveryTests has one of 20 s, RelayLossTests one of a relayed session.
    @Test func anOutageOfTenSecondsIsSurvived() throws {
        let watched = try Watched()
        try watched.cut()
        Thread.sleep(forTimeInterval: 10)
        try watched.mend()
        try watched.expectReturn()
        #expect(try #require(watched.viewer.events("resumed").first?.number("afterMs")) > 9_000)
    }

    /// The host's outage is longer than the viewer's, and the host has given the session up when the network returns:
    /// the viewer's token opens another.
    @Test func aSessionThatTheHostHasGivenUpIsReplacedByAnother() throws {
        let watched = try Watched()
        try watched.cut("inner")
        try watched.host.event("interrupted", seconds: 20)
        try watched.cut()
        try watched.viewer.event("interrupted", seconds: 20)
        let left = try watched.host.event("viewer-left", seconds: 35)
        #expect(left["code"] as? String == "connectionLost")
        try watched.mend()
        try watched.expectAnotherSession()
    }

    /// The host answers an ICE restart, but no check gets through: after one such restart the next attempt is another
    /// session. A second restart of 4 s would not be over when the network returns.
    @Test func aRestartThatLeadsNowhereIsFollowedByAnotherSession() throws {
        let watched = try Watched()
        try watched.cut(protocol: "udp")
        try watched.viewer.event("interrupted", seconds: 20)
        Thread.sleep(forTimeInterval: 7)
        try watched.mend()
        try watched.expectAnotherSession()
    }

    @Test func oneRestartIsEnoughWithARoundTripOf200Milliseconds() throws {
        let watched = try Watched(conditions: LinkConditions(kilobits: 10_000, delayMilliseconds: 100))
        for address in ["10.9.1.7", "10.9.1.8"] {
            try watched.readdress(address)
            try watched.viewer.event("resumed", seconds: 20) { ($0["path"] as? String)?.contains(address) == true }
        }
        #expect(watched.host.events("connected").count == 1, "another session, where a restart of ICE would have done")
    }

    @Test func aLinkThatWasDownIsUsedAgain() throws {
        let watched = try Watched()
        try watched.viewerNode.run("ip link set inner down")
        try watched.viewer.event("interrupted", seconds: 20)
        try watched.host.event("interrupted", seconds: 20)
        try watched.viewerNode.run("ip link set inner up")
        try watched.viewerNode.run("ip route add default via 10.9.1.1")
        try watched.expectReturn()
    }

    @Test func anotherAddressOfTheViewerIsFoundAtOnceAndAgain() throws {
        let watched = try Watched()
        for (number, address) in ["10.9.1.7", "10.9.1.8"].enumerated() {
            try watched.readdress(address)
            try watched.viewer.event("resumed", seconds: 20) { ($0["path"] as? String)?.contains(address) == true }
            try watched.viewer.reports(2)
            #expect(watched.viewer.events("resumed").count == number + 1)
        }
        #expect(watched.host.events("knock").count == 1)
        let before = try #require(try watched.viewer.reports(1).number("frames"))
        #expect(try #require(try watched.viewer.reports(2).number("frames")) > before + 10)
    }

    @Test func aRouterThatForgetsItsMappingsCostsSecondsOnly() throws {
        let watched = try Watched(.portRestricted)
        try watched.router.rebind(.portRestricted, outside: "outer", address: "10.9.2.1")
        try watched.viewer.event("resumed", seconds: 20)
        let before = try #require(try watched.viewer.reports(1).number("frames"))
        #expect(try #require(try watched.viewer.reports(2).number("frames")) > before + 10)
        #expect(watched.host.events("knock").count == 1)
    }

    @Test func aHostThatIsKilledIsGoneAtOnce() throws {
        let watched = try Watched()
        watched.host.kill()
        let ended = try watched.viewer.event("ended", seconds: 20)
        #expect(ended["code"] as? String == "connectionLost")
        #expect((ended["reason"] as? String)?.contains("the host has gone") == true)
    }
}
