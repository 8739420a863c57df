import LinuxRuntime
import NIOHTTP1
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// Two broadcasts on one server.
@Suite(.timeLimit(.minutes(1))) struct SeveralBroadcastsTests {
    /// The second broadcast of a stage, with a delegate and a link of its own.
    private struct Other {
        let delegate: FakeDelegate
        let broadcast: BroadcastResource
        let link: Link

        init(_ stage: SignalingFixture, _ configuration: ServedBroadcastConfiguration = ServedBroadcastConfiguration())
            throws
        {
            let fingerprint = stage.identity.fingerprint
            delegate = FakeDelegate { _ throws(OfferRefusal) in description(fingerprint) }
            broadcast = try stage.server.add(configuration, delegate: delegate)
            link = Link(
                host: stage.link.host, port: stage.link.port, id: broadcast.id, secret: broadcast.secret,
                fingerprint: fingerprint)
        }
    }

    /// Adds a broadcast while the server runs, and connects a raw client to each of the two.
    private func with(
        _ body: (SignalingFixture, Other, _ one: RawHTTPClient, _ two: RawHTTPClient) async throws -> Void
    ) async throws {
        try await SignalingFixture.with { stage in
            let other = try Other(stage)
            try await RawHTTPClient.with(stage.link) { one in
                try await RawHTTPClient.with(other.link) { two in try await body(stage, other, one, two) }
            }
        }
    }

    private func join(_ client: SignalingClient) async throws -> SessionID {
        let fingerprint = randomFingerprint()
        let ticket = try await client.knock(name: "", fingerprint: fingerprint)
        guard case .accepted(let token, _) = try await client.waitForAnswer(ticket) else {
            throw SignalingError(.refused, "not accepted")
        }
        let answer = try await client.offer(description(fingerprint), token: token)
        return try #require(answer.resource.split(separator: "/").last.flatMap { SessionID($0) })
    }

    @Test func aKnockReachesItsOwnHostAlone() async throws {
        try await with { stage, other, one, two in
            _ = try await two.token(randomFingerprint())
            #expect(stage.delegate.seen.knocks.isEmpty && other.delegate.seen.knocks.count == 1)
            _ = try await one.token(randomFingerprint())
            #expect(stage.delegate.seen.knocks.count == 1 && other.delegate.seen.knocks.count == 1)
        }
    }

    @Test func aSecretOpensItsOwnBroadcastAlone() async throws {
        try await with { stage, other, one, two in
            for (wire, own, foreign) in [(one, stage.link, other.link), (two, other.link, stage.link)] {
                // The proof that is right for one broadcast, and the secret of one used for the other.
                let body = wire.knockBody(randomFingerprint())
                let elsewhere = try await wire.ask(.POST, "/\(foreign.id.text)/knock", body: body)
                let mixed = wire.knockBody(randomFingerprint(), secret: foreign.secret)
                let here = try await wire.ask(.POST, "/\(own.id.text)/knock", body: mixed)
                #expect(elsewhere.status == 403 && here.status == 403)
            }
            #expect(stage.delegate.seen.knocks.isEmpty && other.delegate.seen.knocks.isEmpty)
        }
    }

    @Test func aTicketIsUnknownToTheOtherBroadcast() async throws {
        try await with { stage, other, one, two in
            let browser = BrowserKey()
            let (place, challenge) = try await one.knock(try browser.identity)
            let ticket = try #require(place.split(separator: "/").last)
            let foreign = "/\(other.link.id.text)/knock/\(ticket)"
            let signature = browser.sign(challenge.signedBytes)
            #expect(try await two.sign(foreign, signature).status == 410)
            #expect(try await two.ask(.GET, foreign).status == 410)
            #expect(try await two.ask(.DELETE, foreign).status == 410)
            #expect(try await one.sign(place, signature).status == 204)
            #expect(try await one.ask(.GET, place).status == 200)
            #expect(stage.delegate.seen.knocks.count == 1 && other.delegate.seen.knocks.isEmpty)
        }
    }

    @Test func aTokenIsWorthNothingAtTheOtherBroadcast() async throws {
        try await with { stage, other, one, two in
            let fingerprint = randomFingerprint()
            let token = try await one.token(fingerprint)
            let offer = description(fingerprint)
            let foreign = "/\(other.link.id.text)"
            #expect(try await two.ask(.POST, foreign + "/whep", [sdpType, bearer(token)], body: offer).status == 401)
            #expect(try await two.ask(.GET, foreign + "/events", [bearer(token)]).status == 401)
            #expect(stage.server.statistics.refusals.wrongTokens == 2)
            let own = "/\(stage.link.id.text)/whep"
            #expect(try await one.ask(.POST, own, [sdpType, bearer(token)], body: offer).status == 201)
            #expect(other.delegate.seen.offers.isEmpty)
        }
    }

    @Test func theFixedTokenOfOneBroadcastIsNotThatOfAnother() async throws {
        try await SignalingFixture.with(configure: { $0.fixedToken = "let-me-in-if-you-please" }) { stage in
            let other = try Other(stage)
            try await RawHTTPClient.with(other.link) { wire in
                let headers = [sdpType, bearer("let-me-in-if-you-please")]
                let offer = description(randomFingerprint())
                let foreign = try await wire.ask(.POST, "/\(other.link.id.text)/whep", headers, body: offer)
                let own = try await wire.ask(.POST, "/\(stage.link.id.text)/whep", headers, body: offer)
                #expect(foreign.status == 401 && own.status == 201)
            }
        }
    }

    /// A viewer that is let in at both broadcasts cannot reach the session of one through the other.
    @Test func aSessionIsUnknownToTheOtherBroadcast() async throws {
        try await with { stage, other, one, two in
            let fingerprint = randomFingerprint()
            let (token, foreignToken) = (try await one.token(fingerprint), try await two.token(fingerprint))
            let created = try await one.ask(
                .POST, "/\(stage.link.id.text)/whep", [sdpType, bearer(token)], body: description(fingerprint))
            let resource = try #require(created.headers.first(name: "Location"))
            let session = try #require(resource.split(separator: "/").last)
            let foreign = "/\(other.link.id.text)/whep/\(session)"
            #expect(try await two.ask(.DELETE, foreign, [bearer(foreignToken)]).status == 404)
            #expect(try await two.ask(.GET, foreign, [bearer(foreignToken)]).status == 404)
            #expect(try await one.ask(.GET, resource, [bearer(token)]).status == 204)
            #expect(stage.delegate.seen.closed.isEmpty && other.delegate.seen.closed.isEmpty)
        }
    }

    @Test func eventsAndCandidatesReachTheirOwnViewersAlone() async throws {
        try await SignalingFixture.with { stage in
            let other = try Other(stage)
            try await stage.client { one in
                try await stage.client(other.link) { two in
                    let session = try await join(one)
                    _ = try await join(two)
                    let (events, others) = (try await one.events(), try await two.events())
                    let fragment = "a=ice-ufrag:abcd\r\n"
                    // The other broadcast does not know the session.
                    other.broadcast.send(.candidates(fragment: fragment), to: [session])
                    stage.broadcast.send(.candidates(fragment: fragment), to: [session])
                    stage.broadcast.send(.viewerCount(7))
                    await stage.broadcast.end(reason: "one")
                    var heard: [HostEvent] = []
                    for try await event in events { heard.append(event) }
                    #expect(heard.contains(.candidates(fragment: fragment)) && heard.contains(.viewerCount(7)))
                    #expect(heard.last == .ended(reason: "one"))
                    other.broadcast.send(.viewerCount(2))
                    await other.broadcast.end(reason: "two")
                    heard = []
                    for try await event in others { heard.append(event) }
                    #expect(heard == [.viewerCount(2), .ended(reason: "two")])
                }
            }
        }
    }

    @Test func removalEndsItsOwnStreamsAndKnocksAlone() async throws {
        let never = OneShot<KnockDecision>()
        try await SignalingFixture.with(decision: { _ in await never.value }) { stage in
            let other = try Other(stage)
            try await stage.client(other.link) { viewer in
                _ = try await join(viewer)
                let events = try await viewer.events()
                try await stage.client { waiting in
                    let ticket = try await waiting.knock(name: "", fingerprint: randomFingerprint())
                    await other.broadcast.remove(reason: "enough")
                    await other.broadcast.remove(reason: "again")
                    var heard: [HostEvent] = []
                    for try await event in events { heard.append(event) }
                    #expect(heard == [.ended(reason: "enough")])
                    // Its identifier is that of no broadcast, as if there had been none.
                    #expect(try await viewer.pageStatus() == 404)
                    let knock = await code {
                        _ = try await viewer.knock(name: "", fingerprint: randomFingerprint())
                    }
                    #expect(knock == .oldLink)
                    #expect(try await waiting.pageStatus() == 200)
                    #expect(stage.delegate.seen.withdrawn.isEmpty)
                    never.fulfil(.accepted)
                    guard case .accepted = try await waiting.waitForAnswer(ticket) else {
                        Issue.record("not accepted")
                        return
                    }
                }
            }
            // The identifier may be used again.
            var configuration = ServedBroadcastConfiguration()
            configuration.id = other.broadcast.id
            _ = try Other(stage, configuration)
        }
    }

    /// The responses to strangers do not reveal whether the server has other broadcasts, or had this one.
    @Test func anUnknownIdentifierIsAnsweredAlike() async throws {
        try await with { stage, other, one, _ in
            await other.broadcast.remove(reason: "over")
            for suffix in ["", "/knock", "/whep", "/events", "/whep/x", "/messages"] {
                let removed = try await one.ask(.POST, "/\(other.link.id.text)\(suffix)", body: "x")
                let unknown = try await one.ask(.POST, "/\(BroadcastID.random().text)\(suffix)", body: "x")
                #expect(removed.status == 404 && unknown.status == 404, "\(suffix)")
                #expect(removed.text == unknown.text && removed.headers.count == unknown.headers.count)
            }
        }
    }

    @Test func theServerTakesAsManyBroadcastsAsItIsTold() async throws {
        try await SignalingFixture.with(configure: { $0.broadcastCapacity = 2 }) { stage in
            let other = try Other(stage)
            #expect(throws: SignalingServerError.self) { try Other(stage) }
            await other.broadcast.remove(reason: "room")
            _ = try Other(stage)
            await stage.server.stop()
            let error = #expect(throws: SignalingServerError.self) { try Other(stage) }
            #expect(error?.code == .stopped)
        }
    }

    @Test func wrongProofsAtOneBroadcastAreCountedAtTheOther() async throws {
        try await with { stage, other, one, two in
            var statuses: [Int] = []
            for wire in [one, two, one, two, one, two, one, two] {
                let body = wire.knockBody(randomFingerprint(), secret: Link.randomSecret())
                statuses.append(try await wire.ask(.POST, "/\(wire.link.id.text)/knock", body: body).status)
            }
            #expect(statuses == [403, 403, 403, 403, 403, 403, 429, 429])
            // A viewer that knows a secret is not affected.
            _ = try await two.token(randomFingerprint())
            #expect(stage.server.statistics.refusals.wrongProofs == 8 && other.delegate.seen.knocks.count == 1)
        }
    }
}
