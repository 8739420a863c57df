import Testing

@testable import Admission
@testable import Identifiers
@testable import Identity

/// What a host sends to a service over a relay.
@Suite struct SealedSetupTests {
    private let setup = ["title": "All hands", "password": "\"\u{1F511}\""]

    private func transcript(_ host: Identity, _ service: Identity, serviceNonce: UInt8 = 4) throws -> PairingTranscript
    {
        PairingTranscript(
            application: budget, service: try #require(conference), serviceFingerprint: service.fingerprint,
            hostFingerprint: host.fingerprint, hostNonce: nonce(3), serviceNonce: nonce(serviceNonce),
            relayedDescription: try describe([]).digest)
    }

    @Test func onlyTheServiceOfThePairingReadsIt() throws {
        let (host, service, other) = (
            try Identity.ephemeral(), try Identity.ephemeral(), try Identity.ephemeral()
        )
        let transcript = try transcript(host, service)
        let sealed = try #require(SealedSetup.seal(setup, for: service.certificateDER, transcript))
        #expect(SealedSetup.open(sealed, with: service, transcript) == setup)
        #expect(SealedSetup.open(sealed, with: other, transcript) == nil)
        #expect(SealedSetup.open(sealed, with: service, try self.transcript(host, service, serviceNonce: 5)) == nil)
        // The certificate is that of the transcript, or nothing is sealed.
        #expect(SealedSetup.seal(setup, for: other.certificateDER, transcript) == nil)
        #expect(SealedSetup.seal(setup, for: [], transcript) == nil)
        // Each time another key.
        #expect(SealedSetup.seal(setup, for: service.certificateDER, transcript) != sealed)
    }

    @Test func changedAndCutBytesAreRefused() throws {
        let (host, service) = (try Identity.ephemeral(), try Identity.ephemeral())
        let transcript = try transcript(host, service)
        let sealed = try #require(SealedSetup.seal(setup, for: service.certificateDER, transcript))
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(SealedSetup.open(changed, with: service, transcript) == nil, "\(index)")
        }
        for count in [0, 1, 64, 65, 66, sealed.count - 1] {
            #expect(SealedSetup.open(Array(sealed.prefix(count)), with: service, transcript) == nil, "\(count)")
        }
    }

    /// A signature over a relay is none without one, and covers what the service says and what is sealed.
    @Test func theSignatureCoversWhatARelayCouldChange() throws {
        let (host, service) = (try Identity.ephemeral(), try Identity.ephemeral())
        let relayed = try transcript(host, service)
        let direct = PairingTranscript(
            application: budget, service: relayed.service, serviceFingerprint: relayed.serviceFingerprint,
            hostFingerprint: relayed.hostFingerprint, hostNonce: relayed.hostNonce,
            serviceNonce: relayed.serviceNonce)
        let other = PairingTranscript(
            application: budget, service: relayed.service, serviceFingerprint: relayed.serviceFingerprint,
            hostFingerprint: relayed.hostFingerprint, hostNonce: relayed.hostNonce,
            serviceNonce: relayed.serviceNonce,
            relayedDescription: try describe([SetupField(name: "password", label: "Password")]).digest)
        let all = [relayed, direct, other].flatMap { transcript in
            PairingRole.allCases.map { transcript.signedBytes(role: $0) }
        }
        let sealed = [[UInt8]](arrayLiteral: [1], [2]).map { relayed.signedBytes(role: .host, sealedSetup: $0) }
        #expect(Set(all + sealed).count == all.count + sealed.count)
        let signature = host.signature(over: relayed.signedBytes(role: .host, sealedSetup: [1]))
        #expect(relayed.isSigned(signature, by: .host, certificate: host.certificateDER, sealedSetup: [1]))
        #expect(!relayed.isSigned(signature, by: .host, certificate: host.certificateDER, sealedSetup: [2]))
        #expect(!relayed.isSigned(signature, by: .host, certificate: host.certificateDER))
    }

    @Test func everyPartOfADescriptionChangesItsDigest() throws {
        let id = try #require(conference)
        let field = try SetupField(name: "a", label: "b")
        let all = [
            try ServiceDescription(id: id, name: "x"), try ServiceDescription(id: id, name: "y"),
            try ServiceDescription(id: id, name: "x", terms: "t"), try ServiceDescription(id: id, name: "xt"),
            try ServiceDescription(id: id, name: "x", fields: [field]),
            try ServiceDescription(id: id, name: "x", fields: [SetupField(name: "a", label: "c")]),
            try ServiceDescription(id: try #require(ServiceID("com.example.other")), name: "x"),
        ]
        #expect(Set(all.map(\.digest)).count == all.count)
    }
}
