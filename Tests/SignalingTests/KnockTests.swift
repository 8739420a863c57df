import Foundation
import LinuxRuntime
import MediaCore
import NIOHTTP1
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// Attackers who have the link, and also another viewer's fingerprint, certificate, signature or ticket.
@Suite(.timeLimit(.minutes(1))) struct KnockTests {
    /// `decision` answers knocks; the other arguments are those of `SignalingFixture.with`.
    private func with(
        decision: @escaping @Sendable (Knock) async -> KnockDecision = { _ in .accepted },
        configure: (inout SignalingFixture.Settings) -> Void = { _ in },
        _ body: (SignalingFixture, RawHTTPClient) async throws -> Void
    ) async throws {
        try await SignalingFixture.with(decision: decision, configure: configure) { stage in
            try await RawHTTPClient.with(stage.link) { wire in try await body(stage, wire) }
        }
    }

    /// Knocks, and signs the challenge with the identity's own key.
    private func signed(_ identity: Identity, _ wire: RawHTTPClient) async throws -> String {
        let (place, challenge) = try await wire.knock(identity.asViewer)
        let signature = identity.signature(over: challenge.signedBytes)
        let answer = try await wire.sign(place, signature, certificate: identity.certificateDER)
        guard answer.status == 204 else { throw RawHTTPClient.Unexpected(answer: answer) }
        return place
    }

    private func signed(_ browser: BrowserKey, _ wire: RawHTTPClient) async throws -> String {
        let (place, challenge) = try await wire.knock(browser.identity)
        let answer = try await wire.sign(place, browser.sign(challenge.signedBytes))
        guard answer.status == 204 else { throw RawHTTPClient.Unexpected(answer: answer) }
        return place
    }

    // MARK: Without the link

    /// 127.0.0.1 counts as the local network.
    @Test func aNeighbourMayKnockAtAHostThatAnnouncesItself() async throws {
        try await with(configure: { $0.isAnnounced = true }) { stage, _ in
            let identity = try Identity.ephemeral()
            let link = Link(
                host: stage.link.host, port: stage.link.port, id: stage.link.id, secret: Link.announcedSecret,
                fingerprint: stage.link.fingerprint)
            try await stage.client(link) { client in
                let ticket = try await client.knock(name: "Nora", identity: identity)
                guard case .accepted(let token, _) = try await client.waitForAnswer(ticket) else {
                    Issue.record("the neighbour was not let in")
                    return
                }
                // The host's proof is that of the link without the secret.
                _ = try await client.offer(description(identity.fingerprint), token: token)
            }
            let knock = try #require(await stage.delegate.knocks(1).first)
            #expect(knock.isFromAnnouncement && stage.delegate.seen.offers.first?.isFromAnnouncement == true)
            // Who has the link is no neighbour.
            try await stage.client { client in _ = try await client.knock(name: "Otto", identity: Identity.ephemeral())
            }
            #expect(await stage.delegate.knocks(2).last?.isFromAnnouncement == false)
        }
    }

    @Test func noHostElseTakesAKnockWithoutTheLink() async throws {
        try await with { stage, _ in
            let link = Link(
                host: stage.link.host, port: stage.link.port, id: stage.link.id, secret: Link.announcedSecret,
                fingerprint: stage.link.fingerprint)
            try await stage.client(link) { client in
                await #expect { try await client.knock(name: "Nora", identity: Identity.ephemeral()) } throws: {
                    error in
                    (error as? SignalingError)?.code == .wrongSecret
                }
            }
            #expect(stage.delegate.seen.knocks.isEmpty)
        }
    }

    // MARK: Proof of the identity

    @Test func noQuestionPrecedesTheSignature() async throws {
        try await with(configure: { $0.knockLimits.signature = .milliseconds(50) }) { stage, wire in
            let victim = try Identity.ephemeral()
            let (place, _) = try await wire.knock(victim.asViewer)
            // The poll is held until the knock is removed.
            #expect(try await wire.ask(.GET, place).status == 410)
            #expect(stage.delegate.seen.knocks.isEmpty)
        }
    }

    @Test func aKnownCertificateWithoutItsKeyIsWorthNothing() async throws {
        try await with { stage, wire in
            let (victim, thief) = (try Identity.ephemeral(), try Identity.ephemeral())
            for certificate in [victim.certificateDER, thief.certificateDER, [], [0x30, 0x80, 0, 0], nil] {
                let (place, challenge) = try await wire.knock(victim.asViewer)
                let answer = try await wire.sign(
                    place, thief.signature(over: challenge.signedBytes), certificate: certificate)
                #expect(answer.status == 403 && answer.text.contains("wrong-signature"))
                #expect(try await wire.ask(.GET, place).status == 410, "the knock is gone")
            }
            #expect(stage.delegate.seen.knocks.isEmpty)
            #expect(stage.server.statistics.refusals.wrongProofs == 5)
        }
    }

    @Test func aSignatureIsForOneKnockAtOneHost() async throws {
        try await with { stage, wire in
            let victim = try Identity.ephemeral()
            let (first, old) = try await wire.knock(victim.asViewer)
            let heard = victim.signature(over: old.signedBytes)
            let (second, challenge) = try await wire.knock(victim.asViewer)
            #expect(first != second && old.nonce != challenge.nonce)
            #expect(try await wire.sign(second, heard, certificate: victim.certificateDER).status == 403)
            for (id, host) in [
                (BroadcastID.random(), stage.identity.fingerprint), (stage.link.id, randomFingerprint()),
            ] {
                let (place, challenge) = try await wire.knock(victim.asViewer)
                let elsewhere = KnockChallenge(
                    id: id, host: host, identity: challenge.identity, nonce: challenge.nonce)
                let answer = try await wire.sign(
                    place, victim.signature(over: elsewhere.signedBytes), certificate: victim.certificateDER)
                #expect(answer.status == 403)
            }
            #expect(stage.delegate.seen.knocks.isEmpty)
            // The challenge of the first knock is still open for its owner.
            #expect(try await wire.sign(first, heard, certificate: victim.certificateDER).status == 204)
            // The signature may be sent again, as the response may have been lost.
            #expect(try await wire.sign(first, heard, certificate: victim.certificateDER).status == 204)
            #expect(await stage.delegate.knocks(1).map(\.identity) == [try victim.asViewer])
        }
    }

    @Test func wrongSignaturesCountAsWrongProofs() async throws {
        try await with { stage, wire in
            var statuses: [Int] = []
            for _ in 0..<7 {
                let (place, _) = try await wire.knock(BrowserKey().identity)
                statuses.append(try await wire.sign(place, Array(repeating: 1, count: 64)).status)
            }
            #expect(statuses == [403, 403, 403, 403, 403, 403, 429])
            // A client with a correct signature is let in, also from the same address.
            _ = try await signed(BrowserKey(), wire)
        }
    }

    @Test(arguments: ["AA", "", "!", Base64URL.encode([4] + Array(repeating: 7, count: 64))])
    func aKeyThatIsNoPointIsRefused(key: String) async throws {
        try await with { stage, wire in
            let body = wire.knockBody(randomFingerprint()).dropLast() + ",\"key\":\"\(key)\"}"
            let answer = try await wire.ask(.POST, "/\(stage.link.id.text)/knock", body: String(body))
            #expect(answer.status == 400)
        }
    }

    /// A browser claims the fingerprint of a known viewer, and signs with a key of its own.
    @Test func aClaimedFingerprintIsAnotherIdentity() async throws {
        let known = try Identity.ephemeral()
        try await with(
            decision: { $0.identity == (try? known.asViewer) ? .remembered : .refused("who are you?") }
        ) { stage, wire in
            let place = try await signed(BrowserKey(known.fingerprint), wire)
            #expect(try await wire.ask(.GET, place).status == 403)
            #expect(try await wire.ask(.GET, try await signed(known, wire)).status == 200)
            #expect(stage.delegate.seen.knocks.map(\.identity.kind) == [.browser, .native])
        }
    }

    /// A viewer that cannot show the video takes no place among the unsigned knocks, of which an address has 32.
    @Test func aKnockThatStaysUnsignedIsWithdrawn() async throws {
        let identity = try Identity.ephemeral()
        try await with(
            configure: {
                $0.videoCodec = .h265
                $0.knockLimits.signature = .seconds(50)
                $0.limits.knockRate.burst = 100
                $0.knockRate.burst = 1_000
            }
        ) { stage, wire in
            let (place, challenge) = try await wire.knock(identity.asViewer)
            try await stage.client { client in
                for _ in 0..<32 {
                    #expect(
                        await code {
                            _ = try await client.knock(name: "Ann", identity: identity, takes: { $0 == .vp8 })
                        }
                            == .unsupportedCodec)
                }
                let certificate = identity.certificateDER
                let unsigned = await #expect(throws: SignalingError.self) {
                    try await client.knock(
                        name: "Ann", identity: identity.asViewer, certificate: certificate, sign: { _ in nil })
                }
                #expect(unsigned?.code == .offerRefused, "\(unsigned.debugDescription)")
            }
            let signature = identity.signature(over: challenge.signedBytes)
            #expect(try await wire.sign(place, signature, certificate: identity.certificateDER).status == 204)
            #expect(await stage.delegate.knocks(1).count == 1)
        }
    }

    // MARK: The ticket

    @Test func aKnockAnswersToItsOwnTicket() async throws {
        let yes = OneShot<KnockDecision>()
        let victim = try Identity.ephemeral()
        try await with(
            decision: { $0.identity.kind == .native ? await yes.value : .refused(nil) }
        ) { stage, wire in
            let place = try await signed(victim, wire)
            // Two knocks with the same fingerprint: one not signed, one signed with another key.
            let (unsigned, challenge) = try await wire.knock(victim.asViewer)
            let claimed = try await signed(BrowserKey(victim.fingerprint), wire)
            #expect(Set([place, unsigned, claimed]).count == 3)
            let asked = try #require(await stage.delegate.knocks(2).first { $0.identity.kind == .native })
            #expect(challenge.words != asked.words, "the victim's words are not told")
            for attacker in [unsigned, claimed] { #expect(try await wire.ask(.DELETE, attacker).status == 204) }
            #expect(try await wire.ask(.GET, unsigned).status == 410)
            #expect(try await wire.ask(.GET, claimed).status == 403)
            #expect(stage.delegate.seen.withdrawn.isEmpty)
            yes.fulfil(.accepted)
            #expect(try await wire.ask(.GET, place).status == 200)
            #expect(try await wire.ask(.GET, unsigned).status == 410)
        }
    }

    @Test func theDeskNeverLearnsTheTicket() async throws {
        try await with { stage, wire in
            let place = try await signed(BrowserKey(), wire)
            #expect(try await wire.ask(.GET, place).status == 200)
            #expect(stage.delegate.seen.knocks.count == 1)
            #expect(stage.delegate.seen.knocks.allSatisfy { !place.contains($0.id.text) })
        }
    }

    @Test func anIdentityHasOneQuestionAndTheNewerKnockTakesIt() async throws {
        let never = OneShot<KnockDecision>()
        try await with(decision: { _ in await never.value }) { stage, wire in
            let identity = try Identity.ephemeral()
            let first = try await signed(identity, wire)
            let second = try await signed(identity, wire)
            let answer = try await wire.ask(.GET, first)
            #expect(answer.status == 410 && answer.text.contains("replaced"))
            #expect(await stage.delegate.onWithdrawal.value == .replaced)
            #expect(await stage.delegate.knocks(2).count == 2)
            #expect(try await wire.ask(.DELETE, second).status == 204)
            never.fulfil(.unanswered)
        }
    }

    /// A mobile browser, for example, suspends the page while its user reads the words aloud.
    @Test func aPollBringsAnAbandonedKnockBackWithItsWords() async throws {
        let never = OneShot<KnockDecision>()
        try await with(
            decision: { _ in await never.value },
            configure: {
                $0.knockLimits.abandoned = .milliseconds(20)
                $0.timeouts.poll = .milliseconds(1)
            }
        ) { stage, wire in
            let place = try await signed(BrowserKey(), wire)
            #expect(await stage.delegate.onWithdrawal.value == .left)
            #expect(try await wire.ask(.GET, place).status == 202)
            let knocks = await stage.delegate.knocks(2)
            #expect(knocks.count == 2 && knocks[0].id != knocks[1].id && knocks[0].words == knocks[1].words)
            // A withdrawn knock is not revived.
            #expect(try await wire.ask(.DELETE, place).status == 204)
            #expect(try await wire.ask(.GET, place).status == 410)
            never.fulfil(.unanswered)
        }
    }

    // MARK: Refusals

    @Test func aRefusalHoldsForNativeViewersAndBrowsers() async throws {
        try await with(decision: { _ in .refused(nil) }) { stage, wire in
            let (identity, browser) = (try Identity.ephemeral(), BrowserKey())
            for place in [try await signed(identity, wire), try await signed(browser, wire)] {
                let answer = try await wire.ask(.GET, place)
                #expect(answer.status == 403 && answer.headers.first(name: "Retry-After") == "60")
                #expect(answer.text.contains("the host said no; you can ask again in 60 s"))
            }
            for _ in 0..<2 {
                do {
                    _ = try await signed(identity, wire)
                    Issue.record("was asked again")
                } catch let unexpected as RawHTTPClient.Unexpected {
                    #expect(unexpected.answer.status == 403 && unexpected.answer.text.contains("you can ask again in"))
                }
                await #expect(throws: RawHTTPClient.Unexpected.self) { try await signed(browser, wire) }
            }
            try await stage.client { client in
                #expect(await code { _ = try await client.knock(name: "", identity: identity) } == .refused)
            }
            #expect(stage.delegate.seen.knocks.count == 2)
            #expect(stage.server.statistics.knocks.refused == 7)
            // The same fingerprint with another key was not refused before.
            _ = try await signed(BrowserKey(identity.fingerprint), wire)
            #expect(await stage.delegate.knocks(3).count == 3)
        }
    }

    // MARK: Words

    @Test func wordsAreNewForEachKnockAndTheSameOnBothSides() async throws {
        try await with { stage, _ in
            let identity = try Identity.ephemeral()
            var told: [ShortAuthenticationString] = []
            for _ in 0..<3 {
                try await stage.client { told.append(try await $0.knock(name: "", identity: identity).words) }
            }
            #expect(await Set(stage.delegate.knocks(3).map(\.words)) == Set(told))
            #expect(Set(told).count == 3)
        }
    }

    // MARK: Tokens

    /// Strangers knock at a host with `--accept any`, while a viewer's session is interrupted and the host has ended
    /// it.
    @Test func aTokenOutlivesAnOutageWhateverKnocks() async throws {
        try await with(configure: { $0.tokenLimits.all = 8 }) { stage, wire in
            let fingerprint = randomFingerprint()
            let token = try await wire.token(fingerprint)
            let path = "/\(stage.link.id.text)/whep"
            let offer = description(fingerprint)
            let created = try await wire.ask(.POST, path, [sdpType, bearer(token)], body: offer)
            let session = try #require(
                created.headers.first(name: "Location")?.split(separator: "/").last.flatMap { SessionID($0) })
            stage.broadcast.forget(session)
            for _ in 0..<12 { _ = try await wire.token(randomFingerprint()) }
            #expect(try await wire.ask(.POST, path, [sdpType, bearer(token)], body: offer).status == 201)
        }
    }

    @Test func aHostFullOfViewersTakesNoKnocks() async throws {
        try await with(configure: { $0.tokenLimits.all = 2 }) { stage, wire in
            for _ in 0..<2 {
                let fingerprint = randomFingerprint()
                let token = try await wire.token(fingerprint)
                let answer = try await wire.ask(
                    .POST, "/\(stage.link.id.text)/whep", [sdpType, bearer(token)], body: description(fingerprint))
                #expect(answer.status == 201)
            }
            do {
                _ = try await signed(BrowserKey(), wire)
                Issue.record("was taken")
            } catch let unexpected as RawHTTPClient.Unexpected {
                #expect(unexpected.answer.status == 503)
                #expect(unexpected.answer.headers.first(name: "Retry-After") != nil)
            }
            #expect(stage.delegate.seen.knocks.count == 2)
        }
    }

    @Test func anUnusedTokenEnds() async throws {
        try await with(configure: { $0.tokenLimits.lifetime = .zero }) { stage, wire in
            let fingerprint = randomFingerprint()
            let token = try await wire.token(fingerprint)
            let answer = try await wire.ask(
                .POST, "/\(stage.link.id.text)/whep", [sdpType, bearer(token)], body: description(fingerprint))
            #expect(answer.status == 401)
        }
    }
}
