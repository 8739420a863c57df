import BusSupport
import Foundation
import Identifiers
import NetworkBed
import TestSupport
import Testing

/// Two machines of a network, each with an avahi-daemon of its own.
@Suite(.timeLimit(.minutes(2))) struct AnnouncementTests {
    private let bed: NetworkBed
    private let host: Machine
    private let viewer: Machine

    private struct Machine {
        let node: NetworkNode
        let folder: TemporaryFolder
        let bus: TestBus
        let responder: Program
        var environment: [String: String] { ["DBUS_SYSTEM_BUS_ADDRESS": bus.address] }

        init(_ node: NetworkNode, name: String) throws {
            self.node = node
            folder = try TemporaryFolder()
            bus = try TestBus()
            let configuration = folder.file("avahi.conf")
            try Data("[server]\nhost-name=\(name)\nallow-interfaces=lan\n".utf8).write(
                to: URL(fileURLWithPath: configuration))
            // It has one file for its process id, below /run.
            let script = """
                mount --make-rprivate / && mount -t tmpfs none /run && mkdir /run/avahi-daemon &&
                exec avahi-daemon --no-drop-root --no-chroot --no-rlimits --file "$0"
                """
            let (launcher, words) = node.command("unshare", ["--mount", "sh", "-c", script, configuration])
            responder = try Program(launcher, words, environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
            guard
                responder.line(
                    .error, seconds: 20, { (line: String) in line.contains("Server startup complete") ? line : nil })
                    != nil
            else {
                throw Program.Failure("no avahi-daemon: \(responder.text.errors)")
            }
        }

        /// What `share list` prints, one JSON object a line.
        func list() throws -> [[String: Any]] {
            let (launcher, words) = node.command(try Program.share(), ["list", "--json"])
            let list = try Program(launcher, words, environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
            guard list.exitCode(seconds: 20) == 0 else { throw Program.Failure(list.text.errors) }
            return list.lines(.standard).compactMap {
                (try? JSONSerialization.jsonObject(with: Data($0.utf8))) as? [String: Any]
            }
        }
    }

    init() throws {
        bed = try NetworkBed()
        let (first, second) = (try bed.node(), try bed.node())
        try bed.wire(first, "192.168.77.2/24", second, "192.168.77.3/24", interface: "lan")
        try bed.wire(first, "203.0.113.2/24", second, "203.0.113.3/24", interface: "wan")
        (host, viewer) = (try Machine(first, name: "desk"), try Machine(second, name: "sofa"))
    }

    @Test func aNeighbourFindsTheHostAndKnocksWithoutTheLink() throws {
        let sharing = try Endpoint(
            ["host", "--source", "test", "--announce", "--name", "Anna: slides"], in: host.node, host.folder,
            agrees: true,
            environment: host.environment)
        let link = try #require(try sharing.event("link")["link"] as? String)
        var found: [String: Any] = [:]
        _ = try eventually {
            found = try viewer.list().first { $0["name"] as? String == "Anna: slides" } ?? [:]
            return !found.isEmpty
        }
        let announced = try #require(found["link"] as? String)
        #expect(announced.hasPrefix("https://192.168.77.2:"), "\(announced)")
        // The same place, and another secret.
        #expect(announced.split(separator: "#").first == link.split(separator: "#").first && announced != link)

        let watching = try Endpoint(["join", "--headless"], in: viewer.node, viewer.folder, link: announced)
        let knock = try sharing.event("knock")
        #expect(knock["announced"] as? Bool == true && knock["address"] as? String == "192.168.77.3", "\(knock)")
        try watching.event("first-picture")

        // From elsewhere the link without the secret is worth nothing.
        let outside = announced.replacingOccurrences(of: "192.168.77.2", with: "203.0.113.2")
        let stranger = try Endpoint(["join", "--headless"], in: viewer.node, TemporaryFolder(), link: outside)
        #expect(stranger.exitCode() == 77, "\(stranger.errorText)")
        #expect(sharing.events("knock").count == 1)

        // The announcement goes with the host.
        sharing.interrupt()
        #expect(try eventually { try viewer.list().isEmpty })
    }

    @Test func theEndOfTheAnnouncementIsAnEvent() throws {
        let sharing = try Endpoint(
            ["host", "--source", "test", "--announce", "--name", "Anna"], in: host.node, host.folder, agrees: true,
            environment: host.environment)
        try sharing.event("link")
        host.responder.terminate()
        #expect(try sharing.event("announcement-ended")["reason"] as? String == "avahi-daemon has ended")
    }

    /// Starts a host on each machine under one name.
    /// - Parameter atOnce: the second does not wait until the first has told the network.
    /// - Returns: the names that are found at last; two, if both are.
    private func namesOfTwoHosts(atOnce: Bool) throws -> Set<String> {
        var hosts: [Endpoint] = []
        for machine in [host, viewer] {
            hosts.append(
                try Endpoint(
                    ["host", "--source", "test", "--announce", "--name", "Anna"], in: machine.node, machine.folder,
                    agrees: true, environment: machine.environment))
            if !atOnce { try hosts.last?.event("link") }
        }
        for host in hosts { try host.event("link") }
        var names: Set<String> = []
        _ = try eventually {
            names = Set(try viewer.list().compactMap { $0["name"] as? String })
            return names.count == 2
        }
        return names
    }

    @Test func aSecondHostOfANameIsToldUnderAnother() throws {
        let names = try namesOfTwoHosts(atOnce: false)
        #expect(names.count == 2 && names.contains("Anna") && names.allSatisfy { $0.hasPrefix("Anna") }, "\(names)")
    }

    @Test func twoHostsOfOneNameThatBeginAtOnceAreTold() throws {
        let names = try namesOfTwoHosts(atOnce: true)
        #expect(names.count == 2 && names.allSatisfy { $0.hasPrefix("Anna") }, "\(names)")
    }

    /// Whoever knows the identifier may not knock without the link at a host that announces nothing.
    @Test func aHostThatDoesNotAnnounceItselfIsNotFound() throws {
        let sharing = try Endpoint(
            ["host", "--source", "test", "--accept", "any"], in: host.node, host.folder, environment: host.environment)
        let link = try #require(try sharing.event("link")["link"] as? String)
        #expect(try viewer.list().isEmpty)
        let own = try Link(parsing: link)
        let guessed = Link(
            host: own.host, port: own.port, id: own.id, secret: Link.announcedSecret, fingerprint: own.fingerprint
        ).text
        let watching = try Endpoint(["join", "--headless"], in: viewer.node, viewer.folder, link: guessed)
        #expect(watching.exitCode() == 77, "\(watching.errorText)")
        #expect(try viewer.list().isEmpty)
    }
}
