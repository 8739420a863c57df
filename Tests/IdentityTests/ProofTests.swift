import SessionDescription
import Testing

@testable import Identifiers
@testable import Identity
@testable import Signaling

/// The expected values were computed with Python's hmac and hashlib.
@Suite struct ProofTests {
    private let secret = [UInt8](0..<16)
    private let viewer = [UInt8](0..<32)
    private let host = [UInt8](32..<64)

    private func proof() throws -> Proof { Proof(id: try #require(BroadcastID("0123456789ABC")), secret: secret) }
    private func hexadecimal(_ bytes: [UInt8]) -> String {
        Fingerprint.colons(bytes).lowercased().replacing(":", with: "")
    }

    @Test func proofsMatchTheVectors() throws {
        #expect(
            hexadecimal(try proof().viewer(fingerprint: viewer))
                == "8ba1c519df464871dc44e6b82b01cad0d4278932da7efcebae0147bf394b8377")
        #expect(
            hexadecimal(try proof().host(viewer: viewer, host: host))
                == "7409533fdb6c11d00074ce08532147f2d4c153801474549bc9d1c858a6dd1674")
    }

    @Test func anyOtherInputIsRefused() throws {
        let proof = try proof()
        let good = proof.viewer(fingerprint: viewer)
        #expect(proof.isViewer(good, fingerprint: viewer))
        #expect(!proof.isViewer(good, fingerprint: host))
        #expect(!proof.isViewer([], fingerprint: viewer))
        #expect(!proof.isViewer(Array(good.dropLast()), fingerprint: viewer))
        #expect(!proof.isViewer(good + [0], fingerprint: viewer))
        for bit in 0..<256 {
            var wrong = good
            wrong[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!proof.isViewer(wrong, fingerprint: viewer))
        }
        let answer = proof.host(viewer: viewer, host: host)
        #expect(proof.isHost(answer, viewer: viewer, host: host))
        #expect(!proof.isHost(answer, viewer: host, host: viewer))
        #expect(!proof.isHost(good, viewer: viewer, host: host))
        #expect(!Proof(id: BroadcastID(1), secret: secret).isViewer(good, fingerprint: viewer))
    }

    @Test func wordsMatchTheVector() {
        let words = ShortAuthenticationString(viewer: viewer, host: host, nonce: [UInt8](64..<80))
        #expect(words.words == [166, 180, 100, 114].map { WordList.words[$0] })
        #expect(WordList.words.count == 256)
    }

    @Test func fingerprintsAreReadInEveryForm() {
        let colons = Fingerprint.colons(viewer)
        for text in [
            colons, colons.lowercased(), "sha-256 " + colons, "SHA-256 " + colons, hexadecimal(viewer),
            Base64URL.encode(viewer),
        ] {
            #expect(KnockRequest(fingerprint: text, proof: "").certificate == viewer)
        }
        for text in [
            "", "sha-1 " + colons, "sha-256  " + colons + " 00", colons.replacing(":", with: " "),
            ":" + colons, String(colons.prefix(1)) + ":" + colons.dropFirst().replacing(":", with: ""),
            String(colons.dropLast()), colons + ":00", String(repeating: ":", count: 1_000),
        ] {
            #expect(KnockRequest(fingerprint: text, proof: "").certificate == nil)
        }
    }

    @Test func aDescriptionNamesOneCertificate() {
        let line = "a=fingerprint:sha-256 " + Fingerprint.colons(viewer)
        let other = "a=fingerprint:sha-256 " + Fingerprint.colons(host)
        #expect(CertificateFingerprints.sha256(in: "v=0\r\n\(line)\r\nm=video 9 RTP/SAVPF 96\r\n\(line)\r\n") == viewer)
        #expect(
            CertificateFingerprints.sha256(in: "v=0\n\(line.uppercased().replacing("A=F", with: "a=F"))\n") == viewer)
        for lines in ["", "\(line)\r\n\(other)", "\(line)\r\na=fingerprint:sha-1 AA", "a=fingerprint\r\n\(line)"] {
            #expect(CertificateFingerprints.sha256(in: "v=0\r\n\(lines)\r\n") == nil)
        }
        #expect(CertificateFingerprints.sha256(in: line) == nil)
    }
}
