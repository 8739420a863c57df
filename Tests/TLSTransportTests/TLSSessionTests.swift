import COpenSSL
import Foundation
import TestSupport
import Testing

@testable import TLSTransport

@Suite struct TLSSessionTests {
    private let authority: CertificateAuthority

    init() throws { authority = try CertificateAuthority() }

    private func pair(
        _ names: String = "DNS:example.net,IP:192.0.2.1,IP:2001:db8::1", host: String = "example.net", days: Int = 2,
        isRSA: Bool = false, trust: TLSContext.Trust? = nil, least: TLSContext.Version = .tls12,
        most: TLSContext.Version = .tls13, ciphers: String? = nil, piece: Int = .max,
        accepts: (([UInt8]) -> Bool)? = nil
    ) throws -> TLSPair {
        let context = try TLSContext(
            client: trust ?? .authorities(file: authority.file), least: least, most: most, ciphers: ciphers)
        return TLSPair(
            try TLSSession(client: context, host: host, accepts: accepts),
            try TLSSession(server: authority.issue(names, days: days, rsaBits: isRSA ? 2_048 : nil).context()),
            piece: piece)
    }

    /// Whatever TCP makes of it.
    @Test(arguments: [1, 7, 1_000, .max], [TLSContext.Version.tls12, .tls13])
    func whatIsSentArrives(piece: Int, version: TLSContext.Version) throws {
        let pair = try pair(isRSA: version == .tls12, least: version, most: version, piece: piece)
        #expect(pair.run() == .init())
        #expect(pair.client.isEstablished && pair.server.isEstablished)
        let (question, answer) = (Array("question".utf8), (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try pair.client.send(question)
        #expect(pair.run() == .init(toServer: question))
        try pair.server.send(answer)
        pair.server.close()
        #expect(pair.run() == .init(client: .closed, toClient: answer))
        // The other direction stays until its own end.
        try pair.client.send(question)
        pair.client.close()
        #expect(pair.run() == .init(client: .closed, server: .closed, toServer: question))
    }

    @Test(arguments: [
        ("example.net", TLSFailure?.none), ("192.0.2.1", nil), ("2001:db8::1", nil), ("2001:db8::1%eth0", nil),
        ("example.net.", nil),
        ("a.example.net", .certificate(.otherName)), ("192.0.2.2", .certificate(.otherName)),
        ("share test", .certificate(.otherName)),
    ])
    func aCertificateIsForItsNames(host: String, failure: TLSFailure?) throws {
        let pair = try pair(host: host)
        let outcome = pair.run()
        #expect(outcome.client == failure.map { .failed($0) } ?? .open)
        #expect(pair.client.isEstablished == (failure == nil))
        // The server learns it, too.
        #expect((outcome.server == .open) == (failure == nil))
    }

    @Test func aPatternIsForWholeLabels() throws {
        #expect(try pair("DNS:*.example.net", host: "a.example.net").run().client == .open)
        #expect(
            try pair("DNS:a*.example.net", host: "ab.example.net").run().client == .failed(.certificate(.otherName)))
        #expect(
            try pair("DNS:*.example.net", host: "b.a.example.net").run().client == .failed(.certificate(.otherName)))
    }

    @Test func othersAreNotTrusted() throws {
        #expect(try pair(days: -1).run().client == .failed(.certificate(.expired)))
        let other = try CertificateAuthority()
        let trust = TLSContext.Trust.authorities(file: other.file)
        #expect(try pair(trust: trust).run().client == .failed(.certificate(.untrusted)))
        #expect(try pair(trust: .system).run().client == .failed(.certificate(.untrusted)))
    }

    /// A pinned certificate: neither its name, nor its age, nor its issuer counts.
    @Test func theCallerDecidesAboutAnyCertificate() throws {
        var seen: [UInt8] = []
        let accepted = try pair("DNS:other", days: -1, trust: .any) { certificate in
            seen = certificate
            return true
        }
        #expect(accepted.run() == .init() && accepted.client.isEstablished)
        #expect(TLSCertificate(der: seen)?.names == [.host("other")])
        let refused = try pair(trust: .any) { _ in false }
        #expect(refused.run().client == .failed(.refusedCertificate))
        #expect(!refused.client.isEstablished)
        #expect(throws: TLSFailure.self) { try refused.client.send([1]) }
    }

    @Test(arguments: ["ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384", "AES128-GCM-SHA256"])
    func ciphersWithoutSecrecyOrAuthenticationAreRefused(cipher: String) throws {
        let pair = try pair(isRSA: !cipher.hasPrefix("ECDHE"), most: .tls12, ciphers: cipher)
        let outcome = pair.run()
        guard case .failed(.handshake) = outcome.server else { return #expect(Bool(false), "\(outcome)") }
        #expect(outcome.client != .open)
    }

    @Test func anyDamageEndsTheSession() throws {
        let pair = try pair()
        #expect(pair.server.receive(Array("GET / HTTP/1.1\r\n\r\n".utf8)).0 != .open)
        for bit in [0, 40, 200] {
            let pair = try self.pair()
            _ = pair.run()
            try pair.client.send(Array("question".utf8))
            var record = pair.client.takeOutgoing()
            record[bit / 8] ^= 1 << UInt8(bit % 8)
            let (progress, plaintext) = pair.server.receive(record)
            guard case .failed(.record) = progress else {
                #expect(Bool(false), "\(progress)")
                continue
            }
            #expect(plaintext.isEmpty)
            #expect(!pair.server.takeOutgoing().isEmpty, "An alert is due.")
            #expect(pair.server.receive([]).0 != .open)
        }
    }

    @Test func recordsAreNotPlayedAgain() throws {
        let pair = try pair()
        _ = pair.run()
        try pair.client.send([1, 2, 3])
        let record = pair.client.takeOutgoing()
        #expect(pair.server.receive(record).1 == [1, 2, 3])
        let (progress, plaintext) = pair.server.receive(record)
        guard case .failed(.record) = progress else { return #expect(Bool(false), "\(progress)") }
        #expect(plaintext.isEmpty)
    }

    /// RFC 8446 section 4.6.3: each request for new keys costs as much as a hundred records. Data allows a few more.
    @Test(arguments: [SSL_KEY_UPDATE_REQUESTED, SSL_KEY_UPDATE_NOT_REQUESTED])
    func newKeysAreNotMadeWithoutEnd(kind: Int32) throws {
        // The client would take the answers for too many, too.
        for hasData in kind == SSL_KEY_UPDATE_REQUESTED ? [false] : [false, true] {
            let pair = try pair()
            _ = pair.run()
            var count = 0
            while count < 100 {
                #expect(SSL_key_update(pair.client.ssl, kind) == 1)
                // Sends it, with some data or next to none.
                try pair.client.send([UInt8](repeating: 1, count: hasData ? 70_000 : 1))
                guard pair.run().server == .open else { break }
                count += 1
            }
            #expect(count == (hasData ? 100 : 32))
        }
    }

    /// The name goes to the server, an address does not (RFC 6066 section 3).
    @Test(arguments: [("example.net", "example.net"), ("example.net.", "example.net"), ("192.0.2.1", nil)])
    func namesAreSent(host: String, name: String?) throws {
        let pair = try pair(host: host)
        _ = pair.run()
        let sent = SSL_get_servername(pair.server.ssl, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) }
        #expect(pair.server.isEstablished && sent == name)
    }
}

@Suite struct TLSCertificateTests {
    @Test func namesAreReadInTheirOrder() throws {
        let names = "DNS:a.example,email:x@example.net,IP:192.0.2.1,DNS:*.b.example,IP:2001:db8::1"
        let authority = try CertificateAuthority()
        let certificate = try #require(try authority.issue(names).certificates().first)
        #expect(
            certificate.names == [
                .host("a.example"), .address([192, 0, 2, 1]), .host("*.b.example"),
                .address([0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]),
            ])
        let left = certificate.expiry - Int(Date().timeIntervalSince1970)
        #expect((2 * 86_400 - 60...2 * 86_400).contains(left))
    }

    @Test func aChainIsReadToItsEnd() throws {
        let authority = try CertificateAuthority()
        let leaf = try String(contentsOfFile: authority.issue("DNS:a").chain, encoding: .utf8)
        let both = leaf + "text in between\n" + (try String(contentsOfFile: authority.file, encoding: .utf8))
        #expect(TLSCertificate.chain(pem: Array(both.utf8)).map(\.names) == [[.host("a")], []])
        // None of a damaged text is used.
        let damaged = leaf + both.dropFirst(leaf.count).replacingOccurrences(of: "-----END", with: "=A=\n-----END")
        #expect(TLSCertificate.chain(pem: Array(damaged.utf8)).isEmpty)
        #expect(TLSCertificate.chain(pem: []).isEmpty && TLSCertificate(der: [0x30, 0]) == nil)
    }

    @Test func aKeyFitsItsCertificate() throws {
        let authority = try CertificateAuthority()
        let (one, other) = (try authority.issue("DNS:a"), try authority.issue("DNS:a"))
        #expect {
            try TLSContext(server: one.certificates(), other.privateKey())
        } throws: {
            $0 as? TLSFailure == .otherKey
        }
        // Nobody is asked for a passphrase.
        let plain = try Data(contentsOf: URL(fileURLWithPath: one.key))
        let encrypted = try Program(
            "openssl", ["pkcs8", "-topk8", "-passout", "pass:secret", "-in", one.key]
        ).finish()
        #expect(TLSPrivateKey(pem: Array(plain)) != nil)
        #expect(encrypted.contains("ENCRYPTED PRIVATE KEY") && TLSPrivateKey(pem: Array(encrypted.utf8)) == nil)
        #expect(TLSPrivateKey(pem: Array("no key".utf8)) == nil && TLSPrivateKey(der: [1, 2]) == nil)
    }
}
