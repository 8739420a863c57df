import Foundation
import NetworkBed
import TestSupport
import Testing

/// Two machines of a network with IPv6 addresses alone.
@Suite(.timeLimit(.minutes(2))) struct IPv6Tests {
    private let bed: NetworkBed
    private let host: NetworkNode
    private let viewer: NetworkNode
    private let folder: TemporaryFolder

    init() throws {
        bed = try NetworkBed()
        (host, viewer) = (try bed.node(), try bed.node())
        try bed.wire(host, "2001:db8:1::2/64", viewer, "2001:db8:1::3/64", interface: "lan")
        folder = try TemporaryFolder()
    }

    private func doctor(_ arguments: [String] = [], in node: NetworkNode) throws -> [String] {
        let (launcher, words) = node.command(try Program.share(), ["doctor"] + arguments)
        let doctor = try Program(
            launcher, words,
            environment: [
                "XDG_DATA_HOME": folder.path, "TMPDIR": folder.path, "PULSE_SERVER": "unix:\(folder.file("no-pulse"))",
                "DISPLAY": nil, "WAYLAND_DISPLAY": nil, "XDG_RUNTIME_DIR": nil, "DBUS_SESSION_BUS_ADDRESS": nil,
            ])
        #expect(doctor.exitCode(seconds: 60) != nil)
        return doctor.lines(.standard)
    }

    /// With the ports of a host whose user names none.
    @Test func theLinkOfAHostIsWatched() throws {
        let sender = try Endpoint(["host", "--source", "test", "--accept", "any"], in: host, folder)
        let link = try #require(try sender.event("link")["link"] as? String)
        #expect(link.hasPrefix("https://[2001:db8:1::2]:27427/"))
        let receiver = try Endpoint(["join", "--headless"], in: viewer, TemporaryFolder(), link: link)
        try receiver.event("first-picture")
        let path = try receiver.event("connected")["path"] as? String ?? ""
        #expect(path.contains("2001:db8:1::"), "\(path)")

        let own = try doctor(in: host)
        let network = try #require(own.firstIndex { $0.contains(" network ") }, "\(own)")
        #expect(
            own[network].hasPrefix("ok ")
                && own[network].contains("addresses: 2001:db8:1::2; a link names [2001:db8:1::2]"))
        // What a firewall has to let in, so that its user can do that ahead.
        let ports = "TCP 27427 (to 27436, for further hosts) and UDP 27500 to 27755"
        #expect(own[(network + 1)...].first?.hasSuffix("-> a firewall has to let in " + ports) == true, "\(own)")
        let other = try doctor(["--link", link], in: viewer)
        #expect(other.contains { $0.hasPrefix("ok ") && $0.contains("port 27427 at 2001:db8:1::2 opens") }, "\(other)")
        #expect(other.contains { $0.hasPrefix("ok      broadcast ") }, "\(other)")
    }
}
