import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// The page that `share join --browser` serves on loopback: for the user's browser alone, and to the link's host alone.
@Suite(.timeLimit(.minutes(1))) struct LocalPageTests {
    private struct World {
        let stage: SignalingFixture
        let server: LocalPageServer
        let events: AsyncStream<LocalPageServer.Event>
        /// Without the fragment.
        var page: String { String(server.address.prefix { $0 != "#" }) }
        var base: String { String(page.dropLast(BroadcastID.length + 1)) }
        var port: Int { Int(server.rules.authority.dropFirst("127.0.0.1:".count)) ?? 0 }

        func ask(
            _ method: HTTPMethod, _ url: String, _ headers: HTTPHeaders = [:], body: String? = nil
        ) async throws -> HTTPAnswer {
            try await HTTPClientRequest(
                method, try #require(URL(string: url)), headers: headers, body: body, to: nil
            ).send(timeout: .seconds(10))
        }

        func failure() async -> SignalingError.Code? {
            for await case .failed(let error) in events { return error.code }
            return nil
        }
    }

    /// - Parameter link: another one than that of the host.
    private func with(
        _ link: (Link) -> Link = { $0 }, rule: @escaping LocalPagePlaces.AddressRule = { _ in { _ in true } },
        absence: Duration = .milliseconds(20), _ body: (World) async throws -> Void
    ) async throws {
        try await SignalingFixture.with { stage in
            let (events, feed) = AsyncStream.makeStream(of: LocalPageServer.Event.self)
            let server = try await LocalPageServer(
                link(stage.link), viewer: "Ann <b>", rule: rule, absence: absence
            ) { feed.yield($0) }
            do {
                try await body(World(stage: stage, server: server, events: events))
            } catch {
                await server.stop()
                throw error
            }
            await server.stop()
        }
    }

    // MARK: Who is answered

    private static let id = BroadcastID("0123456789ABC")
    private static let rules = LocalPageRules(port: 40_000, token: "secret")

    private func decide(
        _ method: HTTPMethod, _ uri: String, _ headers: HTTPHeaders = ["Host": "127.0.0.1:40000"]
    ) -> LocalPageRules.Decision {
        Self.rules.decide(HTTPRequestHead(version: .http1_1, method: method, uri: uri, headers: headers)) {
            $0 < 3 ? Self.id : nil
        }
    }

    @Test func thePageGetsWhatItNeeds() {
        #expect(decide(.GET, "/secret/0123456789ABC") == .page(place: 0))
        #expect(decide(.GET, "/secret/2/0123456789ABC?moved=Ann&mark=x") == .page(place: 2))
        #expect(decide(.GET, "/secret/_/page.js") == .asset(.script, place: 0))
        #expect(decide(.GET, "/secret/2/_/page.js") == .asset(.script, place: 2))
        #expect(decide(.GET, "/secret/_/presence") == .presence)
        #expect(decide(.POST, "/secret/2/_/places") == .addPlace(from: 2))
        for (method, path) in [
            (HTTPMethod.POST, "knock"), (.GET, "knock/a-_9"), (.PUT, "knock/a"), (.DELETE, "knock/a"), (.POST, "whep"),
            (.PATCH, "whep/a"), (.DELETE, "whep/a"), (.GET, "whep/a"), (.GET, "events"), (.GET, "servers"),
            (.GET, "messages"), (.POST, "messages"),
            (.POST, "keys"),
        ] {
            let whole = "/0123456789ABC/\(path)"
            #expect(decide(method, "/secret" + whole) == .forward(place: 0, path: whole), "\(method) \(path)")
            #expect(decide(method, "/secret/1" + whole) == .forward(place: 1, path: whole), "\(method) \(path)")
        }
    }

    @Test(arguments: [
        "/secret", "/secret/", "/secret/nothing", "/secret/0123456789ABD", "/secret/0123456789ABC/",
        "/secret/0123456789ABC/knock/../whep/a", "/secret/0123456789ABC/whep/a%2fb", "/secret/0123456789ABC/events?x=y",
        "/secret/0123456789ABC/messages/a", "/secret/0123456789ABC/whep/a/layer", "/secret/services/com.example.a/pair",
        "/secret/0123456789ABD/events", "/secret/3/0123456789ABC/events", "/secret/01/0123456789ABC/events",
        "/secret//0123456789ABC/events", "http://192.0.2.1/secret/0123456789ABC/events", "/Secret/0123456789ABC",
        "/secre/0123456789ABC", "/0123456789ABC", "/", "", "*", "/secret/_/page.js?x",
    ]) func nothingElseIsThere(uri: String) {
        #expect(decide(.GET, uri) == .refuse(.notFound), "\(uri)")
    }

    /// A name of another site for 127.0.0.1 (DNS rebinding), and requests that name none, or two.
    @Test func onlyThePrintedAddressIsAnswered() {
        let hosts: [HTTPHeaders] = [
            [:], ["Host": "evil.example:40000"], ["Host": "localhost:40000"], ["Host": "127.0.0.1"],
            ["Host": "127.0.0.1:40001"], ["Host": "127.0.0.1:40000", "host": "evil.example"],
        ]
        for headers in hosts {
            #expect(decide(.GET, "/secret/0123456789ABC", headers) == .refuse(.notFound), "\(headers)")
        }
    }

    @Test func otherPagesAreRefused() {
        let events = "/secret/0123456789ABC/events", page = "/secret/0123456789ABC"
        func headers(_ more: [(String, String)]) -> HTTPHeaders { HTTPHeaders([("Host", "127.0.0.1:40000")] + more) }
        let own = [("Origin", "http://127.0.0.1:40000"), ("Sec-Fetch-Site", "same-origin")]
        #expect(decide(.GET, events, headers(own)) == .forward(place: 0, path: "/0123456789ABC/events"))
        let opened = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Dest", "document")]
        #expect(decide(.GET, page, headers(opened)) == .page(place: 0))
        for foreign in [
            ("Origin", "https://evil.example"), ("Origin", "null"), ("Origin", "http://127.0.0.1:40001"),
            ("Origin", "https://127.0.0.1:40000"), ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site"),
        ] { #expect(decide(.GET, events, headers([foreign])) == .refuse(.forbidden), "\(foreign)") }
        #expect(decide(.GET, page, headers([("Sec-Fetch-Dest", "iframe")])) == .refuse(.forbidden))
        let long = headers([("Content-Length", "65537")])
        #expect(decide(.POST, "/secret/0123456789ABC/knock", long) == .refuse(.payloadTooLarge))
        #expect(
            decide(.POST, "/secret/0123456789ABC/knock", headers([("Content-Length", "65536")]))
                == .forward(place: 0, path: "/0123456789ABC/knock"))
    }

    // MARK: What is answered

    @Test func thePageIsServedWithItsOwnPaths() async throws {
        try await with { world in
            let page = try await world.ask(.GET, world.page)
            #expect(page.status == 200)
            let path = world.base.drop { $0 != "1" }.drop { $0 != "/" }
            #expect(page.text.contains("src=\"\(path)/_/page.js\"") && page.text.contains("data-base=\"\(path)\""))
            #expect(page.text.contains("data-viewer=\"Ann &lt;b&gt;\"") && !page.text.contains("{{"))
            #expect(page.headers.first(name: "Content-Security-Policy")?.contains("connect-src 'self'") == true)
            let script = try await world.ask(.GET, world.base + "/_/page.js")
            #expect(script.text.contains(Base64URL.encode(world.stage.identity.fingerprint)))
            for url in [world.base + "/x", world.page.replacing(world.server.rules.token, with: "AAAA")] {
                #expect(try await world.ask(.GET, url).status == 404)
            }
            let foreign = try await world.ask(.GET, world.base + "/_/page.js", ["Origin": "https://evil.example"])
            #expect(foreign.status == 403)
            #expect(
                try await world.ask(.POST, world.page + "/knock", body: String(repeating: "x", count: 65_537)).status
                    == 413)
        }
    }

    /// A body whose length is not said before.
    @Test func aLongBodyEndsItsConnection() async throws {
        try await with { world in
            let path = world.page.drop { $0 != "1" }.drop { $0 != "/" }
            let chunk = String(repeating: "x", count: 0x8000)
            let answer = try await RawText.answer(
                to: "POST \(path)/knock HTTP/1.1\r\nHost: \(world.server.rules.authority)\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n" + String(repeating: "8000\r\n\(chunk)\r\n", count: 3),
                port: world.port)
            #expect(answer.hasPrefix("HTTP/1.1 413 "), "\(answer.prefix(80))")
            #expect(world.stage.delegate.seen.knocks.isEmpty)
        }
    }

    @Test func requestsOfThePageReachTheHostAndAnswersAreNoPages() async throws {
        try await with { world in
            let fingerprint = randomFingerprint()
            var body = ""
            try await RawHTTPClient.with(world.stage.link) { body = $0.knockBody(fingerprint) }
            let knock = try await world.ask(
                .POST, world.page + "/knock",
                ["Content-Type": "application/json", "Origin": "http://\(world.server.rules.authority)"],
                body: body)
            #expect(knock.status == 202, "\(knock.text)")
            let ticket = try #require(knock.headers.first(name: "Location"))
            #expect(ticket.hasPrefix("\(world.server.rules.base(of: 0))/\(world.stage.link.id.text)/knock/"))
            #expect(knock.headers.first(name: "Content-Security-Policy") == "default-src 'none'; sandbox")
            let withdrawn = try await world.ask(.DELETE, "http://\(world.server.rules.authority)\(ticket)")
            #expect(withdrawn.status == 204)
            let events = try await world.ask(.GET, world.page + "/events")
            #expect(events.status == 401)
            #expect(events.headers.first(name: "Access-Control-Allow-Origin") == nil)
        }
    }

    /// The program checks the certificate, and the page sees no answer at all.
    @Test func anotherCertificateThanTheLinksIsNoHost() async throws {
        let other = randomFingerprint()
        try await with({ Link(host: $0.host, port: $0.port, id: $0.id, secret: $0.secret, fingerprint: other) }) {
            world in
            await #expect(throws: (any Error).self) { try await world.ask(.GET, world.page + "/events") }
            #expect(await world.failure() == .certificateMismatch)
            #expect(world.stage.server.statistics.requests == 0)
        }
    }

    @Test func theProgramEndsTheSessionsOfItsPages() async throws {
        try await with { world in
            let identity = try Identity.ephemeral()
            try await world.stage.client { client in
                let token = try await client.admissionToken(for: identity)
                let answer = try await world.ask(
                    .POST, world.page + "/whep",
                    ["Content-Type": "application/sdp", "Authorization": "Bearer \(token)"],
                    body: description(identity.fingerprint))
                #expect(answer.status == 201 && answer.headers.first(name: "Share-Proof") != nil, "\(answer.text)")
            }
            await world.server.stop()
            #expect(world.stage.delegate.seen.closed.count == 1)
        }
    }

    @Test func thePageThatIsClosedIsNoticed() async throws {
        try await with { world in
            let path = world.base.drop { $0 != "1" }.drop { $0 != "/" }
            let answer = try await RawText.answer(
                to: "GET \(path)/_/presence HTTP/1.1\r\nHost: \(world.server.rules.authority)\r\n\r\n",
                port: world.port,
                until: ":\n\n")
            #expect(answer.hasPrefix("HTTP/1.1 200 "))
            for await event in world.events {
                if case .left = event { break }
            }
        }
    }

    // MARK: Where the page is sent

    /// Only what its host has signed for this viewer, or its relay for all, is another place.
    @Test func thePageIsSentElsewhereByItsHostAlone() async throws {
        let (viewer, knock) = (randomFingerprint(), KnockOrigin.random(at: .now))
        func order(_ host: Identity, _ known: Link, to link: Link) throws -> String {
            let redirect = SignedRedirect(
                to: link, of: known.id, viewer: viewer, knock: knock, now: .now, signedBy: host)
            return String(decoding: try JSONEncoder().encode(redirect), as: UTF8.self)
        }
        func request(_ order: String) -> String {
            "{\"redirect\":\(order),\"viewer\":\"\(Base64URL.encode(viewer))\",\"nonce\":\"\(knock.text)\"}"
        }
        try await SignalingFixture.with { other in
            try await with { world in
                let known = world.stage.link
                let good = try order(world.stage.identity, known, to: other.link)
                for bad in [
                    try order(other.identity, known, to: other.link),
                    try order(world.stage.identity, other.link, to: other.link),
                    good.replacing(":\(other.link.port)", with: ":1"), "{}", "null",
                ] {
                    #expect(
                        try await world.ask(.POST, world.base + "/_/places", body: request(bad)).status == 403, "\(bad)"
                    )
                }
                #expect(try await world.ask(.GET, world.base + "/1/_/page.js").status == 404)
                let added = try await world.ask(.POST, world.base + "/_/places", body: request(good))
                #expect(added.text == "{\"base\":\"\(world.server.rules.base(of: 1).replacing("/", with: "\\/"))\"}")
                #expect(try await world.ask(.POST, world.base + "/_/places", body: request(good)).text == added.text)
                let before = other.server.statistics.requests
                let events = try await world.ask(.GET, world.base + "/1/\(other.link.id.text)/events")
                #expect(events.status == 401 && other.server.statistics.requests == before + 1)
                // Its place has that broadcast alone.
                #expect(try await world.ask(.GET, world.base + "/1/\(known.id.text)/events").status == 404)
                let relays = SignedAlternates(
                    [known.at(host: "127.0.0.1", port: other.link.port).text], of: known.id,
                    signedBy: world.stage.identity)
                let alternates = String(decoding: try JSONEncoder().encode(relays), as: UTF8.self)
                let choice = "{\"alternates\":\(alternates),\"link\":\"\(relays.links[0])\"}"
                #expect(try await world.ask(.POST, world.base + "/_/places", body: choice).text.contains("2"))
                let foreign = choice.replacing("\"link\":\"", with: "\"link\":\"\(other.link.text)\",\"was\":\"")
                #expect(try await world.ask(.POST, world.base + "/_/places", body: foreign).status == 403)
            }
            // A host elsewhere may not name this machine.
            try await with(rule: { namers in { _ in namers != ["127.0.0.1"] } }) { world in
                let order = try order(world.stage.identity, world.stage.link, to: other.link)
                #expect(try await world.ask(.POST, world.base + "/_/places", body: request(order)).status == 200)
                let before = other.server.statistics.connections.accepted
                await #expect(throws: (any Error).self) {
                    try await world.ask(.GET, world.base + "/1/\(other.link.id.text)/events")
                }
                #expect(await world.failure() == .unreachable)
                #expect(other.server.statistics.connections.accepted == before)
            }
        }
    }
}

/// Sends a text to a port of this machine and closes the connection when the answer has come.
private enum RawText {
    private final class Collector: ChannelInboundHandler, @unchecked Sendable {
        typealias InboundIn = ByteBuffer
        private var text = ""
        private let end: String
        private let promise: EventLoopPromise<String>

        init(_ end: String, _ promise: EventLoopPromise<String>) { (self.end, self.promise) = (end, promise) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            text += String(buffer: unwrapInboundIn(data))
            if text.contains(end) { promise.succeed(text) }
        }
        func channelInactive(context: ChannelHandlerContext) { promise.succeed(text) }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { promise.succeed(text) }
    }

    static func answer(to request: String, port: Int, until end: String = "\r\n\r\n") async throws -> String {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = loop.makePromise(of: String.self)
        let channel = try await ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Collector(end, promise))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        channel.writeAndFlush(ByteBuffer(string: request), promise: nil)
        let answer = try await promise.futureResult.get()
        try? await channel.close()
        return answer
    }
}
