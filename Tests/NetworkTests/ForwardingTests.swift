import Foundation
import NetworkBed
import TestSupport
import Testing

/// UPnP: the host's router forwards a port on request. There is no server, and the viewer's router is symmetric, so
/// there is no other path.
@Suite(.serialized, .timeLimit(.minutes(2))) struct ForwardingTests {
    private let homes: TwoHomes
    private let gateway: GatewayDaemon

    init() throws {
        homes = try TwoHomes(
            host: .init(.portRestricted), viewer: .init(.symmetric), conditions: LinkConditions(delayMilliseconds: 10))
        // A further network beside the one to the router, as of containers.
        try homes.host.run("ip link add inner type veth peer name within")
        try homes.host.run("ip link set inner up")
        try homes.host.run("ip link set within up")
        try homes.host.run("ip addr add 172.17.0.1/16 dev inner")
        try homes.host.run("ip addr add fd00:17::1/64 dev inner nodad")
        gateway = try GatewayDaemon(on: homes)
    }

    @Test func aViewerComesDirectlyThroughThePortThatTheRouterForwards() throws {
        let tunnel = try ReverseTunnel(homes, [], host: ["--upnp"])
        let path = try tunnel.path()
        #expect(path.hasPrefix("direct") && path.contains("\(GatewayDaemon.address):"), "\(path)")
        #expect(try gateway.forwards() == 1)
        // Few requests are enough.
        #expect((1...3).contains(gateway.requests), "asked \(gateway.requests) times")
        tunnel.host.interrupt()
        #expect(tunnel.host.exitCode() == 0)
        #expect(try gateway.forwards() == 0, "the port is still forwarded")
    }

    @Test func aRouterThatIsSlowToAnswerIsWaitedFor() throws {
        gateway.suspend()
        let tunnel = try ReverseTunnel(homes, [], host: ["--upnp"])
        try tunnel.viewer.event("accepted")
        Thread.sleep(forTimeInterval: 2)
        gateway.resume()
        let path = try tunnel.path()
        #expect(path.contains("\(GatewayDaemon.address):"), "\(path)")
    }
}
