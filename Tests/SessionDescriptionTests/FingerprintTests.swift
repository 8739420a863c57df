import Testing

@testable import SessionDescription

@Suite struct FingerprintTests {
    @Test func textIsReadInEitherCase() throws {
        let bytes = (0..<32).map { UInt8($0 * 8) }
        let fingerprint = try #require(Fingerprint(sha256: bytes))
        #expect(Fingerprint(fingerprint.text) == fingerprint)
        #expect(Fingerprint("SHA-256 " + fingerprint.text.dropFirst(8).lowercased()) == fingerprint)
        #expect(fingerprint.text.hasPrefix("sha-256 00:08:10:"))
    }

    @Test(arguments: [
        "", "sha-256", "sha-256 AB", "md5 AB:CD", "sha-256 " + String(repeating: "A:", count: 31) + "A",
        "sha-256 " + String(repeating: "GG:", count: 31) + "GG",
        "sha-256 " + String(repeating: "AA:", count: 32) + "AA",
    ])
    func otherTextsAreNone(text: String) {
        #expect(Fingerprint(text) == nil)
    }

    @Test func aShortHashIsNone() {
        #expect(Fingerprint(sha256: [1, 2, 3]) == nil)
    }

    /// A description with two sections of one bundle, and lines at session level.
    private func fingerprints(
        session: [String] = [], _ first: [String], _ second: [String] = []
    ) throws -> CertificateFingerprints {
        let lines =
            ["v=0"] + session + ["m=video 9 UDP/TLS/RTP/SAVPF 96"] + first
            + ["m=audio 9 UDP/TLS/RTP/SAVPF 97"] + second
        return try CertificateFingerprints(
            of: SessionDescription.parse(
                lines.map { $0.hasPrefix("sha") || $0.hasPrefix("SHA") ? "a=fingerprint:\($0)\n" : "\($0)\n" }.joined())
        )
    }

    private func text(_ algorithm: String, _ byte: String, _ count: Int) -> String {
        "\(algorithm) " + Array(repeating: byte, count: count).joined(separator: ":")
    }

    @Test func otherHashesBesideSHA256AreLegal() throws {
        let all = [text("sha-512", "0c", 64), text("SHA-256", "0A", 32), text("sha-384", "0B", 48)]
        for found in [
            try fingerprints(all), try fingerprints(all, all), try fingerprints(session: all, []),
            try fingerprints(session: [all[1]], [all[0]], [all[2]]),
        ] {
            #expect(found.sha256.bytes == Array(repeating: 10, count: 32))
            #expect(Set(found.others.map(\.algorithm)) == ["sha-384", "sha-512"])
        }
        // An unknown hash function, and one that RFC 8122 forbids.
        let unknown = try fingerprints(all + ["sha3-256 00:11", "a=fingerprint:md5 00"])
        #expect(unknown.others.count == 2)
    }

    @Test func twoCertificatesAreRefusedWhereverTheyAre() {
        let (one, two) = (text("sha-256", "01", 32), text("sha-256", "02", 32))
        #expect(throws: FingerprintError.ambiguous) { try fingerprints([one, two]) }
        #expect(throws: FingerprintError.ambiguous) { try fingerprints([one], [two]) }
        #expect(throws: FingerprintError.ambiguous) { try fingerprints(session: [one], [one], [two]) }
        #expect(throws: FingerprintError.ambiguous) {
            try fingerprints(session: [one], ["a=Fingerprint:\(two)"])
        }
        #expect(throws: FingerprintError.ambiguous) {
            try fingerprints([one, text("sha-512", "03", 64)], [text("sha-512", "04", 64)])
        }
    }

    @Test func withoutAReadableSHA256ThereIsNoCertificate() {
        let one = text("sha-256", "01", 32)
        #expect(throws: FingerprintError.missing) { try fingerprints([]) }
        #expect(throws: FingerprintError.missing) { try fingerprints([text("sha-512", "03", 64)]) }
        #expect(throws: FingerprintError.missing) { try fingerprints([one, text("sha-512", "03", 32)]) }
        #expect(throws: FingerprintError.missing) { try fingerprints([one, "sha-256"]) }
        #expect(throws: FingerprintError.missing) { try fingerprints([one, "a=fingerprint"]) }
        #expect(throws: FingerprintError.missing) { try fingerprints([one], [one + " x"]) }
    }

    @Test func credentialsHaveBounds() {
        let password = String(repeating: "p", count: 22)
        #expect(ICECredentials(usernameFragment: "abcd", password: password) != nil)
        #expect(ICECredentials(usernameFragment: "abc", password: password) == nil)
        #expect(ICECredentials(usernameFragment: "ab:d", password: password) == nil)
        #expect(ICECredentials(usernameFragment: "abcd", password: "short") == nil)
        #expect(ICECredentials(usernameFragment: String(repeating: "a", count: 257), password: password) == nil)
    }

    @Test func aPasswordIsNotPrinted() throws {
        let password = "secretsecretsecretsecret"
        let credentials = try #require(ICECredentials(usernameFragment: "abcd", password: password))
        #expect(!"\(credentials)".contains("secret"))
    }
}
