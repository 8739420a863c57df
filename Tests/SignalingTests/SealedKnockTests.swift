import Foundation
import NIOHTTP1
import Synchronization
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// Knocks of version 2: keys for encrypted media, and words for which nobody can search.
@Suite(.timeLimit(.minutes(1))) struct SealedKnockTests {
    private let run = [UInt8](repeating: 5, count: KnockOffer.runLength)

    private func with(
        isSealed: Bool, keys: [UInt8]? = [1, 2, 3], _ body: (SignalingFixture) async throws -> Void
    ) async throws {
        try await SignalingFixture.with(configure: { $0.encryption = .init(run: run, isSealed: isSealed) }) { stage in
            stage.delegate.keys.withLock { $0 = keys }
            try await body(stage)
        }
    }

    @Test func aViewerGetsTheKeysWithItsAdmission() async throws {
        try await with(isSealed: true) { stage in
            try await stage.client { client in
                let ticket = try await client.knock(name: "Ann", identity: try .ephemeral())
                guard case .accepted = try await client.waitForAnswer(ticket) else {
                    Issue.record("not admitted")
                    return
                }
                #expect(await client.frameKeys == [1, 2, 3])
                #expect(await client.encryption?.isSealed == true)
                let knock = try #require(await stage.delegate.knocks(1).first)
                #expect(knock.words == ticket.words)
            }
        }
    }

    /// The relay has lost the broadcast since the decision: a viewer is not admitted to nothing, and may knock again.
    @Test func nobodyIsAdmittedWhileThereIsNoPlaceToWatchAt() async throws {
        try await with(isSealed: true) { stage in
            stage.delegate.isAtRelay.store(false, ordering: .relaxed)
            try await stage.client { client in
                let ticket = try await client.knock(name: "Ann", identity: try .ephemeral())
                await #expect { try await client.waitForAnswer(ticket) } throws: {
                    ($0 as? SignalingError)?.code == .busy
                }
                stage.delegate.isAtRelay.store(true, ordering: .relaxed)
                let again = try await client.knock(name: "Ann", identity: try .ephemeral())
                guard case .accepted = try await client.waitForAnswer(again) else {
                    Issue.record("not admitted")
                    return
                }
            }
        }
    }

    /// A relay lists a host of its own in the place of another's, and knocks there as the viewer that has chosen it.
    /// The secret of a listed broadcast is public, so the words are what tells.
    @Test func anEntryThatTheDirectorySwapsGivesOtherWords() async throws {
        try await with(isSealed: true) { host in
            try await with(isSealed: true) { attacker in
                func knock(at stage: SignalingFixture, _ link: Link? = nil) async throws -> ShortAuthenticationString {
                    let words = Mutex<ShortAuthenticationString?>(nil)
                    try await stage.client(link ?? stage.link) { client in
                        let ticket = try await client.knock(name: "Ann", identity: try .ephemeral())
                        words.withLock { $0 = ticket.words }
                    }
                    let found = words.withLock { $0 }
                    return try #require(found)
                }
                let (ann, passedOn) = (try await knock(at: attacker), try await knock(at: host))
                let asked = try #require(await host.delegate.knocks(1).first)
                #expect(asked.name == "Ann" && asked.words == passedOn && asked.words != ann)
                // The other way: what the host has signed is not taken for the words of the entry's host.
                let swapped = Link(
                    host: host.link.host, port: host.link.port, id: host.link.id, secret: host.link.secret,
                    fingerprint: attacker.link.fingerprint)
                await #expect(throws: SignalingError.self) {
                    _ = try await knock(at: host, swapped)
                }
                #expect(await host.delegate.knocks(1).count == 1)
            }
        }
    }

    /// With its token, until that has ended.
    @Test func aViewerAsksForTheKeysOfNow() async throws {
        try await with(isSealed: true) { stage in
            try await stage.client { client in
                let token = try await client.admissionToken(for: .ephemeral())
                stage.delegate.keys.withLock { $0 = [4, 5] }
                let text = try await client.fetchKeys(token: token)
                #expect(await client.encryption?.wrap.open(text: text) == [4, 5])
                #expect(try await client.fetchKeys(token: "a-token-of-nobody") == nil)
            }
        }
        try await with(isSealed: false) { stage in
            try await stage.client { client in
                let token = try await client.admissionToken(for: .ephemeral())
                await #expect { _ = try await client.fetchKeys(token: token) } throws: {
                    ($0 as? SignalingError)?.code == .gone
                }
            }
        }
    }

    @Test func aBroadcastInClearHasNoKeys() async throws {
        try await with(isSealed: false) { stage in
            try await stage.client { client in
                _ = try await client.admissionToken(for: .ephemeral())
                #expect(await client.frameKeys == nil)
                #expect(await client.encryption?.isSealed == false)
            }
        }
    }

    /// A viewer that expects keys and gets none does not go on.
    @Test func missingKeysEndTheSession() async throws {
        try await with(isSealed: true, keys: nil) { stage in
            try await stage.client { client in
                let ticket = try await client.knock(name: "Ann", identity: try .ephemeral())
                await #expect { try await client.waitForAnswer(ticket) } throws: {
                    ($0 as? SignalingError)?.code == .hostNotProven
                }
            }
        }
    }

    /// A knock of version 1 gets the keys of nothing.
    @Test func olderViewersAreRefusedWhereTheyCouldSeeNothing() async throws {
        for isSealed in [true, false] {
            try await with(isSealed: isSealed) { stage in
                try await RawHTTPClient.with(stage.link) { wire in
                    let answer = try await wire.ask(
                        .POST, "/\(stage.link.id.text)/knock", body: wire.knockBody(randomFingerprint()))
                    #expect(answer.status == (isSealed ? 403 : 202))
                    #expect((answer.problem?.type == Problem.needsEncryption.rawValue) == isSealed)
                }
            }
        }
    }

    /// What a viewer reveals has to be what it has committed itself to, or either side could search for equal words.
    @Test func anotherKeyThanTheCommittedOneIsRefused() async throws {
        try await with(isSealed: true) { stage in
            try await RawHTTPClient.with(stage.link) { wire in
                let identity = try Identity.ephemeral()
                for flaw in ["key", "nonce", "absent", "signature", "point", "none"] {
                    let (key, nonce) = (EphemeralKey(), randomBytes(16))
                    let committed = KnockReveal(key: key.publicKey, nonce: nonce)
                    let commitment = committed.commitment
                    var reveal: KnockReveal? = committed
                    var body = wire.knockBody(identity.fingerprint)
                    body = body.dropLast() + ",\"commitment\":\"\(Base64URL.encode(commitment))\"}"
                    let answer = try await wire.ask(.POST, "/\(stage.link.id.text)/knock", body: body)
                    let place = try #require(answer.headers.first(name: "Location"))
                    var challenge = try challenge(answer, commitment, identity, stage)
                    switch flaw {
                    case "key": reveal = KnockReveal(key: EphemeralKey().publicKey, nonce: nonce)
                    case "nonce": reveal = KnockReveal(key: key.publicKey, nonce: randomBytes(16))
                    case "point":
                        reveal = KnockReveal(key: [4] + [UInt8](repeating: 1, count: 64), nonce: nonce)
                    case "absent": reveal = nil
                    default: break
                    }
                    challenge.reveal = reveal
                    var signature = identity.signature(over: challenge.signedBytes)
                    if flaw == "signature" {
                        signature = try Identity.ephemeral().signature(over: challenge.signedBytes)
                    }
                    let request = KnockSignatureDocument(
                        signature: Base64URL.encode(signature), certificate: Base64URL.encode(identity.certificateDER),
                        seal: reveal.map {
                            RevealDocument(key: Base64URL.encode($0.key), nonce: Base64URL.encode($0.nonce))
                        })
                    let text = String(decoding: try JSONEncoder().encode(request), as: UTF8.self)
                    #expect(
                        try await wire.ask(.PUT, place, body: text).status == (flaw == "none" ? 204 : 403), "\(flaw)")
                }
                #expect(await stage.delegate.knocks(1).count == 1)
            }
        }
    }

    private func challenge(
        _ answer: HTTPAnswer, _ commitment: [UInt8], _ identity: Identity, _ stage: SignalingFixture
    ) throws -> KnockChallenge {
        let document = try #require(answer.document(ChallengeDocument.self))
        let seal = try #require(document.seal)
        var challenge = KnockChallenge(
            id: stage.link.id, host: stage.link.fingerprint, identity: try identity.asViewer,
            nonce: try #require(Base64URL.decode(document.nonce)))
        challenge.offer = KnockOffer(
            commitment: commitment, hostKey: try #require(Base64URL.decode(seal.key)), run: run, isSealed: seal.sealed)
        return challenge
    }

    /// A relay that changes anything in the host's answer, or answers itself, is found out before the viewer signs.
    @Test func anAnswerThatTheHostHasNotSignedIsRefused() async throws {
        let (host, relay, viewer) = (try Identity.ephemeral(), try Identity.ephemeral(), try Identity.ephemeral())
        let link = Link(
            host: "127.0.0.1", port: 9, id: .random(), secret: Link.randomSecret(), fingerprint: host.fingerprint)
        let client = try SignalingClient(link: link)
        let key = EphemeralKey()
        let reveal = KnockReveal(key: key.publicKey, nonce: randomBytes(16))
        let plain = KnockChallenge(
            id: link.id, host: link.fingerprint, identity: try viewer.asViewer, nonce: randomBytes(16))
        let offer = KnockOffer(
            commitment: reveal.commitment, hostKey: EphemeralKey().publicKey, run: run, isSealed: true)
        func document(_ offer: KnockOffer, of challenge: KnockChallenge, by identity: Identity) throws -> OfferDocument
        {
            OfferDocument(
                key: Base64URL.encode(offer.hostKey), run: Base64URL.encode(offer.run), sealed: offer.isSealed,
                certificate: Base64URL.encode(identity.certificateDER),
                signature: Base64URL.encode(identity.signature(over: offer.signedBytes(challenge))))
        }
        func accepts(_ document: OfferDocument) async -> Bool {
            var challenge = plain
            do {
                _ = try await client.accept(document, reveal, key, &challenge)
                return true
            } catch { return false }
        }
        let right = try document(offer, of: plain, by: host)
        #expect(await accepts(right))
        var forged = [try document(offer, of: plain, by: relay)]
        // The relay's own ephemeral key, another run, "not sealed".
        for (field, value) in [
            ("key", Base64URL.encode(EphemeralKey().publicKey)), ("run", Base64URL.encode(randomBytes(16))),
        ] {
            var changed = right
            if field == "key" { changed.key = value } else { changed.run = value }
            forged.append(changed)
        }
        var clear = right
        clear.sealed = false
        forged.append(clear)
        // The host's answer to another knock: another nonce, another viewer, another commitment.
        let other = KnockChallenge(
            id: link.id, host: link.fingerprint, identity: try viewer.asViewer, nonce: randomBytes(16))
        forged.append(try document(offer, of: other, by: host))
        let stranger = KnockChallenge(
            id: link.id, host: link.fingerprint, identity: try relay.asViewer, nonce: plain.nonce)
        forged.append(try document(offer, of: stranger, by: host))
        let committed = KnockOffer(
            commitment: randomBytes(32), hostKey: offer.hostKey, run: run, isSealed: true)
        forged.append(try document(committed, of: plain, by: host))
        for document in forged { #expect(await accepts(document) == false) }
        await client.close()
    }

    /// Both sides have the same words only if nobody stands between them.
    @Test func wordsAreThoseOfTheTranscript() throws {
        let (host, viewer) = (try Identity.ephemeral(), try Identity.ephemeral())
        let plain = KnockChallenge(
            id: .random(), host: host.fingerprint, identity: try viewer.asViewer, nonce: randomBytes(16))
        func words(hostKey: [UInt8], viewerKey: [UInt8]) -> ShortAuthenticationString {
            let reveal = KnockReveal(key: viewerKey, nonce: [UInt8](repeating: 1, count: 16))
            var challenge = plain
            challenge.offer = KnockOffer(commitment: reveal.commitment, hostKey: hostKey, run: run, isSealed: true)
            challenge.reveal = reveal
            return challenge.words
        }
        let (one, two, three) = (EphemeralKey().publicKey, EphemeralKey().publicKey, EphemeralKey().publicKey)
        #expect(words(hostKey: one, viewerKey: two) == words(hostKey: one, viewerKey: two))
        // A relay that swaps either key in one direction.
        #expect(words(hostKey: one, viewerKey: two) != words(hostKey: three, viewerKey: two))
        #expect(words(hostKey: one, viewerKey: two) != words(hostKey: one, viewerKey: three))
    }

    @Test func onlyTheViewerOpensWhatIsMeantForIt() throws {
        let (host, viewer, relay) = (EphemeralKey(), EphemeralKey(), EphemeralKey())
        let identity = try Identity.ephemeral()
        var challenge = KnockChallenge(
            id: .random(), host: identity.fingerprint, identity: try identity.asViewer, nonce: randomBytes(16))
        let reveal = KnockReveal(key: viewer.publicKey, nonce: randomBytes(16))
        challenge.offer = KnockOffer(
            commitment: reveal.commitment, hostKey: host.publicKey, run: run, isSealed: true)
        challenge.reveal = reveal
        let transcript = try #require(challenge.transcript)
        let secret = Link.randomSecret()
        let wrap = try #require(KeyWrap(host, with: viewer.publicKey, secret: secret, transcript))
        let sealed = wrap.seal([7, 8, 9])
        func open(_ own: EphemeralKey, _ other: EphemeralKey, _ secret: [UInt8], _ bytes: [UInt8]) -> [UInt8]? {
            KeyWrap(own, with: other.publicKey, secret: secret, transcript)?.open(bytes)
        }
        #expect(open(viewer, host, secret, sealed) == [7, 8, 9])
        #expect(open(relay, host, secret, sealed) == nil)
        #expect(open(viewer, host, Link.randomSecret(), sealed) == nil)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(open(viewer, host, secret, changed) == nil)
        }
        #expect(open(viewer, host, secret, []) == nil)
        #expect(KeyWrap(viewer, with: [4, 1], secret: secret, transcript) == nil)
    }
}
