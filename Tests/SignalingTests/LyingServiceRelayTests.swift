import Foundation
import NIOHTTP1
import SessionDescription
import Synchronization
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// A relay that lies to a host and to the service that is met there: it forwards what both say in the way that a test
/// defines.
@Suite(.timeLimit(.minutes(1))) struct LyingServiceRelayTests {
    /// Pairs while the relay changes a response of the service.
    /// - Returns: how the pairing has failed; nil if it has not.
    private func pairing(
        _ stage: ServiceTunnelFixture, changing suffix: String, _ method: String = "POST",
        _ change: @escaping @Sendable (ForwardedResponse) -> ForwardedResponse
    ) async throws -> PairingFailure? {
        var found: PairingFailure?
        try await stage.open(responding: { request in
            let response = await stage.response(to: request)
            return request.path.hasSuffix(suffix) && request.method == method ? change(response) : response
        }) {
            try await stage.host { host in
                let identity = try Identity.ephemeral()
                found = await failure { _ = try await stage.service.pair(host, identity) }
            }
        }
        return found
    }

    private static func changed<Document: Codable>(
        _ response: ForwardedResponse, _ change: (inout Document) -> Void
    ) -> ForwardedResponse {
        guard var document = try? JSONDecoder().decode(Document.self, from: Data((response.body ?? "").utf8)) else {
            Issue.record("\(response)")
            return response
        }
        change(&document)
        var response = response
        response.body = (try? JSONEncoder().encode(document)).map { String(decoding: $0, as: UTF8.self) }
        return response
    }

    /// The certificate comes from a document, and has to be the link's.
    @Test func aCertificateOfTheRelayIsNotBelieved() async throws {
        try await ServiceTunnelFixture.with { stage in
            let relay = Base64URL.encode(stage.relay.identity.certificateDER)
            for certificate in [relay, "", nil] {
                let found = try await pairing(stage, changing: "/pair") {
                    Self.changed($0) { (document: inout PairingOfferDocument) in document.certificate = certificate }
                }
                #expect(found == .certificateChanged)
            }
            #expect(stage.service.delegate.seen.requests.isEmpty)
        }
    }

    /// The relay signs with its own key, or gives the service's certificate and its own signature.
    @Test func aSignatureOfTheRelayIsNotBelieved() async throws {
        try await ServiceTunnelFixture.with { stage in
            let forged = stage.relay.identity.signature(over: Array("anything".utf8))
            let found = try await pairing(stage, changing: "/pair") {
                Self.changed($0) { (document: inout PairingOfferDocument) in
                    document.signature = Base64URL.encode(forged)
                }
            }
            #expect(found == .wrongSignature && stage.service.delegate.seen.requests.isEmpty)
        }
    }

    /// What the host's user reads is what the service has said: its name, its terms and what it asks for.
    @Test func aDescriptionThatTheRelayChangesIsNotShown() async throws {
        try await ServiceTunnelFixture.with { stage in
            let own = stage.service.service.description
            let password = try SetupField(name: "title", label: "Your password")
            let others = [
                try ServiceDescription(id: own.id, name: "Your bank", fields: own.fields, terms: own.terms),
                try ServiceDescription(id: own.id, name: own.name, fields: [password], terms: own.terms),
                try ServiceDescription(id: own.id, name: own.name, fields: own.fields, terms: "Pay 10."),
                try ServiceDescription(id: own.id, name: own.name, fields: own.fields),
            ]
            for other in others {
                let found = try await pairing(stage, changing: "/pair") {
                    Self.changed($0) { (document: inout PairingOfferDocument) in document.service = other }
                }
                #expect(found == .wrongSignature, "\(other)")
            }
            // Nor is it when nobody wants to pair yet, as to install the service.
            try await stage.open(responding: { request in
                let response = await stage.response(to: request)
                guard request.path.hasSuffix("/pair"), request.method == "POST" else { return response }
                return Self.changed(response) { (document: inout PairingOfferDocument) in document.service = others[0] }
            }) {
                try await stage.host { host in
                    #expect(await failure { _ = try await host.describe() } == .wrongSignature)
                }
            }
            #expect(stage.service.delegate.seen.requests.isEmpty)
        }
    }

    /// The relay pairs in the place of the host, with its own certificate.
    @Test func theRelayCannotStandInForTheHost() async throws {
        try await ServiceTunnelFixture.with { stage in
            let relay = stage.relay.identity
            try await stage.open(responding: { request in
                var request = request
                if request.path.hasSuffix("/pair"), request.method == "POST",
                    var document = try? JSONDecoder().decode(
                        PairingRequestDocument.self, from: Data(request.body.utf8))
                {
                    document.fingerprint = Fingerprint.colons(relay.fingerprint)
                    document.certificate = Base64URL.encode(relay.certificateDER)
                    request.body = Self.text(document)
                }
                return await stage.response(to: request)
            }) {
                try await stage.host { host in
                    let identity = try Identity.ephemeral()
                    #expect(await failure { _ = try await stage.service.pair(host, identity) } == .wrongSignature)
                }
            }
            #expect(stage.service.delegate.seen.requests.isEmpty)
        }
    }

    /// What the host's user enters is sealed for the service: the relay cannot read it, and cannot put its own in its
    /// place.
    @Test func whatTheUserEntersIsForTheServiceAlone() async throws {
        try await ServiceTunnelFixture.with { stage in
            let bodies = Mutex<[String]>([])
            let replaces = Mutex(false)
            let transcripts = Mutex<PairingTranscript?>(nil)
            try await stage.open(responding: { request in
                var request = request
                bodies.withLock { $0.append(request.body) }
                if request.method == "PUT", replaces.withLock({ $0 }),
                    var document = try? JSONDecoder().decode(
                        PairingAcceptanceDocument.self, from: Data(request.body.utf8)),
                    let transcript = transcripts.withLock({ $0 }),
                    let sealed = SealedSetup.seal(
                        ["title": "Other"], for: stage.service.identity.certificateDER, transcript)
                {
                    document.sealed = Base64URL.encode(sealed)
                    request.body = Self.text(document)
                }
                let response = await stage.response(to: request)
                if request.method == "POST", request.path.hasSuffix("/pair") {
                    transcripts.withLock { $0 = Self.transcript(stage, request.body, response.body ?? "") }
                }
                return response
            }) {
                let identity = try Identity.ephemeral()
                try await stage.host { host in _ = try await stage.service.pair(host, identity) }
                #expect(stage.service.delegate.seen.requests.map(\.setup) == [["title": "Numbers"]])
                #expect(bodies.withLock { $0.allSatisfy { !$0.contains("Numbers") && !$0.contains("title") } })
                replaces.withLock { $0 = true }
                try await stage.host { host in
                    #expect(await failure { _ = try await stage.service.pair(host, identity) } != nil)
                }
                #expect(stage.service.delegate.seen.requests.count == 1)
            }
        }
    }

    /// Values that are not sealed are not taken, as the relay may have made them up.
    @Test func anAcceptanceThatIsNotSealedIsRefused() async throws {
        try await ServiceTunnelFixture.with { stage in
            try await stage.open(responding: { request in
                var request = request
                if request.method == "PUT" {
                    request.body = request.body.replacing("\"sealed\"", with: "\"unsealed\"")
                }
                return await stage.response(to: request)
            }) {
                try await stage.host { host in
                    let identity = try Identity.ephemeral()
                    #expect(await failure { _ = try await stage.service.pair(host, identity) } == .malformed)
                }
            }
            #expect(stage.service.delegate.seen.requests.isEmpty)
        }
    }

    /// A grant before the host's user has agreed is not taken.
    @Test func aGrantOfTheRelayIsNotBelieved() async throws {
        try await ServiceTunnelFixture.with { stage in
            let grant = PairingGrantDocument<String>(
                PairingGrant(token: String(repeating: "x", count: 32), lease: .seconds(10)), iceServers: [])
            let text = String(decoding: try JSONEncoder().encode(grant), as: UTF8.self)
            try await stage.open(responding: { request in
                guard request.method == "GET", request.path.contains("/pair/") else {
                    return await stage.response(to: request)
                }
                return ForwardedResponse(status: 200, headers: [["Content-Type", "application/json"]], body: text)
            }) {
                try await stage.host { host in
                    let identity = try Identity.ephemeral()
                    let found = await failure {
                        _ = try await host.pair(application: stage.service.budget, identity: identity)
                        _ = try await host.waitForGrant()
                    }
                    #expect(found == .malformed)
                }
            }
        }
    }

    /// The relay puts itself in the place of the service for the media.
    @Test func anAnswerOfTheRelayIsNotBelieved() async throws {
        try await ServiceTunnelFixture.with { stage in
            let relay = stage.relay.identity.fingerprint
            try await stage.open(responding: { request in
                var response = await stage.response(to: request)
                if request.path.hasSuffix("/whip") { response.body = description(relay) }
                return response
            }) {
                let identity = try Identity.ephemeral()
                try await stage.host { host in
                    _ = try await stage.service.pair(host, identity)
                    #expect(
                        await code { _ = try await host.publish(description(identity.fingerprint)) } == .hostNotProven)
                }
            }
        }
    }

    /// The relay sees the token. It is of no use without the key of the host's certificate.
    @Test func theTokenIsUselessToTheRelay() async throws {
        try await ServiceTunnelFixture.with { stage in
            let stolen = Mutex<String?>(nil)
            try await stage.open(responding: { request in
                if let token = request.headers["authorization"] { stolen.withLock { $0 = token } }
                // The offer never arrives.
                guard !request.path.hasSuffix("/whip") else { return ForwardedResponse(status: 503) }
                return await stage.response(to: request)
            }) {
                let identity = try Identity.ephemeral()
                try await stage.host { host in
                    _ = try await stage.service.pair(host, identity)
                    await #expect(throws: SignalingError.self) {
                        _ = try await host.publish(description(identity.fingerprint))
                    }
                    let token = try #require(stolen.withLock { $0 })
                    let request = ForwardedRequest(
                        number: 1, method: "POST", path: stage.link.path + "/whip",
                        headers: ["authorization": token, "content-type": "application/sdp"],
                        body: description(stage.relay.identity.fingerprint), address: "127.0.0.1")
                    let response = await stage.response(to: request)
                    #expect(response.status == 403 && response.body?.contains("fingerprint") == true, "\(response)")
                }
            }
            #expect(stage.service.delegate.seen.offers.isEmpty)
        }
    }

    /// Another server with another certificate cannot take the relay's place.
    @Test func theRelayIsTheOneOfTheLink() async throws {
        try await ServiceTunnelFixture.with { stage in
            try await stage.open {
                let other = ServiceLink(
                    host: stage.link.host, port: stage.link.port, id: stage.link.id,
                    fingerprint: stage.link.fingerprint, relay: randomFingerprint())
                try await stage.service.client(other) { host in
                    #expect(await failure { _ = try await host.describe() } == .certificateChanged)
                }
            }
        }
    }

    private static func text(_ document: some Encodable) -> String {
        (try? JSONEncoder().encode(document)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    private static func transcript(
        _ stage: ServiceTunnelFixture, _ request: String, _ response: String
    ) -> PairingTranscript? {
        guard let asked = try? JSONDecoder().decode(PairingRequestDocument.self, from: Data(request.utf8)),
            let offer = try? JSONDecoder().decode(PairingOfferDocument.self, from: Data(response.utf8)).offer,
            let host = asked.fingerprintBytes, let nonce = asked.nonceBytes
        else { return nil }
        return PairingTranscript(
            application: asked.application, service: stage.link.id, serviceFingerprint: stage.link.fingerprint,
            hostFingerprint: host, hostNonce: nonce, serviceNonce: offer.nonce,
            relayedDescription: offer.service.digest)
    }
}
