import LinuxRuntime
import MediaCore
import NIOCore
import NIOHTTP1
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// The response of each route, one request at a time.
@Suite(.timeLimit(.minutes(1))) struct EndpointTests {
    private func with(
        _ refusal: OfferRefusal? = nil, configure: (inout SignalingFixture.Settings) -> Void = { _ in },
        _ body: (SignalingFixture, RawHTTPClient, String) async throws -> Void
    ) async throws {
        try await SignalingFixture.with(refusal: refusal, configure: configure) { stage in
            try await RawHTTPClient.with(stage.link) { wire in try await body(stage, wire, "/" + stage.link.id.text) }
        }
    }

    @Test func pageIsServedWithItsGuards() async throws {
        try await with { _, wire, base in
            for path in [base, base + "/", base + "?x"] {
                let page = try await wire.ask(.GET, path)
                #expect(page.status == 200 && page.text.contains("<"))
                #expect(page.headers.first(name: "Content-Security-Policy")?.contains("default-src 'none'") == true)
                #expect(page.headers.first(name: "Cache-Control") == "no-store")
                #expect(page.headers.first(name: "Referrer-Policy") == "no-referrer")
                #expect(page.headers.first(name: "X-Content-Type-Options") == "nosniff")
            }
            #expect(
                try await wire.ask(.GET, "/_/page.js").headers.first(name: "Content-Type")?.hasPrefix("text/javascript")
                    == true)
            #expect(try await wire.ask(.GET, "/_/page.css").status == 200)
            #expect(try await wire.ask(.GET, "/").status == 200)
            #expect(try await wire.ask(.HEAD, base).body.readableBytes == 0)
            let moved = try await wire.ask(.GET, base.lowercased())
            #expect(moved.status == (base == base.lowercased() ? 200 : 307))
            #expect(moved.status == 200 || moved.headers.first(name: "Location") == base)
        }
    }

    @Test func pagesCanBeInstalled() async throws {
        try await with { _, wire, base in
            let types = [
                "front.js": "text/javascript", "manifest.webmanifest": "application/manifest+json",
                "maskable.svg": "image/svg+xml", "touch-icon.png": "image/png",
            ]
            for (name, type) in types {
                let file = try await wire.ask(.GET, "/_/\(name)")
                let served = file.headers.first(name: "Content-Type") ?? ""
                #expect(file.status == 200 && served.hasPrefix(type), "\(name): \(file.status) \(served)")
            }
            let icon = try await wire.ask(.GET, "/_/touch-icon.png")
            #expect(Array(icon.body.readableBytesView.prefix(4)) == [0x89, 0x50, 0x4E, 0x47])
            let page = try await wire.ask(.GET, base)
            #expect(page.headers.first(name: "Content-Security-Policy")?.contains("manifest-src 'self'") == true)
            #expect(try await wire.ask(.GET, "/").text.contains("/_/front.js"))
            // What is installed must not have anybody's link.
            let manifest = try await wire.ask(.GET, "/_/manifest.webmanifest")
            #expect(!manifest.text.contains(String(base.dropFirst())) && manifest.text.contains("\"start_url\": \"/\""))
        }
    }

    @Test func pagesHaveAnIcon() async throws {
        try await with { _, wire, base in
            let icon = try await wire.ask(.GET, "/favicon.ico")
            #expect(icon.status == 200 && icon.headers.first(name: "Content-Type") == "image/svg+xml")
            #expect(icon.text.hasPrefix("<svg "))
            for page in ["/", base] {
                #expect(try await wire.ask(.GET, page).text.contains("<link rel=\"icon\" href=\"/favicon.ico\""))
            }
        }
    }

    @Test func headSaysHowLongTheAnswerWouldBe() async throws {
        try await with { _, wire, base in
            for path in ["/", base, "/_/page.js", "/favicon.ico", "/nothing"] {
                let (get, head) = (try await wire.ask(.GET, path), try await wire.ask(.HEAD, path))
                #expect(head.status == get.status && head.body.readableBytes == 0)
                for name in ["Content-Length", "Content-Type"] {
                    #expect(head.headers.first(name: name) == get.headers.first(name: name), "\(path)")
                }
            }
            let token = try await wire.token(randomFingerprint())
            let events = try await wire.ask(.HEAD, base + "/events", [bearer(token)])
            #expect(events.status == 200 && events.headers.first(name: "Content-Type") == "text/event-stream")
        }
    }

    @Test(arguments: [
        ("*", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"), ("/", "GET, HEAD, OPTIONS"),
        ("/_/page.js", "GET, HEAD, OPTIONS"), ("knock", "POST, OPTIONS"),
        ("events", "GET, HEAD, POST, OPTIONS"),
    ])
    func everyResourceTakesOptions(path: String, allowed: String) async throws {
        try await with { _, wire, base in
            let path = ["/", "*"].contains(path.prefix(1)) ? path : "\(base)/\(path)"
            let options = try await wire.ask(.OPTIONS, path)
            #expect(options.status == 200 && options.headers.first(name: "Allow") == allowed)
        }
    }

    @Test func ticketsThatDoNotExistAreNotThereForAnyVerb() async throws {
        try await with { _, wire, base in
            let unknown = base + "/knock/" + KnockID.random().text
            let signature = "{\"signature\":\"\(Base64URL.encode([UInt8](repeating: 1, count: 64)))\"}"
            for method in [HTTPMethod.GET, .PUT, .DELETE] {
                let body = method == .PUT ? signature : nil
                #expect(try await wire.ask(method, unknown, body: body).status == 410)
                #expect(try await wire.ask(method, base + "/knock/x", body: body).status == 404)
            }
            for method in [HTTPMethod.POST, .PATCH, .HEAD] {
                for path in [unknown, base + "/knock/x"] {
                    let answer = try await wire.ask(method, path)
                    #expect(answer.status == 405)
                    #expect(answer.headers.first(name: "Allow") == "PUT, GET, DELETE, OPTIONS")
                }
            }
        }
    }

    @Test func everythingElseIsAProblemDocument() async throws {
        try await with { _, wire, base in
            for path in [
                "/favicon.png", "/0000000000000", base + "/what", base + "/whep/a/b", "/../../etc/passwd", "/%00",
                "/_/x",
            ] {
                let answer = try await wire.ask(.GET, path)
                #expect(answer.status == 404, "\(path)")
                #expect(answer.headers.first(name: "Content-Type") == "application/problem+json")
                #expect(answer.text.contains("\"status\":404"))
            }
            let wrong = try await wire.ask(.PUT, base + "/knock")
            #expect(wrong.status == 405 && wrong.headers.first(name: "Allow") == "POST, OPTIONS")
            #expect(try await wire.ask(.POST, base + "/messages").status == 401)
            #expect(try await wire.ask(.GET, base + "/messages").status == 426)
            #expect(try await wire.ask(.PUT, base + "/messages").status == 405)
        }
    }

    /// Programs get a problem document with the same status, as tested above.
    @Test func aBrowserWithAnOldLinkGetsAPage() async throws {
        try await with { _, wire, base in
            for (path, words) in [
                ("/0000000000000", "not under this link"), ("/favicon", "nothing here"),
                ("/0000000000000/knock", "nothing here"),
            ] {
                let answer = try await wire.ask(.GET, path, [("Accept", "text/html,*/*;q=0.8")])
                #expect(answer.status == 404, "\(path)")
                #expect(answer.headers.first(name: "Content-Type")?.hasPrefix("text/html") == true)
                #expect(answer.headers.first(name: "Content-Security-Policy")?.contains("default-src 'none'") == true)
                #expect(answer.text.contains(words), "\(path)")
            }
            let posted = try await wire.ask(.POST, "/0000000000000/knock", [("Accept", "text/html")], body: "{}")
            #expect(posted.headers.first(name: "Content-Type") == "application/problem+json")
        }
    }

    @Test func whepSpeaksAsTheDraftSays() async throws {
        try await with { _, wire, base in
            let options = try await wire.ask(.OPTIONS, base + "/whep")
            #expect(options.status == 200 && options.headers.first(name: "Accept-Post") == "application/sdp")
            #expect(options.headers.first(name: "Access-Control-Allow-Origin") == "*")
            let head = try await wire.ask(.HEAD, base + "/whep")
            #expect(head.status == 200 && head.headers.first(name: "Content-Type") == "application/sdp")
            #expect(try await wire.ask(.GET, base + "/whep").status == 204)

            let fingerprint = randomFingerprint()
            let token = try await wire.token(fingerprint)
            let offer = description(fingerprint)
            #expect(try await wire.ask(.POST, base + "/whep", [sdpType], body: offer).status == 401)
            #expect(try await wire.ask(.POST, base + "/whep", [sdpType, bearer("wrong")], body: offer).status == 401)
            #expect(try await wire.ask(.POST, base + "/whep", [bearer(token)], body: offer).status == 415)
            let created = try await wire.ask(
                .POST, base + "/whep", [("Content-Type", "Application/SDP; charset=x"), bearer(token)], body: offer)
            #expect(created.status == 201)
            #expect(created.headers.first(name: "Content-Type") == "application/sdp")
            #expect(created.headers.first(name: "ETag") == "\"one\"")
            #expect(created.headers.first(name: "Link")?.contains("server-sent-events") == true)
            let resource = try #require(created.headers.first(name: "Location"))
            #expect(resource.hasPrefix(base + "/whep/") && resource.count == base.count + 6 + 22)
            #expect(
                try await wire.ask(.OPTIONS, resource).headers.first(name: "Accept-Patch")
                    == "application/trickle-ice-sdpfrag")
            #expect(try await wire.ask(.GET, resource, [bearer(token)]).status == 204)
            #expect(try await wire.ask(.GET, resource).status == 401)
        }
    }

    @Test func patchNeedsTheRightSession() async throws {
        try await with { stage, wire, base in
            let (mine, others) = (randomFingerprint(), randomFingerprint())
            let (token, other) = (try await wire.token(mine), try await wire.token(others))
            let created = try await wire.ask(.POST, base + "/whep", [sdpType, bearer(token)], body: description(mine))
            let resource = try #require(created.headers.first(name: "Location"))
            let type = ("Content-Type", "application/trickle-ice-sdpfrag")
            func patch(_ headers: [(String, String)]) async throws -> Int {
                try await wire.ask(.PATCH, resource, headers, body: "a=x").status
            }
            #expect(try await patch([type, bearer(token)]) == 428)
            #expect(try await patch([type, bearer(token), ("If-Match", "\"two\"")]) == 412)
            #expect(try await patch([sdpType, bearer(token), ("If-Match", "\"one\"")]) == 415)
            #expect(try await patch([type, bearer(other), ("If-Match", "\"one\"")]) == 404)
            #expect(try await patch([type, ("If-Match", "\"one\"")]) == 401)
            #expect(stage.delegate.seen.fragments.isEmpty)
            #expect(try await patch([type, bearer(token), ("If-Match", "\"one\"")]) == 204)
            #expect(try await patch([type, bearer(token), ("If-Match", "*")]) == 204)
            #expect(try await patch([type, bearer(token), ("If-Match", "\"none\", \"one\"")]) == 204)
            #expect(try await patch([type, bearer(token), ("If-Match", "W/\"one\"")]) == 412)
            let restart = try await wire.ask(
                .PATCH, resource, [type, bearer(token), ("If-Match", "*")], body: "a=ice-ufrag:new\r\n")
            #expect(restart.status == 200 && restart.headers.first(name: "ETag") == "\"two\"")
            #expect(restart.headers.first(name: "Content-Type") == "application/trickle-ice-sdpfrag")
            #expect(restart.text.contains("a=ice-ufrag:host"))
            // After the restart, candidates for the previous ICE session are refused.
            #expect(try await patch([type, bearer(token), ("If-Match", "\"one\"")]) == 412)
            #expect(try await patch([type, bearer(token), ("If-Match", "\"two\"")]) == 204)
            let refused = try await wire.ask(
                .PATCH, resource, [type, bearer(token), ("If-Match", "\"*\"")], body: "a=ice-ufrag:half\r\n")
            #expect(refused.status == 422 && refused.headers.first(name: "ETag") == nil)
            #expect(try await patch([type, bearer(token), ("If-Match", "\"two\"")]) == 204)
            #expect(try await wire.ask(.DELETE, resource, [bearer(other)]).status == 404)
            #expect(stage.delegate.seen.closed.isEmpty)
            #expect(try await wire.ask(.DELETE, resource, [bearer(token)]).status == 200)
            #expect(try await wire.ask(.DELETE, resource, [bearer(token)]).status == 404)
            #expect(stage.delegate.seen.closed.count == 1)
        }
    }

    @Test(arguments: [
        (OfferRefusal.Code.malformed, 400), (.notAcceptable, 406), (.unprocessable, 422), (.ended, 410), (.busy, 503),
    ])
    func refusedOffersSayWhy(code: OfferRefusal.Code, status: Int) async throws {
        try await with(OfferRefusal(code, "because of the moon")) { _, wire, base in
            let fingerprint = randomFingerprint()
            let token = try await wire.token(fingerprint)
            let answer = try await wire.ask(
                .POST, base + "/whep", [sdpType, bearer(token)], body: description(fingerprint))
            #expect(answer.status == status && answer.text.contains("because of the moon"))
            #expect((answer.headers.first(name: "Retry-After") != nil) == [409, 503].contains(status))
        }
    }

    @Test func slowDeskIsGivenUpAndItsSessionClosed() async throws {
        let late = OneShot<Void>()
        let identity = try Identity.ephemeral()
        let delegate = FakeDelegate { _ throws(OfferRefusal) in
            await late.value
            return "v=0"
        }
        var configuration = SignalingServer.Configuration(host: "127.0.0.1")
        configuration.timeouts.answer = .milliseconds(20)
        let server = SignalingServer(identity: identity, configuration: configuration)
        let broadcast = try server.add(
            ServedBroadcastConfiguration(fixedToken: "let-me-in-please"), delegate: delegate)
        let link = Link(
            host: "127.0.0.1", port: try await server.start(), id: broadcast.id, secret: broadcast.secret,
            fingerprint: identity.fingerprint)
        try await RawHTTPClient.with(link) { wire in
            let answer = try await wire.ask(
                .POST, "/\(link.id.text)/whep", [sdpType, bearer("let-me-in-please")],
                body: description(randomFingerprint()))
            #expect(answer.status == 503)
        }
        late.fulfil(())
        _ = await delegate.onClose.value
        await server.stop()
    }

    @Test func fixedTokenIsForForeignPlayersAndNeverDefault() async throws {
        try await with(configure: { $0.fixedToken = "let-me-in-please" }) { stage, wire, base in
            let offer = description(randomFingerprint())
            let answer = try await wire.ask(.POST, base + "/whep", [sdpType, bearer("let-me-in-please")], body: offer)
            #expect(answer.status == 201 && answer.headers.first(name: "Share-Proof") == nil)
            #expect(stage.delegate.seen.offers.map(\.knock) == [nil])
            #expect(
                try await wire.ask(.POST, base + "/whep", [sdpType, bearer("let-me-in-pleasee")], body: offer).status
                    == 401)
            try await stage.client { client in
                #expect(await code { _ = try await client.offer(offer, token: "let-me-in-please") } == .hostNotProven)
            }
        }
        try await with { _, wire, base in
            let answer = try await wire.ask(.POST, base + "/whep", [sdpType, bearer("")], body: description([1]))
            #expect(answer.status == 401)
        }
    }

    @Test func eventStreamsNeedTheBearerAndAreFew() async throws {
        try await with { _, wire, base in
            #expect(try await wire.ask(.GET, base + "/events").status == 401)
            let token = try await wire.token(randomFingerprint())
            let asked = try await wire.ask(.POST, base + "/events", [bearer(token)])
            #expect(asked.status == 201 && asked.headers.first(name: "Location") == base + "/events")
        }
    }

    /// WHEP's extension for events: a stream has those that its player has named.
    @Test func aPlayerChoosesEvents() async throws {
        try await with { stage, wire, base in
            let fields = [bearer(try await wire.token(randomFingerprint()))]
            let isJSON = [("Content-Type", "application/json")]
            for body in ["[\"scte35\"]", "[\"viewercount\", \"scte35\"]", "{}", "[1]", "viewercount"] {
                #expect(
                    try await wire.ask(.POST, base + "/events", fields + isJSON, body: body).status == 400, "\(body)")
            }
            #expect(try await wire.ask(.POST, base + "/events", fields, body: "[\"active\"]").status == 415)
            let chosen = try await wire.ask(
                .POST, base + "/events", fields + isJSON, body: "[\"viewercount\", \"inactive\"]")
            let location = try #require(chosen.headers.first(name: "Location"))
            #expect(chosen.status == 201 && location == base + "/events?events=viewercount,inactive")
            stage.broadcast.send(.active)
            stage.broadcast.send(.viewerCount(3))
            // What lasts is told to streams that open later.
            await stage.broadcast.end(reason: "over")
            let count = "event: viewercount\ndata: {\"type\":\"viewercount\",\"viewercount\":3}\n\n"
            #expect(try await wire.ask(.GET, location, fields).text == ":\n\n" + count)
            let all = try await wire.ask(.GET, base + "/events", fields).text
            for part in [count, "event: active\ndata: {}\n\n", "event: ended"] { #expect(all.contains(part), "\(all)") }
        }
    }

    /// A player on a page of another origin reads why it was refused, whoever refuses.
    @Test func refusalsAreForAllOriginsToo() async throws {
        try await with { stage, wire, base in
            let unknown = "/" + BroadcastID.random().text
            for path in [
                base + "/whep", base + "/events", unknown + "/whep", unknown + "/events", "/services/x.y/whip",
            ] {
                let refused = try await wire.ask(.POST, path, [sdpType], body: "v=0")
                #expect(refused.status >= 400, "\(path)")
                #expect(refused.headers.first(name: "Access-Control-Allow-Origin") == "*", "\(path)")
            }
            let large = try await wire.ask(
                .POST, base + "/whep", [sdpType], body: String(repeating: "x", count: 70_000))
            #expect(large.status == 413 && large.headers.first(name: "Access-Control-Allow-Origin") == "*")
            for path in [base, base + "/knock", unknown] {
                let other = try await wire.ask(.GET, path)
                #expect(other.headers.first(name: "Access-Control-Allow-Origin") == nil, "\(path)")
            }
        }
    }

    /// WHEP's extension for layers.
    @Test func aPlayerSelectsLayers() async throws {
        try await with { stage, wire, base in
            let (mine, others) = (randomFingerprint(), randomFingerprint())
            let (token, other) = (try await wire.token(mine), try await wire.token(others))
            let created = try await wire.ask(.POST, base + "/whep", [sdpType, bearer(token)], body: description(mine))
            let resource = try #require(created.headers.first(name: "Location"))
            let links = LinkHeader.parse(created.headers["Link"])
            let link = try #require(links.first { $0.hasRelation("urn:ietf:params:whep:ext:core:layer") })
            #expect(link.target == resource + "/layer")
            #expect(links.contains { $0.parameters["events"]?.split(separator: ",").contains("layers") == true })
            func select(_ body: String, _ fields: [(String, String)], type: String = "application/json") async throws
                -> Int
            {
                try await wire.ask(.POST, link.target, [("Content-Type", type)] + fields, body: body).status
            }
            #expect(try await select("{\"maxTemporalLayerId\": 0}", []) == 401)
            #expect(try await select("{\"maxTemporalLayerId\": 0}", [bearer(other)]) == 404)
            #expect(try await select("{\"maxTemporalLayerId\": 0}", [bearer(token)], type: "text/plain") == 415)
            for body in ["", "[]", "{\"maxTemporalLayerId\": -1}", "{\"temporalLayerId\": \"0\"}", "{\"mediaId\": []}"]
            {
                #expect(try await select(body, [bearer(token)]) == 400, "\(body)")
            }
            #expect(try await select("{\"rid\": \"\(String(repeating: "x", count: 1_024))\"}", [bearer(token)]) == 400)
            #expect(try await select("{\"temporalLayerId\": 2}", [bearer(token)]) == 422)
            #expect(try await wire.ask(.GET, link.target, [bearer(token)]).status == 405)
            #expect(try await wire.ask(.OPTIONS, link.target).status == 200)
            #expect(stage.delegate.seen.selections.isEmpty)
            #expect(try await select("{\"mediaId\": 0, \"temporalLayerId\": 1, \"new\": {}}", [bearer(token)]) == 200)
            #expect(try await select("{\"mediaId\": \"0\"}", [bearer(token)]) == 200)
            let selections = stage.delegate.seen.selections
            #expect(selections.map(\.mediaId) == ["0", "0"])
            #expect(selections.map(\.highestTemporalLayer) == [1, nil])
        }
    }

    /// Players with the fixed token have one token, and each gets the events of its own session.
    @Test func eventsOfASessionGoToItsStreamsAlone() async throws {
        let token = "let-me-in-please"
        try await with(configure: { $0.broadcast.fixedToken = token }) { stage, wire, base in
            var sessions: [SessionID] = []
            var streams: [String] = []
            for _ in 0..<2 {
                let created = try await wire.ask(
                    .POST, base + "/whep", [sdpType, bearer(token)], body: description(randomFingerprint()))
                let resource = try #require(created.headers.first(name: "Location"))
                sessions.append(try #require(resource.split(separator: "/").last.flatMap { SessionID($0) }))
                let links = LinkHeader.parse(created.headers["Link"])
                let events = "urn:ietf:params:whep:ext:core:server-sent-events"
                streams.append(try #require(links.first { $0.hasRelation(events) }).target)
            }
            let chosen = try await wire.ask(
                .POST, streams[0], [bearer(token), ("Content-Type", "application/json")], body: "[\"layers\"]")
            let location = try #require(chosen.headers.first(name: "Location"))
            #expect(location == base + "/events?session=\(sessions[0].text)&events=layers")
            #expect(
                try await wire.ask(.GET, base + "/events?session=\(SessionID.random().text)", [bearer(token)]).status
                    == 404)
            let layers = [VideoLayer(temporalLayer: 0, bitrate: .kilobits(300))]
            for (line, session) in sessions.enumerated() {
                stage.broadcast.send(.layers(VideoLayers(line: line, layers: layers)), to: [session])
            }
            let (one, other, both) = (location, streams[1], base + "/events")
            async let first = wire.ask(.GET, one, [bearer(token)]).text
            async let second = wire.ask(.GET, other, [bearer(token)]).text
            async let all = wire.ask(.GET, both, [bearer(token)]).text
            var opened: [Set<SessionID>] = []
            for await sessions in stage.delegate.openedStreams.prefix(3) { opened.append(Set(sessions)) }
            #expect(Set(opened) == [[sessions[0]], [sessions[1]], Set(sessions)])
            for (line, session) in sessions.enumerated() {
                stage.broadcast.send(.layers(VideoLayers(line: line + 2, layers: layers)), to: [session])
            }
            await stage.broadcast.end(reason: "over")
            let texts = try await (first, second, all)
            for (text, own, others) in [(texts.0, [0, 2], [1, 3]), (texts.1, [1, 3], [0, 2])] {
                #expect(own.allSatisfy { text.contains("\"\($0)\":[") }, "\(text)")
                #expect(!others.contains { text.contains("\"\($0)\":[") }, "\(text)")
            }
            #expect(texts.2.contains("event: ended") && !texts.2.contains("event: layers"), "\(texts.2)")
        }
    }

    /// WHEP: no stream begins with `inactive`.
    @Test func aStreamBeginsWithoutWhatIsOver() async throws {
        try await with { stage, wire, base in
            let fields = [bearer(try await wire.token(randomFingerprint()))]
            stage.broadcast.send(.active)
            stage.broadcast.send(.inactive)
            await stage.broadcast.end(reason: "over")
            let all = try await wire.ask(.GET, base + "/events", fields).text
            #expect(all.hasPrefix(":\n\nevent: ended"), "\(all)")
        }
    }

    @Test(arguments: [
        ("\"a\"", true), ("\"b\",\"a\"", true), (" \"b\" , , \"a\" ", true), ("*", true), (" * ", true),
        ("\"*\"", true),
        ("\"a,b\", \"a\"", true), ("\"b\"", false), ("W/\"a\"", false), ("W/\"a\", \"a\"", true), ("a", false),
        ("", false),
        ("\"a", false), ("\"a\" \"b\"", false), ("\"a\", *", false), ("* \"a\"", false),
    ])
    func preconditionsAreLists(field: String, isMatch: Bool) {
        #expect(EntityTag.isMatch(field, "a") == isMatch)
    }
}
