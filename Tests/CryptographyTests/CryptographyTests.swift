import COpenSSL
import Foundation
import TestSupport
import Testing

@testable import Cryptography

/// Vectors of the standards, and of swift-crypto and swift-certificates, with which earlier versions made the same.
@Suite struct CryptographyTests {
    // MARK: Hashes and codes

    @Test func hashesAreThoseOfTheStandards() {
        let abc = Array("abc".utf8)
        // FIPS 180-4, RFC 1321 section A.5.
        #expect(
            SHA256Hash(of: abc).bytes == hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
        #expect(LegacyDigest.sha1.hash(of: abc) == hex("a9993e364706816aba3e25717850c26c9cd0d89d"))
        #expect(LegacyDigest.md5.hash(of: abc) == hex("900150983cd24fb0d6963f7d28e17f72"))
        #expect(
            SHA256Hash(of: []).bytes == hex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"))
        #expect(SHA256Hash(of: abc) == SHA256Hash(of: abc) && SHA256Hash(of: abc) != SHA256Hash(of: []))
    }

    @Test func codesAreThoseOfTheStandards() {
        // RFC 4231 section 4.3, RFC 2202 section 3.
        let message = Array("what do ya want for nothing?".utf8)
        let key = HMACKey(Array("Jefe".utf8))
        let code = hex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        #expect(key.code(for: message) == code && key.isValid(code, for: message))
        #expect(
            HMACKey(Array("Jefe".utf8), .sha1).code(for: message) == hex("effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"))
        for wrong in [code.map { $0 ^ 1 }, Array(code.dropLast()), code + [0], []] {
            #expect(!key.isValid(wrong, for: message))
        }
        #expect(!key.isValid(code, for: message + [0]) && !HMACKey([]).isValid(code, for: message))
    }

    @Test func keysAreDerivedAsTheStandardSays() {
        // RFC 5869 sections A.1 and A.3.
        let secret = [UInt8](repeating: 0x0B, count: 22)
        let salt = [UInt8](0...12)
        #expect(
            HKDF.extract(salt: salt, secret)
                == hex("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5"))
        let output = hex(
            """
            3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208\
            d5b887185865
            """)
        #expect(HKDF.derive(secret, salt: salt, info: [UInt8](0xF0...0xF9), count: 42) == output)
        let without = hex(
            """
            8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395\
            faa4b61a96c8
            """)
        #expect(HKDF.derive(secret, info: [], count: 42) == without)
        #expect(HKDF.derive(secret, info: [], count: 0).isEmpty)
    }

    // MARK: Encryption

    @Test func sealedBytesAreThoseOfTheStandard() {
        // The Galois/Counter Mode of Operation (McGrew, Viega), test cases 4 and 16.
        let plaintext = hex(
            """
            d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95\
            956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39
            """)
        let data = hex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
        let nonce = hex("cafebabefacedbaddecaf888")
        let key = hex("feffe9928665731c6d6a8f9467308308")
        let short = hex(
            """
            42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b2\
            5466931c7d8f6a5aac84aa051ba30b396a0aac973d58e0915bc94fbc3221a5db94fae95ae7121a47
            """)
        let long = hex(
            """
            522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48\
            590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b
            """)
        for (key, sealed) in [(key, short), (key + key, long)] {
            let cipher = AESGCM(key: key)
            var output: [UInt8] = [9]
            plaintext.withUnsafeBytes { cipher.seal($0, nonce: nonce, authenticating: data, to: &output) }
            #expect(output == [9] + sealed)
            output = [8]
            #expect(sealed.withUnsafeBytes { cipher.open($0, nonce: nonce, authenticating: data, to: &output) })
            #expect(output == [8] + plaintext)
        }
    }

    @Test func nothingThatWasChangedIsOpened() {
        let cipher = AESGCM(key: [UInt8](repeating: 1, count: 16))
        for count in [0, 1, 16, 100] {
            let plaintext = [UInt8](repeating: 7, count: count)
            let sealed = cipher.sealWithNonce(plaintext)
            #expect(sealed.count == 12 + count + 16 && cipher.openWithNonce(sealed) == plaintext)
            for index in sealed.indices {
                var changed = sealed
                changed[index] ^= 1
                #expect(cipher.openWithNonce(changed) == nil)
            }
            for length in 0..<sealed.count { #expect(cipher.openWithNonce(Array(sealed.prefix(length))) == nil) }
            #expect(AESGCM(key: [UInt8](repeating: 2, count: 16)).openWithNonce(sealed) == nil)
            var output: [UInt8] = [5]
            let body = Array(sealed.dropFirst(12))
            for nonce in [[], [UInt8](repeating: 0, count: 11), [UInt8](repeating: 0, count: 13)] {
                #expect(!body.withUnsafeBytes { cipher.open($0, nonce: nonce, to: &output) })
            }
            #expect(output == [5])
        }
        #expect(cipher.sealWithNonce([1]) != cipher.sealWithNonce([1]))
    }

    // MARK: Keys on P-256

    @Test func signaturesOfOtherLibrariesAreValid() throws {
        let point = hex(
            """
            047df818d3b593987b03ea20ba21c242ddb48a3fefc8fb0c7654afc7b9c2fe974823a94582cf\
            823e8719b5ec96fbd40d3601c6070ae091e873c32937fd099e3012
            """)
        let signature = hex(
            """
            4ed7f98595bfe036ebbea9344ff984e1fabd54b30d8b221322345dfaa1ba432a2366f7d39327\
            2d30bbc6f5203129ea8d3c350749bce90fe2a3e02ae99e3e9839
            """)
        let key = try #require(P256PublicKey(point: point))
        let text = Array("signed by swift-crypto".utf8)
        #expect(key.isValid(signature, over: text))
        #expect(!key.isValid(signature, over: text + [0]))
        for index in signature.indices {
            var changed = signature
            changed[index] ^= 1
            #expect(!key.isValid(changed, over: text))
        }
        let zeros = [UInt8](repeating: 0, count: 64)
        for wrong in [[], zeros, Array(signature.dropLast()), signature + [0], zeros.map { ~$0 }] {
            #expect(!key.isValid(wrong, over: text))
        }
    }

    @Test func whatAKeySignsIsValid() throws {
        let key = P256PrivateKey()
        let again = try #require(P256PrivateKey(der: key.der))
        #expect(again.publicKey.point == key.publicKey.point && again.der == key.der)
        // One in 256 numbers is shorter than its 32 bytes.
        var (hasShortR, hasShortS) = (false, false)
        for number in 0..<20_000 where !hasShortR || !hasShortS {
            let text = Array("\(number)".utf8)
            let signature = key.signature(over: text)
            #expect(signature.count == 64 && key.publicKey.isValid(signature, over: text))
            hasShortR = hasShortR || signature[0] == 0
            hasShortS = hasShortS || signature[32] == 0
        }
        #expect(hasShortR && hasShortS)
        #expect(!P256PrivateKey().publicKey.isValid(key.signature(over: []), over: []))
    }

    @Test func onlyPointsOfTheCurveAreKeys() {
        let point = P256PrivateKey().publicKey.point
        #expect(point.count == 65 && P256PublicKey(point: point)?.point == point)
        var beside = point
        beside[64] ^= 1
        var compressed = point
        compressed[0] = 2
        let infinity = [UInt8](repeating: 0, count: 65)
        let wrong: [[UInt8]] = [
            [], [0], [4], infinity, [4] + infinity.dropLast(), beside, compressed, Array(point.dropLast()), point + [0],
            Array(compressed.prefix(33)),
        ]
        for bytes in wrong { #expect(P256PublicKey(point: bytes) == nil) }
    }

    @Test func bothSidesAgree() throws {
        let key = hex(
            """
            308187020100301306072a8648ce3d020106082a8648ce3d030107046d306b0201010420b6e3\
            ec040df7d8edaab59d276ccf04872b23c3c5be3e48fcb694a485402ca06da14403420004d872\
            9f6a1466313f185c3890ae07d76f99e1809846d1e498d4bdea6eb93239bc5b319e0ce543a199\
            f1c53acbcea5227d38cd28a6d3a63578efb5040b3ffe3bd4
            """)
        let other = hex(
            """
            04a4d674e89bc2420d59d3487a7d6ce9e7bd5c4dce8327a093564bbfc132583c8de4dd15f59d\
            9db4c5f16f9f432e7c3f14e12bf226de3aee153a19b6a00f4ccddc
            """)
        let secret = hex("06fbb46324d1fc62d262f52eb5d807d653570c4ae504282e4da7ede1b0432e43")
        let one = try #require(P256PrivateKey(der: key))
        #expect(one.agreement(with: try #require(P256PublicKey(point: other))) == secret)
        let (host, viewer) = (P256PrivateKey(), P256PrivateKey())
        #expect(host.agreement(with: viewer.publicKey) == viewer.agreement(with: host.publicKey))
    }

    @Test func otherKeysAndDamagedOnesAreRefused() {
        let der = P256PrivateKey().der
        for count in 0..<der.count { #expect(P256PrivateKey(der: Array(der.prefix(count))) == nil) }
        #expect(P256PrivateKey(der: der + [0]) == nil)
        // The number, which begins at byte 36, does not belong to the point.
        #expect(Array(der[33..<36]) == [1, 4, 32])
        for index in [36, 50, 67] {
            var changed = der
            changed[index] ^= 1
            #expect(P256PrivateKey(der: changed) == nil)
        }
        #expect(P256PrivateKey(der: der[..<36] + [UInt8](repeating: 0, count: 32) + der[68...]) == nil)
        // An Ed25519 key (RFC 8410 section 10.3).
        let ed25519 = "302e020100300506032b657004220420d4ee72dbf913584ad5b6d8f1f769f8ad3afe7c28cbf1d4fbe097a88f44755842"
        #expect(P256PrivateKey(der: hex(ed25519)) == nil)
    }

    @Test func aMessageIsSealedAsTheStandardSays() throws {
        let key = hex(
            """
            308187020100301306072a8648ce3d020106082a8648ce3d030107046d306b02010104206c40\
            a29c187e0616400a7e2727d2b46d8f656a890c12050e6721527ee962dcb9a144034200048965\
            149983bb62e1c220139a8e75cc30bf2714d35700ea4a8e8315fef2159f18ef2ac2331194e460\
            7ce6164b5327a0e32322ac9b77f01cecd6a31ff4be748a6b
            """)
        let sealed = hex(
            """
            04f1afc8389c494d390f60d4e36481173b06aacf7052d41d5169112487c79dcf3791e9c5f896\
            c528ee0fc311390059fe722a438cfd05212ea1116d0e9df16702b8e74ca91560e0d697e4dcd4\
            0c2b561d9691f51b7de9ff98751ac4cdcf4ae93cfc48
            """)
        let recipient = try #require(P256PrivateKey(der: key))
        let info = Array("info of both sides".utf8)
        #expect(HPKE.open(sealed, with: recipient, info: info) == Array("from swift-crypto".utf8))
        let own = HPKE.seal([1, 2, 3], for: recipient.publicKey, info: info)
        #expect(HPKE.open(own, with: recipient, info: info) == [1, 2, 3])
        #expect(HPKE.open(own, with: recipient, info: []) == nil)
        #expect(HPKE.open(own, with: P256PrivateKey(), info: info) == nil)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(HPKE.open(changed, with: recipient, info: info) == nil)
            #expect(HPKE.open(Array(sealed.prefix(index)), with: recipient, info: info) == nil)
        }
    }

    // MARK: Certificates

    @Test func certificatesOfEarlierVersionsAreRead() throws {
        let blocks = try #require(PEM.blocks(of: Self.earlierIdentity))
        #expect(blocks.map(\.label) == ["CERTIFICATE", "PRIVATE KEY"])
        let certificate = try #require(X509Certificate(der: blocks[0].der))
        let key = try #require(P256PrivateKey(der: blocks[1].der))
        #expect(certificate.publicKey.point == key.publicKey.point)
        #expect(key.der == blocks[1].der)
        #expect(blocks.map(PEM.text).joined() == Self.earlierIdentity + "\n")
    }

    @Test func aCertificateIsOfItsKey() throws {
        let key = P256PrivateKey()
        let made = try X509Certificate(selfSignedBy: key, name: "share", validBefore: 2, days: 7_300)
        let read = try #require(X509Certificate(der: made.der))
        #expect(read.publicKey.point == key.publicKey.point && made.publicKey.point == key.publicKey.point)
        let other = try X509Certificate(selfSignedBy: key, name: "share", validBefore: 2, days: 7_300)
        #expect(other.der != made.der, "each has a number of its own")
        #expect(X509Certificate(der: made.der + [0]) == nil)
        for count in 0..<made.der.count { #expect(X509Certificate(der: Array(made.der.prefix(count))) == nil) }
    }

    @Test(arguments: ["secp256k1", "brainpoolP256r1", "secp384r1"])
    func certificatesAndKeysOfOtherCurvesAreRefused(curve: String) throws {
        let folder = try TemporaryFolder()
        func make(_ curve: String) throws -> (certificate: [UInt8], key: [UInt8]) {
            let (certificate, key) = (folder.file("certificate"), folder.file("key"))
            try openssl([
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:\(curve)", "-nodes", "-subj", "/CN=x",
                "-outform", "DER", "-out", certificate, "-keyout", key,
            ])
            let text = try String(contentsOfFile: key, encoding: .utf8)
            return (
                Array(try Data(contentsOf: URL(fileURLWithPath: certificate))),
                try #require(PEM.blocks(of: text)?.first).der
            )
        }
        let other = try make(curve)
        #expect(X509Certificate(der: other.certificate) == nil && P256PrivateKey(der: other.key) == nil)
        let own = try make("prime256v1")
        #expect(X509Certificate(der: own.certificate) != nil && P256PrivateKey(der: own.key) != nil)
    }

    /// OpenSSL's own cleanup at exit crashes threads that still run.
    @Test func aProcessEndsWellWhileItsThreadsHash() async {
        for _ in 0..<4 {
            await #expect(processExitsWith: .success) {
                let isBusy = DispatchSemaphore(value: 0)
                for _ in 0..<2 {
                    Thread.detachNewThread {
                        let key = HMACKey([1])
                        for number in 0... {
                            _ = key.code(for: [2])
                            if number == 1_000 { isBusy.signal() }
                        }
                    }
                }
                for _ in 0..<2 { isBusy.wait() }
                exit(0)
            }
        }
    }

    @Test func theErrorQueueOfDTLSStaysAsItWas() throws {
        ERR_clear_error()
        defer { ERR_clear_error() }
        #expect(BIO_new_file("/nonexistent", "r") == nil)
        let error = ERR_peek_last_error()
        let point = [4] + [UInt8](repeating: 1, count: 64)
        #expect(P256PublicKey(point: point) == nil && P256PrivateKey(der: [1, 2]) == nil)
        #expect(
            X509Certificate(der: [1, 2]) == nil && PEM.blocks(of: "-----BEGIN X-----\n*\n-----END X-----\n") == nil)
        #expect(AESGCM(key: point.suffix(16).map { $0 }).openWithNonce(point) == nil)
        let key = P256PrivateKey()
        #expect(!key.publicKey.isValid([UInt8](repeating: 9, count: 64), over: point))
        #expect(HPKE.open(HPKE.seal(point, for: key.publicKey, info: []), with: P256PrivateKey(), info: []) == nil)
        #expect(error != 0 && ERR_peek_last_error() == error)
    }

    @Test func aCertificateSaysWhatItIsFor() throws {
        let made = try X509Certificate(selfSignedBy: P256PrivateKey(), name: "share", validBefore: 2, days: 7_300)
        let folder = try TemporaryFolder()
        let file = folder.file("certificate")
        try Data(made.der).write(to: URL(fileURLWithPath: file))
        let text = try openssl([
            "x509", "-inform", "DER", "-in", file, "-noout", "-text", "-dates", "-dateopt", "iso_8601",
        ])
        for (name, days) in [("notBefore", -2.0), ("notAfter", 7_300)] {
            let line = text.split(separator: "\n").first { $0.hasPrefix(name + "=") }
            let words = line?.dropFirst(name.count + 1).replacing(" ", with: "T")
            let date = try Date(try #require(words), strategy: .iso8601)
            #expect(abs(date.timeIntervalSinceNow - days * 86_400) < 600, "\(name) \(date)")
        }
        for line in [
            "Version: 3", "Signature Algorithm: ecdsa-with-SHA256", "Issuer: CN = share", "Subject: CN = share",
            "NIST CURVE: P-256", "X509v3 Basic Constraints: critical", "CA:FALSE", "X509v3 Key Usage: critical",
            "Digital Signature", "TLS Web Server Authentication, TLS Web Client Authentication",
        ] {
            #expect(text.contains(line), "\(line) in \(text)")
        }
    }

    @Test func textThatIsNoPEMIsRefused() throws {
        let text = PEM.text(.init("CERTIFICATE", [UInt8](0...99)))
        let blocks = try #require(PEM.blocks(of: "before\n" + text + text + "after"))
        #expect(blocks.map(\.der) == [[UInt8](0...99), [UInt8](0...99)])
        #expect(PEM.blocks(of: "")?.isEmpty == true && PEM.blocks(of: "garbage")?.isEmpty == true)
        #expect(PEM.blocks(of: String(text.dropLast(30))) == nil)
        #expect(PEM.blocks(of: text.replacingOccurrences(of: "AAEC", with: "A*EC")) == nil)
        let encrypted = text.replacingOccurrences(
            of: "CERTIFICATE-----\nAA", with: "CERTIFICATE-----\nProc-Type: 4,ENCRYPTED\n\nAA")
        #expect(PEM.blocks(of: encrypted) == nil)
    }

    private static let earlierIdentity = """
        -----BEGIN CERTIFICATE-----
        MIIBYjCCAQegAwIBAgIUCYXf2Qa9mE4YB3o6wuKlbV6fVsswCgYIKoZIzj0EAwIw
        EDEOMAwGA1UEAwwFc2hhcmUwHhcNMjYxMTI3MTk1NTQ1WhcNNDYxMTI0MTk1NTQ1
        WjAQMQ4wDAYDVQQDDAVzaGFyZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABOiZ
        uHPQWQz+/v67TniXJA54SwL9mfa6229KTGrQr6KxUAFZLAFUogdXLr+HpJYSOQlU
        bRgBI9pIPYrmel57ZS2jPzA9MAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeA
        MB0GA1UdJQQWMBQGCCsGAQUFBwMBBggrBgEFBQcDAjAKBggqhkjOPQQDAgNJADBG
        AiEAnDQnEJVaTR/0R7K3aiHZXpeH6xi/PdfgSx9nzBqeqboCIQCBflQ0rDrSohfe
        xX3skaD2Ug0Wh04c8cP1cmS2WYeCHw==
        -----END CERTIFICATE-----
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgWt41IDPyzFQEOzny
        Np7pSuC48D6eHTzmhaciWls9gVihRANCAATombhz0FkM/v7+u054lyQOeEsC/Zn2
        uttvSkxq0K+isVABWSwBVKIHVy6/h6SWEjkJVG0YASPaSD2K5npee2Ut
        -----END PRIVATE KEY-----
        """
}

/// Runs the program, and returns what it prints.
@discardableResult private func openssl(_ arguments: [String]) throws -> String {
    let program = try Program("openssl", arguments)
    #expect(program.exitCode(seconds: 30) == 0, "openssl \(arguments): \(program.text.errors)")
    return program.text.output
}

private func hex(_ text: String) -> [UInt8] {
    let digits = Array(text.utf8)
    return stride(from: 0, to: digits.count, by: 2).map {
        UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16) ?? 0
    }
}
