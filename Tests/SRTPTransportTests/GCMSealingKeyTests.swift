import TestSupport
import Testing

@testable import SRTPTransport

@Suite struct GCMSealingKeyTests {
    /// Both libraries, under the same key and nonce, for every length of a packet.
    @Test(arguments: [16, 32]) func theLibrariesAgree(_ keyLength: Int) throws {
        let key = (0..<keyLength).map { UInt8(truncatingIfNeeded: 7 &* $0) }
        let best = try GCMSealingKey(key)
        let openSSL = GCMSealingKey.openSSL(try OpenSSLGCMKey(key))
        for length in 0...1_500 {
            let header = 12 + length % 33
            let plain = (0..<header + length + 16).map { UInt8(truncatingIfNeeded: $0 &+ length) }
            let nonce = (0..<12).map { UInt8(truncatingIfNeeded: $0 &* length) }
            let sealed = try sealed(plain, header, nonce, by: best)
            #expect(try sealed == self.sealed(plain, header, nonce, by: openSSL), "\(length) bytes")
            #expect(sealed[..<header] == plain[..<header])
            #expect(length < 16 || sealed[header..<header + length] != plain[header..<header + length])
        }
    }

    private func sealed(
        _ plain: [UInt8], _ header: Int, _ nonce: [UInt8], by key: borrowing GCMSealingKey
    ) throws -> [UInt8] {
        var bytes = plain
        try bytes.withUnsafeMutableBufferPointer { bytes in
            let start = try #require(bytes.baseAddress)
            try key.seal(nonce, header: start, header, start + header, bytes.count - header - 16)
        }
        return bytes
    }

    /// Without it a relay takes a tenth more time for a packet.
    @Test func theFastLibraryIsUsed() throws {
        #if arch(x86_64)
        guard case .openSSL = try GCMSealingKey([UInt8](repeating: 1, count: 16)) else { return }
        Issue.record("OpenSSL encrypts on a processor for which there is a faster library")
        #endif
    }
}
