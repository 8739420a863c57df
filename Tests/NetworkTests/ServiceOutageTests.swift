import Foundation
import NetworkBed
import TestSupport
import Testing

/// The network between a host and the service that it is paired with is interrupted, or the host gets another address.
/// The host restarts ICE (RFC 9725 section 4.3.2), and nobody is asked again.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ServiceOutageTests {
    private final class Paired {
        static let service = "10.9.2.2"
        let bed: NetworkBed
        let hostNode: NetworkNode
        let router: NetworkNode
        let service: Endpoint
        private let host: Program
        private let folder: TemporaryFolder
        private let home: TemporaryFolder

        /// Runs a command in a terminal of its own, and answers the first question with yes.
        private static let yes = """
            import os, pty, sys
            process, terminal = pty.fork()
            if process == 0: os.execvp(sys.argv[1], sys.argv[1:])
            seen, answered = b"", False
            while True:
                try: piece = os.read(terminal, 4096)
                except OSError: break
                if not piece: break
                os.write(1, piece)
                seen += piece
                if not answered and b"[n]o: " in seen:
                    os.write(terminal, b"y\\n")
                    answered = True
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
            """

        init() throws {
            bed = try NetworkBed()
            hostNode = try bed.node()
            router = try bed.node()
            let serviceNode = try bed.node()
            try bed.wire(hostNode, "10.9.1.2/24", router, "10.9.1.1/24", interface: "inner")
            try bed.wire(router, "10.9.2.1/24", serviceNode, "\(Self.service)/24", interface: "outer")
            try router.route(.none, outside: "outer", address: "10.9.2.1", inside: "10.9.1.2")
            try hostNode.run("ip route add default via 10.9.1.1")
            try serviceNode.run("ip route add default via 10.9.2.1")
            folder = try TemporaryFolder()
            service = try Endpoint(
                [
                    "service", "--id", "com.example.conference", "--name", "Conference", "--headless", "--accept",
                    "any",
                    "--listen", "\(Self.service):8443",
                ], in: serviceNode, folder)
            let link = try service.event("link")["link"] as? String ?? ""
            home = try TemporaryFolder()
            let environment = ["XDG_DATA_HOME": home.path, "TMPDIR": home.path, "DISPLAY": nil, "SHARE_LINK": nil]
            let (launcher, words) = hostNode.command(try Program.share(), ["extension", "install", link])
            #expect(try Program(launcher, words, environment: environment).exitCode(seconds: 20) == 0)
            let (name, arguments) = hostNode.command(
                "/usr/bin/python3",
                [
                    "-c", Self.yes, try Program.share(), "host", "--preferred-extension", "com.example.conference",
                    "--source", "test", "--audio", "none",
                ])
            host = try Program(name, arguments, environment: environment)
            try service.event("first-picture")
        }

        func cut() throws {
            for rule in [
                "add table inet cut", "add chain inet cut everything { type filter hook prerouting priority -400; }",
                "add rule inet cut everything drop",
            ] {
                try router.run("nft \(rule)")
            }
        }

        func mend() throws { try router.run("nft delete table inet cut") }

        func expectReturn() throws {
            try service.event("resumed", seconds: 20)
            #expect(service.events("pairing").count == 1 && service.events("broadcast-opened").count == 1)
            #expect(service.events("broadcast-closed").isEmpty && host.isRunning)
        }
    }

    @Test func anOutageEndsNothing() throws {
        let paired = try Paired()
        try paired.cut()
        try paired.service.event("interrupted", seconds: 20)
        try paired.mend()
        try paired.expectReturn()
    }

    @Test func aHostWithAnotherAddressGoesOn() throws {
        let paired = try Paired()
        try paired.hostNode.run("ip addr flush dev inner")
        try paired.hostNode.run("ip addr add 10.9.1.77/24 dev inner")
        try paired.hostNode.run("ip route add default via 10.9.1.1")
        try paired.service.event("interrupted", seconds: 20)
        try paired.expectReturn()
    }
}
