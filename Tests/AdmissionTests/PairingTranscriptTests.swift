import Cryptography
import Foundation
import Testing

@testable import Admission
@testable import Identifiers
@testable import Identity

@Suite struct PairingTranscriptTests {
    private func transcript(
        _ application: ApplicationInfo = budget, service: ServiceID? = conference, servicePrint: UInt8 = 1,
        hostPrint: UInt8 = 2, hostNonce: UInt8 = 3, serviceNonce: UInt8 = 4
    ) throws -> PairingTranscript {
        PairingTranscript(
            application: application, service: try #require(service), serviceFingerprint: fingerprint(servicePrint),
            hostFingerprint: fingerprint(hostPrint), hostNonce: nonce(hostNonce), serviceNonce: nonce(serviceNonce))
    }

    private func icon(width: UInt8) throws -> PNGIcon {
        let head: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
        return try PNGIcon(head + [0, 0, 0, width, 0, 0, 0, 16, 8, 6, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test func bytesAreAsSpecified() throws {
        let text = [
            "0010", "73686172652076312070616972696e67", "0004", "686f7374", "0016",
            "636f6d2e6578616d706c652e636f6e666572656e6365", "0012", "636f6d2e6578616d706c652e627564676574", "0006",
            "427564676574",
        ]
        let binary = ["01", "02", "03", "04"].map { "0020" + String(repeating: $0, count: 32) }
        let expected = (text + binary).joined()
        let bytes = try transcript().signedBytes(role: .host)
        #expect(bytes.map { String(format: "%02x", $0) }.joined() == expected)
    }

    @Test func everyFieldChangesTheBytes() throws {
        let all = [
            try transcript(), try transcript(service: ServiceID("com.example.conferenc")),
            try transcript(ApplicationInfo(id: "com.example.budge", name: "tBudget")),
            try transcript(ApplicationInfo(id: "com.example.budget", name: "Budget2")), try transcript(servicePrint: 9),
            try transcript(ApplicationInfo(id: budget.id, name: budget.name, icon: icon(width: 16))),
            try transcript(ApplicationInfo(id: budget.id, name: budget.name, icon: icon(width: 17))),
            try transcript(hostPrint: 9), try transcript(hostNonce: 9), try transcript(serviceNonce: 9),
            try transcript(servicePrint: 2, hostPrint: 1), try transcript(hostNonce: 4, serviceNonce: 3),
        ]
        let bytes = all.flatMap { transcript in PairingRole.allCases.map { transcript.signedBytes(role: $0) } }
        #expect(Set(bytes).count == bytes.count)
    }

    @Test func onlyTheCertificateOfTheRoleSigns() throws {
        let (host, service) = (try Identity.ephemeral(), try Identity.ephemeral())
        let transcript = PairingTranscript(
            application: budget, service: try #require(conference), serviceFingerprint: service.fingerprint,
            hostFingerprint: host.fingerprint, hostNonce: nonce(1), serviceNonce: nonce(2))
        let signature = host.signature(over: transcript.signedBytes(role: .host))
        #expect(transcript.isSigned(signature, by: .host, certificate: host.certificateDER))
        #expect(!transcript.isSigned(signature, by: .host, certificate: service.certificateDER))
        #expect(!transcript.isSigned(signature, by: .service, certificate: service.certificateDER))
        #expect(!transcript.isSigned(signature, by: .service, certificate: host.certificateDER))
        for wrong in [
            [], Array(signature.dropLast()), signature + [0], Array(repeating: 0, count: 64),
            Array(repeating: 255, count: 64),
        ] { #expect(!transcript.isSigned(wrong, by: .host, certificate: host.certificateDER)) }
        for certificate in [[], Array(host.certificateDER.dropLast()), Array(repeating: 0, count: 3_000)] {
            #expect(!transcript.isSigned(signature, by: .host, certificate: certificate))
        }
    }

    /// The whole handshake with documents and P-256 keys, also if both sides have the same identity.
    @Test(arguments: [false, true]) func aPairingWithRealKeysIsGranted(isShared: Bool) throws {
        let host = try Identity.ephemeral()
        let service = isShared ? host : try Identity.ephemeral()
        let now = ContinuousClock.now
        let description = try describe([SetupField(name: "title", label: "Title")])
        var client = PairingClient(
            service: description.id, fingerprint: service.fingerprint, application: budget, host: host.fingerprint,
            nonce: randomBytes(32), now: now)
        var table = PairingTable(service: description)

        let asked = try roundTrip(
            PairingRequestDocument(application: budget, identity: host, nonce: client.nonce),
            limit: PairingRequestDocument.sizeLimit)
        let request = try #require(
            PairingTable.Request(
                asked, service: description.id, fingerprint: service.fingerprint, nonce: randomBytes(32),
                address: PeerAddress("192.0.2.1")))
        let ticket = KnockID.random()
        #expect(table.open(request, ticket: ticket, now: now).0 == .opened)
        let serviceSignature = service.signature(over: request.transcript.signedBytes(role: .service))
        let document = try roundTrip(
            PairingOfferDocument(
                PairingOffer(
                    nonce: request.transcript.serviceNonce, signature: serviceSignature, service: description)),
            limit: PairingOfferDocument.sizeLimit)

        let offer = try #require(document.offer)
        let isValid = client.transcript(of: offer).isSigned(
            offer.signature, by: .service, certificate: service.certificateDER)
        let actions = client.handle(.offered(offer, signatureIsValid: isValid), now: now)
        guard case .ask(let prompt) = actions.first else {
            Issue.record("the user is not asked: \(actions)")
            return
        }
        guard
            case .confirm(let setup, let bytes) = client.handle(
                .userAccepted(prompt, setup: ["title": "All hands"]), now: now
            ).first
        else {
            Issue.record("nothing is confirmed")
            return
        }
        let acceptance = try roundTrip(
            PairingAcceptanceDocument(setup: setup, signature: host.signature(over: bytes)),
            limit: PairingAcceptanceDocument.sizeLimit)

        // The service's own signature is not the host's, whoever has the key.
        var reflected = table
        let question = KnockID.random()
        #expect(
            reflected.sign(ticket, serviceSignature, setup: ["title": "x"], question: question, now: now).0 == .wrong)
        let signature = try #require(acceptance.signatureBytes)
        #expect(
            table.sign(ticket, signature, setup: acceptance.setup ?? [:], question: question, now: now).0 == .accepted)
        #expect(table.request(asked: question)?.setup == ["title": "All hands"])
        _ = table.decide(question, .accepted, token: "0123456789abcdef0123456789abcdef", now: now)
        guard case .outcome(.granted(let grant)) = table.beginPoll(ticket, question: question, now: now).0 else {
            Issue.record("nothing is granted")
            return
        }
        let granted = try roundTrip(
            PairingGrantDocument<String>(grant, iceServers: ["stun:192.0.2.1"]), limit: 1_024)
        #expect(client.handle(.granted(try #require(granted.grant)), now: now) == [.paired(grant)])
        #expect(
            table.beginSession(token: grant.token, fingerprint: service.fingerprint, now: now)
                == (isShared ? .opening(try #require(table.pairing(token: grant.token))) : .otherCertificate))
    }

    private func roundTrip<Document: Codable>(_ document: Document, limit: Int) throws -> Document {
        let data = try JSONEncoder().encode(document)
        #expect(data.count <= limit)
        return try JSONDecoder().decode(Document.self, from: data)
    }
}

@Suite struct PairingDocumentTests {
    private func request(_ change: (inout PairingRequestDocument) -> Void = { _ in }) throws -> PairingTable.Request? {
        var document = PairingRequestDocument(application: budget, identity: try .ephemeral(), nonce: nonce(1))
        change(&document)
        return PairingTable.Request(
            document, service: try #require(conference), fingerprint: fingerprint(1), nonce: nonce(2),
            address: PeerAddress("192.0.2.1"))
    }

    @Test func aRequestIsOneOfItsCertificate() throws {
        #expect(try request() != nil)
        let other = try Identity.ephemeral()
        #expect(try request { $0.certificate = Base64URL.encode(other.certificateDER) } == nil)
        #expect(try request { $0.fingerprint = Base64URL.encode(other.fingerprint) } == nil)
        #expect(try request { $0.fingerprint = "" } == nil)
        #expect(try request { $0.nonce = Base64URL.encode(Array(repeating: 1, count: 31)) } == nil)
        #expect(try request { $0.nonce = "!" } == nil)
        let junk = Array(repeating: UInt8(7), count: 100)
        #expect(
            try request {
                $0.certificate = Base64URL.encode(junk)
                $0.fingerprint = SHA256Hash(of: junk).bytes.map { String(format: "%02x", $0) }.joined()
            } == nil, "no certificate at all")
    }

    @Test func grantsAreChecked() throws {
        func grant(_ token: String = "0123456789abcdef", lease: String = "10", url: String = "null") throws
            -> PairingGrant?
        {
            let json = #"{"token":"\#(token)","lease":\#(lease),"broadcastURL":\#(url),"iceServers":[]}"#
            return try JSONDecoder().decode(PairingGrantDocument<String>.self, from: Data(json.utf8)).grant
        }
        #expect(try grant()?.lease == .seconds(10))
        #expect(try grant(lease: "-5")?.lease == .seconds(1) && grant(lease: "99999999999")?.lease == .seconds(60))
        #expect(try grant("short") == nil && grant("with a blank in the middle") == nil)
        #expect(try grant(String(repeating: "x", count: 513)) == nil)
        #expect(try grant(url: #""https://example.com/live""#)?.broadcastURL == "https://example.com/live")
        for url in ["javascript:alert(1)", "https://", "file:///etc/passwd", "https://a b", "https://a\\u001b[0m"] {
            #expect(try grant(url: "\"\(url)\"") == nil, "\(url)")
        }
        let text = try JSONEncoder().encode(
            PairingGrantDocument<String>(PairingGrant(token: "t", lease: .seconds(10)), iceServers: []))
        #expect(String(decoding: text, as: UTF8.self).contains(#""broadcastURL":null"#))
    }
}
