import BrowserControl
import Foundation
import NetworkBed
import TestSupport

/// A host and a player with an emulated link between them.
struct ForeignBed {
    static let token = "a-token-for-foreign-players"
    private static let address = "10.9.1.1"
    static let clean = LinkConditions(kilobits: 20_000, delayMilliseconds: 10)
    static let lossy = LinkConditions(kilobits: 20_000, delayMilliseconds: 10, lossPercent: 3)

    private let bed: NetworkBed
    let node: NetworkNode
    let link: EmulatedLink
    let host: ShareHost
    /// The environment of the host and of browsers.
    let environment: [String: String]

    /// Runs `body` with a host, which is ended in any case.
    /// - Parameter isOnLoopback: the host listens on 127.0.0.1 only, and the players run on its machine.
    static func with<Value>(
        _ more: [String] = [], environment: [String: String] = [:], isOnLoopback: Bool = false,
        _ body: (ForeignBed) async throws -> Value
    ) async throws -> Value {
        let bed = try NetworkBed()
        let (node, hostNode) = (try bed.node(), try bed.node())
        let link = try bed.link(
            node, "10.9.1.2/24", hostNode, "\(address)/24", interface: "wlan0", conditions: clean)
        // These addresses would become usable a second later.
        for each in [node, hostNode] { try each.run("ip -6 addr flush dev wlan0") }
        // Browsers offer only the address of the default route.
        try node.run("ip route add default via \(address)")
        try hostNode.run("ip route add default via 10.9.1.2")
        let value = Box<Value>()
        try await ShareHost.with(
            ["--token", token] + more, listen: isOnLoopback ? "127.0.0.1:0" : "\(address):8443", in: hostNode,
            environment: environment
        ) { host in
            value.content = try await body(
                ForeignBed(
                    bed: bed, node: isOnLoopback ? hostNode : node, link: link, host: host, environment: environment))
        }
        guard let content = value.content else { throw Program.Failure("no result") }
        return content
    }

    /// Firefox's audio graph does not run without a sound server. Other variables of a browser are its own.
    private var browserEnvironment: [String: String] { environment.filter { $0.key == "PULSE_SERVER" } }

    private final class Box<Content> { var content: Content? }

    /// The WHEP endpoint.
    var url: String { (host.link.split(separator: "#").first.map(String.init) ?? "") + "/whep" }

    /// Plays these cases, several at a time, each in its own session.
    func play(_ cases: [PlayerCase], with peer: ForeignPeer) async throws -> [(PlayerCase, PlayerRun)] {
        let atOnce = 3
        let groups = stride(from: 0, to: cases.count, by: atOnce).map {
            Array(cases[$0..<min($0 + atOnce, cases.count)])
        }
        let url = url
        guard let kind = peer.browser else {
            var runs: [(PlayerCase, PlayerRun)] = []
            for group in groups {
                runs += try await withThrowingTaskGroup(of: (PlayerCase, PlayerRun).self) { tasks in
                    for each in group {
                        tasks.addTask {
                            (each, try await peer.play(PlayerOptions(each), url: url, token: Self.token, in: node))
                        }
                    }
                    return try await tasks.reduce(into: []) { $0.append($1) }
                }
            }
            return runs
        }
        return try await Browser.with(kind, in: node, environment: browserEnvironment) { browser in
            var runs: [(PlayerCase, PlayerRun)] = []
            for group in groups {
                let played = try await browser.play(group.map { PlayerOptions($0) }, url: url, token: Self.token)
                runs += zip(group, played)
            }
            return runs
        }
    }
}
