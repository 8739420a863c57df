import Foundation
import NIOHTTP1
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// A service that takes everybody who has its link with the secret, and nobody else.
@Suite(.timeLimit(.minutes(1))) struct LinkSecretTests {
    private static let secret = [UInt8](repeating: 9, count: 16)

    @Sendable private static func decide(_ request: PairingRequest) async -> PairingDecision {
        request.hasLinkSecret ? .acceptedByRule : .refused("no secret")
    }

    private func with(
        configure: (inout ServiceFixture.Settings) -> Void = { _ in }, _ body: (ServiceFixture) async throws -> Void
    ) async throws {
        try await ServiceFixture.with(
            decision: Self.decide,
            configure: {
                $0.linkSecret = Self.secret
                configure(&$0)
            }, body)
    }

    private func link(_ stage: ServiceFixture, _ secret: [UInt8]?) -> ServiceLink {
        ServiceLink(
            host: stage.link.host, port: stage.link.port, id: stage.link.id, fingerprint: stage.link.fingerprint,
            secret: secret)
    }

    @Test func theSecretIsTheKey() async throws {
        try await with { stage in
            let identity = try Identity.ephemeral()
            // What TLS shows to everybody is no key.
            try await stage.client(link(stage, nil)) { client in
                #expect(await failure { _ = try await stage.pair(client, identity) } == .refused("no secret"))
            }
            var wrong = Self.secret
            wrong[15] ^= 1
            try await stage.client(link(stage, wrong)) { client in
                #expect(await failure { _ = try await stage.pair(client, identity) } == .wrongSecret)
            }
            #expect(stage.delegate.seen.requests.count == 1, "a wrong secret is not asked about")
            // The refusal of before was for a host without the secret.
            try await stage.client(link(stage, Self.secret)) { client in _ = try await stage.pair(client, identity) }
            #expect(stage.delegate.seen.requests.map(\.hasLinkSecret) == [false, true])
        }
    }

    @Test func aProofIsOfOnePairing() async throws {
        try await with { stage in
            try await stage.host { host in
                let (first, second) = (try await host.open(), try await host.open())
                let proof = LinkSecretProof(secret: Self.secret).proof(of: first.transcript)
                var document = try JSONDecoder().decode(
                    PairingAcceptanceDocument.self, from: Data(try host.acceptance(of: second).utf8))
                for proof in [Base64URL.encode(proof), "", "!", Base64URL.encode(Array(proof.dropLast()))] {
                    document.proof = proof
                    let body = String(decoding: try JSONEncoder().encode(document), as: UTF8.self)
                    #expect(try await host.wire.ask(.PUT, second.place, body: body).status == 403)
                }
                #expect(stage.delegate.seen.requests.isEmpty)
            }
        }
    }

    @Test func theProofPassesARelayThatCannotUseIt() async throws {
        try await ServiceTunnelFixture.with(
            decision: Self.decide, configure: { $0.linkSecret = Self.secret }
        ) { stage in
            let link = ServiceLink(
                host: stage.link.host, port: stage.link.port, id: stage.link.id, fingerprint: stage.link.fingerprint,
                relay: stage.link.relay, secret: Self.secret)
            try await stage.open {
                try await stage.service.client(link) { client in
                    _ = try await stage.service.pair(client, try .ephemeral())
                }
                try await stage.host { client in
                    let identity = try Identity.ephemeral()
                    #expect(
                        await failure { _ = try await stage.service.pair(client, identity) } == .refused("no secret"))
                }
            }
        }
    }

    @Test func aRelayThatReplacesTheHostCannotUseItsProof() throws {
        let service = try #require(ServiceID("com.example.conference"))
        func transcript(host: UInt8, sealed: Bool) -> PairingTranscript {
            PairingTranscript(
                application: ApplicationInfo(id: "a.b", name: "A"), service: service,
                serviceFingerprint: [UInt8](repeating: 1, count: 32),
                hostFingerprint: [UInt8](repeating: host, count: 32), hostNonce: [UInt8](repeating: 2, count: 32),
                serviceNonce: [UInt8](repeating: 3, count: 32),
                relayedDescription: sealed ? [UInt8](repeating: 4, count: 32) : nil)
        }
        let own = LinkSecretProof(secret: Self.secret)
        let proof = own.proof(of: transcript(host: 5, sealed: true), sealedSetup: [1])
        #expect(own.isValid(proof, of: transcript(host: 5, sealed: true), sealedSetup: [1]))
        #expect(!own.isValid(proof, of: transcript(host: 5, sealed: true), sealedSetup: [2]))
        #expect(!own.isValid(proof, of: transcript(host: 6, sealed: true), sealedSetup: [1]))
        #expect(!own.isValid(proof, of: transcript(host: 5, sealed: false)))
        #expect(!own.isValid([], of: transcript(host: 5, sealed: true), sealedSetup: [1]))
    }

    /// With `acceptedByRule`, a service that takes everybody.
    @Test func aStrangerHasTURNCredentialsForAMinuteUntilItSendsMedia() async throws {
        for (decision, secret, minutes) in [
            (PairingDecision.acceptedByRule, nil, 1.0), (.accepted, nil, 720), (.acceptedByRule, Self.secret, 720),
        ] {
            try await ServiceFixture.with(
                decision: { _ in decision },
                configure: {
                    $0.linkSecret = Self.secret
                    $0.iceServers = [ICEServer(urls: ["turn:turn.example.com"])]
                    $0.turnSecret = TURNSecret("0123456789abcdef")
                }
            ) { stage in
                let identity = try Identity.ephemeral()
                try await stage.client(link(stage, secret)) { client in
                    func rest(_ servers: [ICEServer]) throws -> Double {
                        try #require(servers.expiry).timeIntervalSinceNow / 60
                    }
                    let granted = try rest(try await stage.pair(client, identity).iceServers)
                    #expect((minutes - 0.5...minutes + 0.5).contains(granted))
                    let answer = try await client.publish(description(identity.fingerprint))
                    let session = try #require(answer.resource.split(separator: "/").last.flatMap { SessionID($0) })
                    #expect((minutes - 0.5...minutes + 0.5).contains(try rest(try await client.iceServers())))
                    stage.service.mediaReceived(session)
                    #expect(try rest(try await client.iceServers()) > 719)
                }
            }
        }
    }

    @Test func theSecretOfALinkStaysOverRestarts() throws {
        let directory =
            FileManager.default.temporaryDirectory.path + "/share-link-secret-\(UInt64.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (one, two) = (try #require(ServiceID("a.b")), try #require(ServiceID("a.c")))
        let secret = try LinkSecretFile.loadOrCreate(of: one, in: directory)
        #expect(secret.count == 16)
        #expect(try LinkSecretFile.loadOrCreate(of: one, in: directory) == secret)
        #expect(try LinkSecretFile.loadOrCreate(of: two, in: directory) != secret)
        let path = directory + "/link-secret-a.b"
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        #expect(throws: IdentityError.self) { try LinkSecretFile.loadOrCreate(of: one, in: directory) }
        try FileManager.default.removeItem(atPath: path)
        #expect(try LinkSecretFile.loadOrCreate(of: one, in: directory) != secret, "a new link")
    }
}
