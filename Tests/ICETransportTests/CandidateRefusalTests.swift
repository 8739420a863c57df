import SessionDescription
import Testing

@testable import ICETransport

@Suite struct CandidateRefusalTests {
    @Test(arguments: [
        "candidate:1 1 udp 2130706431 192.0.2.7 5000 typ host",
        "a=candidate:1 1 UDP 1 192.0.2.7 1 typ host",
        "candidate:842163049 1 udp 1677729535 203.0.113.9 46154 typ srflx raddr 0.0.0.0 rport 0 generation 0",
        "candidate:abc+/ 1 udp 5 2001:db8::1 65535 typ relay raddr 10.0.0.1 rport 9 network-cost 999",
        "candidate:1 1 udp 5 127.0.0.1 9 typ prflx",
    ]) func goodOnesAreRead(_ text: String) throws {
        #expect(try CandidateRefusal(of: #require(ICECandidate(text))) == nil)
    }

    @Test(arguments: [
        "", "candidate:", "candidate:1 1 udp 5 192.0.2.7 5000", "candidate:1 1 udp 5 192.0.2.7 5000 typ",
        "candidate:1 1 udp 5 192.0.2.7 5000 typ what", "candidate:\u{e9} 1 udp 5 192.0.2.7 5000 typ host",
        "candidate:123456789012345678901234567890123 1 udp 5 192.0.2.7 5000 typ host",
        "candidate:1 0 udp 5 192.0.2.7 5000 typ host", "candidate:1 -1 udp 5 192.0.2.7 5000 typ host",
        "candidate:1 1 udp 0 192.0.2.7 5000 typ host", "candidate:1 1 udp 4294967295 192.0.2.7 5000 typ host",
        "candidate:1 1 udp 99999999999999999999 192.0.2.7 5000 typ host",
        "candidate:1 1 udp 5 192.0.2.7 65536 typ host", "candidate:1 1 udp 5 127.1 5000 typ host",
        "candidate:1 1 udp 5 fe80::1%eth0 5000 typ host", "candidate:1 1 udp 5 010.0.0.1 5000 typ host",
        "\u{0}\u{0}", "a=b", String(repeating: "candidate:", count: 200),
    ]) func malformedOnesAreNotRead(_ text: String) {
        #expect(ICECandidate(text) == nil)
    }

    @Test(arguments: [
        ("candidate:1 2 udp 5 192.0.2.7 5000 typ host", CandidateRefusal.otherComponent),
        ("candidate:1 1 tcp 5 192.0.2.7 9 typ host tcptype active", .notUDP),
        ("candidate:1 1 udp 5 192.0.2.7 0 typ host", .unusableAddress),
        ("candidate:1 1 udp 5 example.org 5000 typ host", .hostName),
        ("candidate:1 1 udp 5 8f7b1e4c-0d8e-4b8a-9d8e-0d8e4b8a9d8e.local 5000 typ host", .hostName),
        ("candidate:1 1 udp 5 0.0.0.0 5000 typ host", .unusableAddress),
        ("candidate:1 1 udp 5 0.1.2.3 5000 typ host", .unusableAddress),
        ("candidate:1 1 udp 5 255.255.255.255 5000 typ host", .unusableAddress),
        ("candidate:1 1 udp 5 224.0.0.251 5353 typ host", .unusableAddress),
        ("candidate:1 1 udp 5 :: 5000 typ host", .unusableAddress),
        ("candidate:1 1 udp 5 ff02::fb 5353 typ host", .unusableAddress),
    ]) func badOnesAreRefused(_ text: String, _ refusal: CandidateRefusal) throws {
        #expect(try CandidateRefusal(of: #require(ICECandidate(text))) == refusal)
    }
}
