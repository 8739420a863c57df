import Testing

@testable import SessionDescription

@Suite struct CandidateTests {
    @Test(arguments: [
        "candidate:1 1 udp 2130706431 192.0.2.1 50000 typ host",
        "candidate:2 1 udp 1694498815 198.51.100.7 50001 typ srflx raddr 192.0.2.1 rport 50000",
        "candidate:3 1 udp 16777215 203.0.113.9 3478 typ relay raddr 198.51.100.7 rport 50001",
        "candidate:4 1 udp 1 2001:db8::1 50000 typ host",
        "candidate:abc+/ 1 udp 2147483647 127.0.0.1 1 typ prflx",
        "candidate:5 1 udp 7 192.0.2.1 9 typ host ufrag abcd",
    ])
    func usableOnesAreReadAndWritten(text: String) throws {
        let candidate = try #require(ICECandidate(text))
        #expect(candidate.isUsable && !candidate.isNamed)
        #expect(candidate.text == text)
        #expect(ICECandidate("a=" + text + "\r") == nil)
        #expect(ICECandidate("a=" + text) == candidate)
    }

    @Test(arguments: [
        "", "candidate:", "candidate:1", "candidate:1 1 udp 5 192.0.2.1 5 typ",
        "candidate:1 1 udp 5 192.0.2.1 5 typ any",
        // Priority 0, and above 2^31-1.
        "candidate:1 1 udp 0 192.0.2.1 5 typ host", "candidate:1 1 udp 2147483648 192.0.2.1 5 typ host",
        "candidate:1 1 udp 99999999999999999999999 192.0.2.1 5 typ host",
        "candidate:1 0 udp 5 192.0.2.1 5 typ host", "candidate:1 257 udp 5 192.0.2.1 5 typ host",
        "candidate:1 1 sctp 5 192.0.2.1 5 typ host", "candidate:1 1 udp 5 192.0.2.1 65536 typ host",
        "candidate:1 1 udp 5 192.0.2.256 5 typ host", "candidate:1 1 udp 5 1.2.3 5 typ host",
        "candidate:1 1 udp 5 a;b 5 typ host", "candidate:1 1 udp -5 192.0.2.1 5 typ host",
        "candidate:ü 1 udp 5 192.0.2.1 5 typ host",
        "candidate:123456789012345678901234567890123 1 udp 5 192.0.2.1 5 typ host",
    ])
    func malformedOnesAreRefused(text: String) {
        #expect(ICECandidate(text) == nil)
    }

    @Test func namesAreToldFromAddresses() throws {
        let hidden = try #require(
            ICECandidate("candidate:1 1 UDP 5 c3d36c67-2b7b-4aba-b4c9-87743dd7d2e6.local 41487 typ host generation 0"))
        #expect(hidden.addressKind == .multicastDNS && hidden.isNamed && !hidden.isUsable)
        let named = try #require(ICECandidate("candidate:1 1 udp 5 example.com 41487 typ host"))
        #expect(named.addressKind == .hostName && named.isNamed)
    }

    @Test(arguments: [
        "candidate:1 2 udp 5 192.0.2.1 5 typ host", "candidate:1 1 tcp 5 192.0.2.1 9 typ host tcptype active",
        "candidate:1 1 udp 5 192.0.2.1 0 typ host", "candidate:1 1 udp 5 0.0.0.0 5 typ host",
        "candidate:1 1 udp 5 0.1.2.3 5 typ host",
        "candidate:1 1 udp 5 224.0.0.251 5353 typ host", "candidate:1 1 udp 5 255.255.255.255 5 typ host",
        "candidate:1 1 udp 5 ff02::fb 5353 typ host", "candidate:1 1 udp 5 :: 5 typ host",
    ])
    func othersAreValidButNotUsable(text: String) throws {
        let candidate = try #require(ICECandidate(text))
        #expect(!candidate.isUsable && !candidate.isNamed)
    }

    @Test func aListIsBounded() {
        var list = CandidateList()
        for port in 1...200 { list.add(ICECandidate("candidate:1 1 udp 5 192.0.2.1 \(port) typ host")) }
        list.add(ICECandidate("candidate:1 1 udp 5 192.0.2.1 1 typ host"))
        list.add(nil)
        #expect(list.usable.count == 40 && list.dropped == 161)
    }

    @Test(arguments: [
        ("::", [UInt8](repeating: 0, count: 16)), ("::1", [UInt8](repeating: 0, count: 15) + [1]),
        ("1::", [0, 1] + [UInt8](repeating: 0, count: 14)),
        ("1:2:3:4:5:6:7:8", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]),
        ("::ffff:192.0.2.1", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 192, 0, 2, 1]),
        ("1:2:3:4:5:6:7::", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 0]),
    ])
    func version6Addresses(text: String, bytes: [UInt8]) {
        #expect(IPAddress(text) == .v6(bytes))
    }

    @Test(arguments: [
        ":", ":::", "1", "1:2", ":1", "1:", "1::2::3", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "12345::", "g::",
        "::1.2.3",
        "1.2.3.4::", "fe80::1%eth0", "1.2.3.4.5", "1..2.3", "0x1.2.3.4", "010.0.0.1", "1.2.3.00", "",
    ])
    func otherTextsAreNoAddress(text: String) {
        #expect(IPAddress(text) == nil)
    }
}
