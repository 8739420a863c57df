import LinuxRuntime
import NIOHTTP1
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// RFC 9725, as foreign WHIP tools speak it with a service's fixed token.
@Suite(.timeLimit(.minutes(1))) struct WHIPTests {
    private static let token = "a-token-for-tools-of-others"
    private let fragmentType = ("Content-Type", "application/trickle-ice-sdpfrag")

    private func with(
        _ refusal: OfferRefusal? = nil, configure: (inout ServiceFixture.Settings) -> Void = { _ in },
        _ body: (ServiceFixture, RawHTTPClient, String) async throws -> Void
    ) async throws {
        try await ServiceFixture.with(
            refusal: refusal,
            configure: {
                $0.service.fixedToken = Self.token
                configure(&$0)
            }
        ) { stage in
            try await stage.wire { try await body(stage, $0, stage.link.path + "/whip") }
        }
    }

    @Test func theEndpointSpeaksAsTheStandardSays() async throws {
        try await with(configure: {
            $0.iceServers = [ICEServer(urls: ["turn:turn.example.com"], username: "u", credential: "p")]
        }) { stage, wire, endpoint in
            let options = try await wire.ask(.OPTIONS, endpoint)
            #expect(options.status == 200 && options.headers.first(name: "Accept-Post") == "application/sdp")
            #expect(options.headers.first(name: "Access-Control-Allow-Origin") == "*")
            #expect(try await wire.ask(.GET, endpoint).status == 204)
            #expect(try await wire.ask(.PUT, endpoint).status == 405)

            let fingerprint = randomFingerprint()
            let offer = description(fingerprint)
            let bearer = bearer(Self.token)
            #expect(try await wire.ask(.POST, endpoint, [sdpType], body: offer).status == 401)
            let untyped = try await wire.ask(.POST, endpoint, [bearer], body: offer)
            #expect(untyped.status == 415 && untyped.headers.first(name: "Accept-Post") == "application/sdp")
            #expect(try await wire.ask(.POST, endpoint, [sdpType, bearer], body: "x").status == 400)

            let created = try await wire.ask(.POST, endpoint, [sdpType, bearer, ("User-Agent", "obs/31")], body: offer)
            #expect(created.status == 201 && created.text == description(stage.identity.fingerprint))
            #expect(created.headers.first(name: "Content-Type") == "application/sdp")
            #expect(created.headers.first(name: "ETag") == "\"one\"")
            #expect(created.headers.first(name: "Accept-Patch") == "application/trickle-ice-sdpfrag")
            #expect(
                created.headers["Link"] == [
                    "<turn:turn.example.com>; rel=\"ice-server\"; username=\"u\"; credential=\"p\"; "
                        + "credential-type=\"password\""
                ])
            #expect(created.headers.first(name: "Location")?.hasPrefix(endpoint + "/") == true)
            let publisher = try #require(stage.delegate.seen.offers.first)
            #expect(publisher.pairing == nil && publisher.application == nil && publisher.setup.isEmpty)
            #expect(publisher.kind == "obs" && publisher.fingerprint == fingerprint)
        }
    }

    @Test func aSessionSpeaksAsTheStandardSays() async throws {
        try await with { stage, wire, endpoint in
            let token = bearer(Self.token)
            let created = try await wire.ask(.POST, endpoint, [sdpType, token], body: description(randomFingerprint()))
            let resource = try #require(created.headers.first(name: "Location"))
            let options = try await wire.ask(.OPTIONS, resource)
            #expect(options.headers.first(name: "Accept-Patch") == "application/trickle-ice-sdpfrag")
            #expect(try await wire.ask(.GET, resource, [token]).status == 204)
            #expect(try await wire.ask(.GET, resource).status == 401)
            #expect(try await wire.ask(.POST, resource, [token]).status == 405)

            func patch(_ match: String?, _ body: String, typed: Bool = true) async throws -> HTTPAnswer {
                let headers = [token] + (typed ? [fragmentType] : []) + (match.map { [("If-Match", $0)] } ?? [])
                return try await wire.ask(.PATCH, resource, headers, body: body)
            }
            #expect(try await patch("\"one\"", "a=ice-ufrag:x\r\n", typed: false).status == 415)
            #expect(try await patch(nil, "a=ice-ufrag:x\r\n").status == 428)
            #expect(try await patch("\"other\"", "a=ice-ufrag:x\r\n").status == 412)
            let trickled = try await patch("\"one\"", "a=ice-ufrag:x\r\n")
            #expect(trickled.status == 204 && trickled.headers.first(name: "ETag") == nil)
            #expect(try await patch("*", "a=ice-ufrag:half\r\n").status == 422)
            let restarted = try await patch("*", "a=ice-ufrag:new\r\n")
            #expect(restarted.status == 200 && restarted.headers.first(name: "ETag") == "\"two\"")
            #expect(restarted.headers.first(name: "Content-Type") == "application/trickle-ice-sdpfrag")
            #expect(try await patch("\"one\"", "a=ice-ufrag:x\r\n").status == 412)

            #expect(try await wire.ask(.DELETE, resource, [token]).status == 200)
            #expect(try await wire.ask(.DELETE, resource, [token]).status == 404)
            #expect(stage.delegate.seen.closed.count == 1)
        }
    }

    @Test(arguments: [
        (OfferRefusal.Code.malformed, 400), (.notAcceptable, 406), (.unprocessable, 422), (.ended, 410), (.busy, 503),
    ])
    func aRefusedOfferHasItsStatus(code: OfferRefusal.Code, status: Int) async throws {
        try await with(OfferRefusal(code, "no")) { _, wire, endpoint in
            let answer = try await wire.ask(
                .POST, endpoint, [sdpType, bearer(Self.token)], body: description(randomFingerprint()))
            #expect(answer.status == status)
            #expect(answer.headers.first(name: "Content-Type") == "application/problem+json")
            #expect((answer.headers.first(name: "Retry-After") != nil) == (status == 503))
        }
    }

    @Test func theFixedTokenHasItsLimitsAndNoEvents() async throws {
        try await with(configure: { $0.sessionCapacity = 4 }) { stage, wire, endpoint in
            let headers = [sdpType, bearer(Self.token)]
            #expect(try await wire.ask(.POST, endpoint, headers, body: description(randomFingerprint())).status == 201)
            // One address has a quarter of the places.
            let second = try await wire.ask(.POST, endpoint, headers, body: description(randomFingerprint()))
            #expect(second.status == 503 && second.headers.first(name: "Retry-After") == "5")
            #expect(second.text.contains("your address has as many broadcasts as it may have (1 of 4 places)"))
            let events = try await wire.ask(.GET, stage.link.path + "/events", [bearer(Self.token)])
            #expect(events.status == 404)
            // The end of the service closes the session.
            await stage.service.end(reason: "closing")
            _ = await stage.delegate.onClose.value
            #expect(try await wire.ask(.POST, endpoint, headers, body: description(randomFingerprint())).status == 410)
        }
    }

    /// A publisher that has crashed comes again with another certificate, and does not wait for the end of its session.
    @Test func anOfferTakesThePlaceOfASilentSession() async throws {
        try await with(configure: { $0.sessionCapacity = 4 }) { stage, wire, endpoint in
            let headers = [sdpType, bearer(Self.token)]
            let first = try await wire.ask(.POST, endpoint, headers, body: description(randomFingerprint()))
            let location = try #require(first.headers.first(name: "Location"))
            let session = try #require(location.split(separator: "/").last.flatMap { SessionID($0) })
            #expect(try await wire.ask(.POST, endpoint, headers, body: description(randomFingerprint())).status == 503)
            stage.delegate.noteSilence(of: session)
            let second = try await wire.ask(.POST, endpoint, headers, body: description(randomFingerprint()))
            #expect(second.status == 201)
            #expect(stage.delegate.seen.offers.map(\.replaces) == [nil, session])
            #expect(await stage.delegate.onClose.value == session)
            // The place is taken by the second alone, and the first is not known any more.
            #expect(try await wire.ask(.POST, endpoint, headers, body: description(randomFingerprint())).status == 503)
            #expect(try await wire.ask(.DELETE, location, [bearer(Self.token)]).status == 404)
        }
    }

    @Test func aRefusedOfferLeavesTheSilentSessionItsPlace() async throws {
        try await with(configure: { $0.sessionCapacity = 4 }) { stage, wire, endpoint in
            let headers = [sdpType, bearer(Self.token)]
            let first = try await wire.ask(.POST, endpoint, headers, body: description(randomFingerprint()))
            let location = try #require(first.headers.first(name: "Location"))
            let session = try #require(location.split(separator: "/").last.flatMap { SessionID($0) })
            stage.delegate.noteSilence(of: session)
            stage.delegate.refuseOffers(OfferRefusal(.unprocessable, "no"))
            for _ in 0..<2 {
                let second = try await wire.ask(.POST, endpoint, headers, body: description(randomFingerprint()))
                #expect(second.status == 422 && stage.delegate.seen.offers.last?.replaces == session)
            }
            #expect(try await wire.ask(.GET, location, [bearer(Self.token)]).status == 204)
        }
    }

    @Test func aWeakFixedTokenIsRefused() async throws {
        try await ServiceFixture.with { stage in
            var configuration = ServiceConfiguration(try ServiceFixture.conference("com.example.other"))
            configuration.fixedToken = "short"
            let error = #expect(throws: SignalingServerError.self) {
                try stage.server.add(configuration, delegate: stage.delegate)
            }
            #expect(error?.code == .token)
        }
    }

    @Test func aSlowAnswerIsNotWaitedFor() async throws {
        let answer = OneShot<Void>()
        try await ServiceFixture.with(
            beforeAnswer: { await answer.value },
            configure: {
                $0.service.fixedToken = Self.token
                $0.timeouts.answer = .milliseconds(30)
            }
        ) { stage in
            try await stage.wire { wire in
                let slow = try await wire.ask(
                    .POST, stage.link.path + "/whip", [sdpType, bearer(Self.token)],
                    body: description(randomFingerprint()))
                #expect(slow.status == 503)
            }
            answer.fulfil(())
            // The session that was opened too late is closed.
            _ = await stage.delegate.onClose.value
        }
    }
}
