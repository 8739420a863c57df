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
