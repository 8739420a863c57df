import HTTP
import Signaling
import Testing

@testable import PeerConnection

/// The messages for people when there is no connection.
@Suite struct ConnectivityReportTests {
    private func candidate(_ kind: String, _ address: String) -> ConnectivityReport.Candidate {
        .init(kind: kind, address: address, port: 1)
    }

    @Test func twoPrivateNetworksWantATURNServer() {
        let report = ConnectivityReport(
            localCandidates: [candidate("host", "192.168.1.5")], remoteCandidates: [candidate("host", "10.0.0.2")])
        #expect(
            report.sentence(other: "the host")
                == "no route: your side has only 192.168.1.5; the host only 10.0.0.2; that pair was tried, "
                + "and nothing came back; no TURN server is configured")
        #expect(report.remedy(other: "the host").contains("start the host with --turn turn:USER@SERVER"))
        #expect(report.remedy(other: "the viewer").contains("start share host with --turn"))
    }

    @Test func aTURNServerThatRefusesIsNamed() {
        var report = ConnectivityReport(
            localCandidates: [candidate("host", "192.168.1.5")], remoteCandidates: [candidate("host", "10.0.0.2")])
        let url = "turn:192.0.2.9:3478?transport=udp"
        report.servers = [.init(url: url, finding: .refused(code: 401, reason: "Unauthorized"))]
        #expect(report.sentence(other: "the host").contains("\(url) does not accept the user name and credential"))
        #expect(!report.sentence(other: "the host").contains("no TURN server"))
        #expect(report.remedy(other: "the host").contains("SHARE_TURN_CREDENTIAL"))
    }

    @Test func aRelayThatDoesNotHelpPointsToTCP() {
        var report = ConnectivityReport(
            localCandidates: [candidate("host", "192.168.1.5"), candidate("relay", "192.0.2.9")],
            remoteCandidates: [candidate("host", "10.0.0.2")])
        report.servers = [.init(url: "turn:192.0.2.9:3478?transport=udp", finding: nil)]
        #expect(report.remedy(other: "the host").contains("transport=tcp"))
        #expect(report.sentence(other: "the host").contains("192.0.2.9 (TURN)"))
    }

    @Test func familiesThatDoNotMeetAreSeen() {
        let report = ConnectivityReport(
            localCandidates: [candidate("host", "192.168.1.5")], remoteCandidates: [candidate("host", "2001:db8::2")])
        #expect(report.sentence(other: "the host").contains("IPv4 or IPv6"))
        #expect(report.remedy(other: "the host").contains("both IPv4 and IPv6"))
    }

    @Test func aReportWithoutOwnAddressesSaysSo() {
        let report = ConnectivityReport(refused: 3, usesOnlyRelays: true)
        let sentence = report.sentence(other: "the host")
        #expect(sentence.contains("your side has no address") && sentence.contains("3 more cannot be used"))
        #expect(sentence.contains("--relay-only"))
        #expect(report.remedy(other: "the host").contains("network"))
    }

    @Test func manyAddressesAreCounted() {
        let many = (1...40).map { candidate("host", "192.168.1.\($0)") }
        let sentence = ConnectivityReport(localCandidates: many, remoteCandidates: many).sentence(other: "the viewer")
        #expect(sentence.contains("and 36 more") && sentence.contains("all 1600 pairs"))
        #expect(sentence.utf8.count < 500)
    }

    @Test(arguments: [
        ("192.168.1.1", false), ("172.31.0.1", false), ("172.32.0.1", true), ("100.64.0.1", false), ("8.8.8.8", true),
        ("fd00::1", false), ("2001:db8::1", true), ("::1", false), ("nonsense", false),
    ])
    func publicAddressesAreKnown(_ address: String, _ isPublic: Bool) {
        #expect(ConnectivityReport.isPublic(address) == isPublic)
    }
}
