import Foundation
import NetworkBed
import TestSupport
import Testing

/// One host and two viewers, each behind a link of its own.
@Suite(.serialized) struct ViewersTests {
    private final class Fork {
        static let hostAddress = "10.9.0.1"
        let bed: NetworkBed
        let hostNode: NetworkNode
        let viewerNodes: [NetworkNode]
        let links: [EmulatedLink]
        let folder: TemporaryFolder
        private var shareLink: String?

        init(_ conditions: [LinkConditions]) throws {
            bed = try NetworkBed()
            hostNode = try bed.node()
            let core = try bed.node()
            try bed.wire(core, "10.9.0.2/24", hostNode, "\(Self.hostAddress)/24", interface: "home")
            try hostNode.run("ip route add default via 10.9.0.2")
            var nodes: [NetworkNode] = []
            var links: [EmulatedLink] = []
            for (index, one) in conditions.enumerated() {
                let node = try bed.node()
                let subnet = "10.9.\(index + 1)"
                links.append(
                    try bed.link(
                        core, "\(subnet).1/24", node, "\(subnet).2/24", interface: "line\(index)", conditions: one,
                        seed: UInt32(index) + 1))
                try node.run("ip route add default via \(subnet).1")
                nodes.append(node)
            }
            viewerNodes = nodes
            self.links = links
            try core.forward()
            folder = try TemporaryFolder()
        }

        func host(display: String) throws -> Endpoint {
            let host = try Endpoint(
                [
                    "host", "--accept", "any", "--listen", "\(Self.hostAddress):8443", "--display", display, "--audio",
                    "none",
                ], in: hostNode, folder)
            shareLink = try host.event("link")["link"] as? String
            return host
        }

        func join(_ viewer: Int) throws -> Endpoint {
            try Endpoint(["join", "--headless"], in: viewerNodes[viewer], folder, link: shareLink)
        }
    }

    /// A terminal full of noise uses the whole bandwidth, so the slow viewer's line is always full.
    @Test func aViewerOverALineOf1MegabitSlowsTheOtherDownByLittle() throws {
        let fork = try Fork([
            LinkConditions(kilobits: 20_000, delayMilliseconds: 10),
            LinkConditions(kilobits: 1_000, queueMilliseconds: 500, delayMilliseconds: 25),
        ])
        let display = try VirtualDisplay()
        let noise = "while :; do head -c 300 /dev/urandom | base64 -w 0; sleep 0.1; done"
        let terminal = try Program(
            "xterm", ["-geometry", "150x45+0+0", "-e", "sh", "-c", noise], environment: ["DISPLAY": display.name])
        let host = try fork.host(display: display.name)
        let fast = try fork.join(0)
        try fast.event("first-picture")
        let early = try fast.reports(4)
        let alone = try #require(fast.reports(5).number("frames")) - #require(early.number("frames"))
        let slow = try fork.join(1)
        try slow.event("first-picture", seconds: 30)
        // The time until the slow viewer has an encoding of its own.
        var from = try #require(fast.reports(1).number("frames"))
        let starting = try #require(fast.reports(5).number("frames")) - from
        try fast.reports(6)
        _ = try fork.links[1].figures(.forward)
        let slowFrom = try #require(slow.reports(1).number("frames"))
        from = try #require(fast.reports(1).number("frames"))
        let together = try #require(fast.reports(5).number("frames")) - from
        let slowly = try #require(slow.reports(1).number("frames")) - slowFrom
        #expect(starting > 0.3 * alone, "alone \(alone), while the other starts \(starting)")
        #expect(together > 0.4 * alone, "alone \(alone), with the other \(together)")
        #expect(host.events("statistics").contains { ($0.number("lowViewers") ?? 0) > 0 })
        #expect(slowly >= 2, "the slow one got \(slowly)")
        let figures = try fork.links[1].figures(.forward)
        #expect(figures.longestQueueMilliseconds < 400)
        #expect(host.isRunning && terminal.isRunning)
    }
}
