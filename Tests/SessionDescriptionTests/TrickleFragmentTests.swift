import Testing

@testable import SessionDescription

@Suite struct TrickleFragmentTests {
    @Test func theExampleOfTheRFCIsRead() throws {
        let fragment = try TrickleFragment.parse(
            """
            a=group:BUNDLE 0 1
            m=audio 9 UDP/TLS/RTP/SAVPF 111
            a=mid:0
            a=ice-ufrag:EsAw
            a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1
            a=candidate:1387637174 1 udp 2122260223 192.0.2.1 61764 typ host generation 0 ufrag EsAw network-id 1
            a=candidate:3471623853 1 udp 2122194687 198.51.100.2 61765 typ host generation 0 ufrag EsAw network-id 2
            a=candidate:473322822 1 tcp 1518280447 192.0.2.1 9 typ host tcptype active generation 0 ufrag EsAw network-id 1
            a=end-of-candidates
            """)
        #expect(fragment.credentials?.usernameFragment == "EsAw")
        #expect(fragment.mid == "0" && fragment.endsCandidates)
        #expect(fragment.candidates.usable.map(\.port) == [61764, 61765] && fragment.candidates.dropped == 1)
    }

    @Test func whatWasWrittenIsRead() throws {
        var fragment = TrickleFragment(credentials: Fixture.credentials, mid: "0", endsCandidates: false)
        fragment.candidates.add(Fixture.candidate)
        #expect(try TrickleFragment.parse(fragment.serialised) == fragment)
    }

    @Test func anEmptyOneIsNothing() throws {
        let fragment = try TrickleFragment.parse("")
        #expect(fragment.credentials == nil && fragment.candidates == CandidateList() && !fragment.endsCandidates)
        #expect(fragment.isEmpty && !fragment.hasBrokenCredentials)
        #expect(try !TrickleFragment.parse("a=end-of-candidates").isEmpty)
        #expect(try TrickleFragment.parse("a=group:BUNDLE 0\nm=video 9 RTP/SAVPF 0\na=mid:0").isEmpty)
    }

    @Test(arguments: [
        ("a=ice-ufrag:user", true), ("a=ice-pwd:passwordpasswordpasswd", true), ("a=ice-ufrag", true),
        ("a=ice-ufrag:user\na=ice-pwd:short", true), ("a=ice-ufrag:u\na=ice-pwd:passwordpasswordpasswd", true),
        ("a=ice-ufrag:user\na=ice-pwd:passwordpasswordpasswd", false), ("a=end-of-candidates", false),
    ])
    func halfCredentialsAreBroken(text: String, isBroken: Bool) throws {
        #expect(try TrickleFragment.parse(text).hasBrokenCredentials == isBroken)
    }

    @Test(arguments: ["garbage", "a", "=x", "a=\u{1}"])
    func otherTextsAreRefused(text: String) {
        #expect(throws: SDPError.notSDP) { try TrickleFragment.parse(text) }
    }
}
