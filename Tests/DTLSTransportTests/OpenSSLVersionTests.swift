import Testing

@testable import DTLSTransport

@Suite struct OpenSSLVersionTests {
    @Test func versionsBeforeTheCorrectionAreFaulty() {
        for old in [
            OpenSSLVersion(1, 1, 1), OpenSSLVersion(3, 0, 0), OpenSSLVersion(3, 0, 9), OpenSSLVersion(3, 0, 21),
        ] {
            #expect(old.isFaulty, "\(old)")
        }
        for new in [
            OpenSSLVersion(3, 0, 22), OpenSSLVersion(3, 0, 24), OpenSSLVersion(3, 5, 1), OpenSSLVersion(4, 0, 0),
        ] {
            #expect(!new.isFaulty, "\(new)")
        }
        #expect(OpenSSLVersion.loaded.major >= 3)
    }
}
