import COpenSSL
import DTLSTransport
import MediaCore
import TestSupport
import Testing

@Suite struct DTLSSessionTests {
    @Test func bothSidesGetMatchingKeysAndPreferGCM() throws {
        let pair = try DTLSPair()
        pair.session(.client).start()
        pair.settle()
        let client = try #require(pair.keys[.client])
        let server = try #require(pair.keys[.server])
        #expect(client.profile == .aes128GCM)
        #expect(server.profile == .aes128GCM)
        #expect(client.local == server.remote)
        #expect(client.remote == server.local)
        #expect(client.local != client.remote)
        #expect(client.local.count == 28)
        #expect(pair.sizes.allSatisfy { $0 <= 1_200 - 28 })
        #expect(pair.session(.client).peerFingerprint == TestIdentity.one.fingerprint)
    }

    @Test(arguments: BrowserHello.allCases)
    func serverAnswersTheSplitHelloOfBrowsersWithGCM(_ browser: BrowserHello) throws {
        var answers: [[UInt8]] = []
        let server = DTLSSession(
            role: .server, identity: try TestIdentity.one.forDTLS(), expectedFingerprint: nil,
            send: { answers.append(Array($0)) }, onEvent: { _ in })
        for datagram in browser.datagrams {
            #expect(answers.isEmpty)
            datagram.withUnsafeBytes { server.handle($0) }
        }
        let first = try #require(answers.first)
        // A handshake record (22) with a ServerHello (2).
        #expect(first[0] == 22)
        #expect(first[13] == 2)
        // The extension use_srtp (14) with five bytes: one profile, SRTP_AEAD_AES_128_GCM (0x0007), and no MKI.
        #expect(first.contains([0, 14, 0, 5, 0, 2, 0, 7, 0]))
        #expect(server.deadline != nil)
    }

    @Test(arguments: 0..<6) func aLostDatagramIsSentAgain(_ lost: Int) async throws {
        for side in [DTLSPair.Side.client, .server] {
            let pair = try DTLSPair(firstTimeout: .milliseconds(20))
            pair.delivers = { $0 != side || $1 != lost }
            pair.session(.client).start()
            pair.settle()
            for _ in 0..<8 where !pair.isConnected {
                try await pair.expire()
                pair.settle()
            }
            #expect(pair.isConnected, "datagram \(lost) of the \(side)")
            #expect(pair.failures.isEmpty)
        }
    }

    @Test func silenceEndsInATimeout() async throws {
        // With a first timeout of 1 us, twelve retransmissions take only milliseconds.
        let pair = try DTLSPair(firstTimeout: .microseconds(1))
        pair.delivers = { _, _ in false }
        pair.session(.client).start()
        for _ in 0..<20 { try await pair.expire() }
        #expect(pair.failures == [.client: .timeout])
        #expect(pair.session(.client).deadline == nil)
        #expect(pair.sizes.count <= 13)
    }

    @Test func aWrongFingerprintIsRefusedBeforeKeysLeave() throws {
        let pair = try DTLSPair(clientExpects: TestIdentity.two.fingerprint)
        pair.session(.client).start()
        pair.settle()
        #expect(pair.keys[.client] == nil)
        #expect(pair.failures[.client] == .fingerprintMismatch)
        #expect(pair.session(.client).deadline == nil)
        let other = try DTLSPair(serverExpects: TestIdentity.one.fingerprint)
        other.session(.client).start()
        other.settle()
        #expect(other.keys[.server] == nil)
        #expect(other.failures[.server] == .fingerprintMismatch)
    }

    @Test func otherHashesOfTheCertificateHaveToMatchToo() throws {
        let certificate = TestIdentity.two.certificateDER
        let hashes = [EVP_sha1(), EVP_sha256(), EVP_sha384(), EVP_sha512()].map { algorithm in
            var hash = [UInt8](repeating: 0, count: Int(EVP_MD_get_size(algorithm)))
            EVP_Digest(certificate, certificate.count, &hash, nil, algorithm, nil)
            return hash
        }
        let good = try DTLSPair()
        good.session(.server).furtherFingerprints = hashes
        good.session(.client).start()
        good.settle()
        #expect(good.isConnected)
        for wrong in hashes.map({ $0.map { ~$0 } }) + [[], [1, 2, 3]] {
            let pair = try DTLSPair()
            pair.session(.server).furtherFingerprints = [hashes[2], wrong]
            pair.session(.client).start()
            pair.settle()
            #expect(pair.keys[.server] == nil)
            #expect(pair.failures[.server] == .fingerprintMismatch)
        }
    }

    @Test func garbageIsIgnored() throws {
        let pair = try DTLSPair()
        var generator = SeededGenerator(seed: 7)
        func throwGarbage() {
            for length in [0, 1, 12, 13, 14, 100, 1_500, 20_000] {
                for first: UInt8 in [0, 20, 21, 22, 23, 24, 63, 64, 128] {
                    var bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
                    if !bytes.isEmpty { bytes[0] = first }
                    for side in [DTLSPair.Side.client, .server] { pair.deliver(bytes, to: side) }
                }
            }
        }
        throwGarbage()
        pair.session(.client).start()
        throwGarbage()
        pair.settle()
        #expect(pair.isConnected)
        throwGarbage()
        #expect(pair.failures.isEmpty)
        #expect(pair.closed.isEmpty)
    }

    @Test func damagedHellosNeverEndTheProcess() throws {
        var generator = SeededGenerator(seed: 11)
        for round in 0..<300 {
            let server = DTLSSession(
                role: .server, identity: try TestIdentity.one.forDTLS(), expectedFingerprint: nil,
                send: { _ in }, onEvent: { _ in })
            for var datagram in BrowserHello.allCases[round % 2].datagrams {
                for _ in 0..<Int.random(in: 1...8, using: &generator) {
                    let place = Int.random(in: 1..<datagram.count, using: &generator)
                    datagram[place] = UInt8.random(in: 0...255, using: &generator)
                }
                datagram.withUnsafeBytes { server.handle($0) }
                datagram.prefix(Int.random(in: 0...datagram.count, using: &generator)).withUnsafeBytes {
                    server.handle($0)
                }
            }
        }
    }

    @Test func closingTellsTheOtherSideOnce() throws {
        let pair = try DTLSPair()
        pair.session(.client).start()
        pair.settle()
        pair.session(.server).close()
        pair.session(.server).close()
        pair.settle()
        #expect(pair.closed == [.client])
        pair.session(.client).close()
        pair.settle()
        #expect(pair.failures.isEmpty)
    }

    @Test func aReleasedAssociationStillSaysThatItEnds() throws {
        let pair = try DTLSPair()
        let server = pair.session(.server)
        server.release()
        #expect(!server.isReleased, "the handshake is not complete")
        pair.session(.client).start()
        pair.settle()
        let sent = pair.sizes.count
        server.release()
        #expect(server.isReleased && pair.sizes.count == sent && server.deadline == nil)
        // Nothing that comes now is read.
        server.handleTimeout(.distantFuture)
        pair.deliver([22, 254, 253] + [UInt8](repeating: 0, count: 40), to: .server)
        #expect(pair.sizes.count == sent)
        server.close()
        server.close()
        pair.settle()
        #expect(pair.closed == [.client] && pair.failures.isEmpty)
    }

    @Test func aReleasedAssociationDoesNotHearTheEnd() throws {
        let pair = try DTLSPair()
        pair.session(.client).start()
        pair.settle()
        pair.session(.server).release()
        pair.session(.client).close()
        pair.settle()
        #expect(pair.closed.isEmpty && pair.failures.isEmpty)
    }

    @Test func aKeyOfAnotherCertificateIsRefused() {
        #expect(throws: DTLSFailure.self) {
            _ = try DTLSIdentity(
                certificateDER: TestIdentity.one.certificateDER, privateKeyDER: TestIdentity.two.privateKeyDER)
        }
        #expect(throws: DTLSFailure.self) {
            _ = try DTLSIdentity(certificateDER: [1, 2, 3], privateKeyDER: [])
        }
    }
}
