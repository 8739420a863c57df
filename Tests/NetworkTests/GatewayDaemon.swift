import Foundation
import NetworkBed
import TestSupport

/// miniupnpd on the host's router of `TwoHomes`: it really forwards ports, by nftables rules. Killed with the value.
final class GatewayDaemon: Sendable {
    /// The router's outside address for forwarded ports. The daemon refuses addresses for documentation, as they are
    /// not routed on the real internet; this address belongs to nobody here.
    static let address = "203.0.112.2"
    private let program: Program
    private let router: NetworkNode
    private let folder: TemporaryFolder

    init(on homes: TwoHomes) throws {
        router = homes.hostRouter
        try homes.routeToHost(Self.address)
        for rule in [
            "add table inet upnp",
            "add chain inet upnp forwarded { type filter hook forward priority 10; }",
            "add chain inet upnp prerouting { type nat hook prerouting priority -100; }",
            "add chain inet upnp postrouting { type nat hook postrouting priority 90; }",
        ] {
            try router.run("nft \(rule)")
        }
        folder = try TemporaryFolder()
        let settings = """
            ext_ifname=line
            ext_ip=\(Self.address)
            listening_ip=home
            http_port=0
            enable_natpmp=no
            secure_mode=yes
            uuid=8d2b5c1e-6d0f-4d51-9f3b-5f2f5c6e2a01
            upnp_table_name=upnp
            upnp_nat_table_name=upnp
            upnp_forward_chain=forwarded
            upnp_nat_chain=prerouting
            upnp_nat_postrouting_chain=postrouting
            allow 1024-65535 192.168.1.0/24 1024-65535

            """
        try settings.write(toFile: folder.file("settings"), atomically: true, encoding: .utf8)
        // In the foreground, with the log on stderr.
        let (launcher, words) = router.command(
            "/usr/sbin/miniupnpd", ["-d", "-f", folder.file("settings"), "-P", folder.file("pid")])
        program = try Program(launcher, words)
        let isReady = program.line(.error, seconds: 10) { $0.contains("HTTP listening on port") ? true : nil }
        guard isReady == true else { throw Program.Failure("miniupnpd did not start: \(program.text)") }
    }

    /// The number of port requests so far.
    var requests: Int { program.text.errors.matches(of: /SOAPAction: .*#AddPortMapping/).count }

    /// Stops the daemon, which answers nothing until `resume`.
    func suspend() { program.suspend() }
    func resume() { program.resume() }

    /// Returns the number of ports that are forwarded now, by the nftables rules.
    func forwards() throws -> Int {
        try router.run("nft list chain inet upnp prerouting").matches(of: /dnat ip to/).count
    }
}
