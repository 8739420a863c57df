import ICETransport
import SessionDescription
import Signaling
import Testing

@testable import PeerConnection

/// STUN and TURN servers that a peer names: the addresses that its place allows, in every form, and no connection to
/// others.
@Suite(.timeLimit(.minutes(1)))
struct GrantedServersTests {
    private static let schemes = ["stun:%", "turn:%", "turn:%?transport=tcp", "turns:%"]

    private func servers(_ host: String, port: Int = 9) -> [ICEServer] {
        Self.schemes.map { scheme in
            let parts = scheme.split(separator: "%", omittingEmptySubsequences: false)
            let place = "\(host.contains(":") ? "[\(host)]" : host):\(port)"
            return ICEServer(urls: [parts[0] + place + parts[1]], username: "u", credential: "c")
        }
    }

    private func addresses(of host: String, namedBy peers: String...) async -> ICEServerPreparation.Addresses {
        var granted = GrantedServers(servers(host))
        granted.hosts = peers
        let preparation = ICEServerPreparation(granted: granted)
        let found = await preparation.addresses()
        await preparation.close()
        return found
    }

    @Test(arguments: [
        "127.0.0.1", "127.255.0.9", "127.1", "2130706433", "localhost", "0.0.0.0", "::", "::1", "::ffff:127.0.0.1",
        "::7f00:1",
        "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1:7f00:0:100::", "64:ff9b:1::127.0.0.1", "2002:7f00:1::1",
        "169.254.169.254", "169.254.3.4", "fe80::1", "64:ff9b::a9fe:a9fe", "::ffff:169.254.169.254", "fd00:ec2::254",
        "100.100.100.200", "168.63.129.16", "64:ff9b::10.1.2.3",
    ])
    func aPeerElsewhereNamesNoServerOfThisMachine(_ host: String) async throws {
        let found = await addresses(of: host, namedBy: "203.0.113.5")
        guard host != "64:ff9b::10.1.2.3" else { return #expect(!found.isEmpty && found.areGranted) }
        #expect(found.isEmpty && !found.areGranted, "\(found)")
        #expect(found.problems.count == Self.schemes.count)
    }

    /// Its services may be open to this machine alone.
    @Test func thisMachinesOwnAddressesAreNotNamedByOthers() async throws {
        for own in ICEAgent.localInterfaceAddresses() {
            #expect(await addresses(of: own, namedBy: "203.0.113.5").isEmpty, "\(own)")
            #expect(await !addresses(of: own, namedBy: "127.0.0.1").isEmpty, "\(own)")
        }
    }

    /// A peer on this machine, or behind a tunnel that ends here, names what it likes, except where another host has
    /// redirected there.
    @Test func thePlaceIsThatOfEveryHostThatHadAPart() async throws {
        let local = await addresses(of: "127.0.0.1", namedBy: "localhost")
        #expect(!local.isEmpty && !local.areGranted)
        #expect(await addresses(of: "127.0.0.1", namedBy: "whip.example.net", "127.0.0.1").isEmpty)
        #expect(await addresses(of: "127.0.0.1", namedBy: "127.0.0.1", "whip.example.net").isEmpty)
        #expect(await addresses(of: "169.254.169.254", namedBy: "127.0.0.1").isEmpty)
        let own = ICEServerPreparation(
            servers("127.0.0.1"), granted: GrantedServers(servers("127.0.0.1"), by: "elsewhere"))
        let found = await own.addresses()
        #expect(!found.isEmpty && !found.areGranted && found.problems.isEmpty)
        await own.close()
    }

    /// Of a relay that another one has named, all have to be elsewhere or here.
    @Test func aServerToGoOnAtIsAtThePlaceOfAllThatHaveNamedIt() {
        let own = ICEAgent.localInterfaceAddresses()
        let elsewhere = ServerAddressRule(namedAt: [.elsewhere])
        for address in ["127.0.0.1", "::1", "169.254.169.254", "169.254.3.4", "fe80::1", "::ffff:127.0.0.1"] + own {
            #expect(!elsewhere.permits(address), "\(address)")
        }
        #expect(elsewhere.permits("203.0.113.5") && elsewhere.permits("10.1.2.3"))
        #expect(ServerAddressRule(namedAt: [.loopback]).permits("127.0.0.1"))
        #expect(ServerAddressRule(namedAt: [.link]).permits("169.254.3.4"))
        #expect(!ServerAddressRule(namedAt: [.loopback, .elsewhere]).permits("127.0.0.1"))
        #expect(!ServerAddressRule(namedAt: [.loopback]).permits("169.254.169.254"))
        for address in own { #expect(ServerAddressRule(namedAt: [.thisMachine]).permits(address), "\(address)") }
    }

    /// The check of servers after a failure connects to none of them either.
    @Test func forbiddenServersAreNotChecked() async throws {
        let preparation = ICEServerPreparation(granted: GrantedServers(servers("localhost"), by: "203.0.113.5"))
        let findings = await preparation.findings()
        #expect(findings.count == Self.schemes.count && findings.allSatisfy { $0.finding == .forbidden })
        #expect(findings.allSatisfy { !$0.finding.words.isEmpty && !$0.finding.remedy.isEmpty })
        await preparation.close()
    }
}
