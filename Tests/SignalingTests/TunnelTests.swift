import Foundation
import HTTPTypes
import LinuxRuntime
import NIOCore
import NIOHTTP1
import Synchronization
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// A relay, a host that is reached over it, and the link for viewers.
struct TunnelFixture {
    let relay: ServiceFixture
    let host: SignalingFixture
    /// Of the host.
    let client: ServiceClient
    let identity: Identity
    let link: Link

    /// - Parameters:
    ///   - pairing: the relay's decision on the host.
    ///   - linkSecret: of the relay's link for publishers; the host has it.
    ///   - body: the tunnel is not open yet.
    static func with(
        pairing: @escaping @Sendable (PairingRequest) async -> PairingDecision = { _ in .accepted },
        decision: @escaping @Sendable (Knock) async -> KnockDecision = { _ in .accepted },
        beforeAnswer: @escaping @Sendable () async -> Void = {},
        linkSecret: [UInt8]? = nil, configure: (inout ServiceFixture.Settings) -> Void = { _ in },
        _ body: (TunnelFixture) async throws -> Void
    ) async throws {
        try await ServiceFixture.with(
            decision: pairing, beforeAnswer: beforeAnswer,
            configure: {
                $0.linkSecret = linkSecret
                configure(&$0)
            }
        ) { relay in
            let known = ServiceLink(
                host: relay.link.host, port: relay.link.port, id: relay.link.id, fingerprint: relay.link.fingerprint,
                secret: linkSecret)
            try await SignalingFixture.with(decision: decision) { host in
                try await relay.client(known) { client in
                    let identity = try Identity.ephemeral()
                    _ = try await relay.pair(client, identity)
                    let link = Link(
                        host: relay.link.host, port: relay.link.port, id: host.broadcast.id,
                        secret: host.broadcast.secret, fingerprint: host.identity.fingerprint,
                        relay: relay.identity.fingerprint)
                    try await body(
                        TunnelFixture(relay: relay, host: host, client: client, identity: identity, link: link))
                }
            }
        }
    }

    /// Answers what the relay forwards by the host's server.
    func open(
        _ emit: @escaping @Sendable (TunnelClient.Event) -> Void = { _ in }, _ body: () async throws -> Void
    ) async throws {
        let session = TunnelClient(
            .broadcast(link.id), client: client, server: host.server, isOwnAddress: { _ in false }, emit: emit)
        try await session.start()
        do {
            try await body()
        } catch {
            await session.stop()
            throw error
        }
        await session.stop()
    }

    /// Is the host in the way that a test defines: gets each forwarded request, and sends what `respond` returns.
    func open(
        responding respond: @escaping @Sendable (ForwardedRequest) async -> ForwardedResponse?,
        _ body: () async throws -> Void
    ) async throws {
        let events = try await client.tunnel(.broadcast(link.id))
        let serving = Task { [client, link] in
            for try await event in events {
                guard case .request(let request) = event, let part = await respond(request) else { continue }
                _ = try await client.respond(part, to: request.number, of: .broadcast(link.id))
            }
        }
        defer { serving.cancel() }
        try await body()
    }

    /// The host's own response to a forwarded request, whole.
    func response(to request: ForwardedRequest) async -> ForwardedResponse {
        guard let eventLoop = await host.server.eventLoop else { return ForwardedResponse(status: 500) }
        let closed = eventLoop.makePromise(of: Void.self)
        defer { closed.succeed(()) }
        let response = await host.server.respond(
            to: request, for: .broadcast(link.id), on: eventLoop, closed: closed.futureResult)
        let parts = PartCollector()
        try? await response.body.write(parts)
        return ForwardedResponse(
            status: Int(response.status.code), headers: response.headers.map { [$0.name.canonicalName, $0.value] },
            body: parts.text)
    }
}

@Suite(.timeLimit(.minutes(1))) struct TunnelTests {
    @Test func aViewerJoinsAHostThatOnlyTheRelayReaches() async throws {
        try await TunnelFixture.with { stage in
            let identity = try Identity.ephemeral()
            try await stage.open {
                try await stage.host.client(stage.link) { viewer in
                    let ticket = try await viewer.knock(name: "Ann", identity: identity)
                    #expect(stage.host.delegate.seen.knocks.map(\.words) == [ticket.words])
                    guard case .accepted(let token, _) = try await viewer.waitForAnswer(ticket) else {
                        Issue.record("not accepted")
                        return
                    }
                    let answer = try await viewer.offer(description(identity.fingerprint), token: token)
                    #expect(answer.sdp == description(stage.host.identity.fingerprint))
                    try await viewer.trickle("a=ice-ufrag:x\r\n")
                    let restarted = try await viewer.restart("a=ice-ufrag:new\r\n", timeout: .seconds(5))
                    #expect(restarted.fragment.contains("passwordpasswordpasswd"))
                    let events = try await viewer.events()
                    stage.host.broadcast.send(.viewerCount(3))
                    var heard: [HostEvent] = []
                    async let ended: Void = stage.host.broadcast.end(reason: "enough")
                    for try await event in events { heard.append(event) }
                    await ended
                    #expect(heard == [.viewerCount(3), .ended(reason: "enough")])
                    await viewer.leave()
                }
            }
            let seen = stage.host.delegate.seen
            #expect(seen.knocks.map(\.address) == ["127.0.0.1"] && seen.knocks.map(\.kind) == ["share"])
            #expect(seen.fragments == ["a=ice-ufrag:x\r\n", "a=ice-ufrag:new\r\n"])
            #expect(seen.closed.count == 1)
            #expect(stage.relay.delegate.seen.tunnels == [.broadcast(stage.link.id)])
            // The host has left, and the place is free.
            let session = await stage.relay.delegate.onClose.value
            #expect(stage.relay.delegate.seen.closed == [session])
            try await stage.host.client(stage.link) { viewer in
                await #expect(throws: SignalingError.self) {
                    _ = try await viewer.knock(name: "late", identity: identity)
                }
            }
        }
    }

    /// The page is the relay's own; what is below it goes to the host.
    @Test func thePageIsServedWithoutTheHost() async throws {
        try await TunnelFixture.with { stage in
            let forwarded = Mutex(0)
            try await stage.open(responding: { _ in
                forwarded.withLock { $0 += 1 }
                return nil
            }) {
                try await RawHTTPClient.with(stage.link) { wire in
                    let page = try await wire.ask(.GET, "/\(stage.link.id.text)", [("Accept", "text/html")])
                    #expect(page.status == 200 && page.headers.first(name: "Content-Security-Policy") != nil)
                    let other = try await wire.ask(.GET, "/\(stage.link.id.text.lowercased())")
                    #expect(other.status == (stage.link.id.text == stage.link.id.text.lowercased() ? 200 : 307))
                }
            }
            #expect(forwarded.withLock { $0 } == 0)
        }
    }

    /// All broadcasts of a relay have one origin.
    @Test func aHostCannotMakeTheRelayServePagesOrRedirects() async throws {
        try await TunnelFixture.with { stage in
            let responses: [ForwardedResponse] = [
                .init(status: 200, headers: [["Content-Type", "text/html"]], body: "<script>"),
                .init(status: 200, headers: [["Content-Type", "Text/JavaScript; charset=utf-8"]], body: "x"),
                .init(status: 200, headers: [["Content-Type", "image/svg+xml"]], body: "<svg>"),
                .init(status: 200, body: "no type"),
                .init(
                    status: 200, headers: [["Content-Type", "application/x"], ["Content-Type", "text/html"]], body: "x"),
                .init(status: 200, body: "", continues: true),
                .init(status: 205, headers: [["Content-Type", "application/json"]], body: "{}"),
                .init(status: 201, headers: [["Location", "/\(stage.link.id.text)/../0000000000000/whep"]]),
                .init(status: 201, headers: [["Location", "/\(stage.link.id.text)/%2e%2e/0000000000000/whep"]]),
                .init(status: 201, headers: [["Location", "https://evil.example/"]]),
                .init(status: 201, headers: [["Location", "/0000000000000/whep/1"]]),
                .init(status: 302, headers: [["Location", "/\(stage.link.id.text)/whep/1"]]),
                .init(status: 101), .init(status: 99), .init(status: 1_000), .init(status: nil, body: "x"),
            ]
            let next = Mutex(0)
            try await stage.open(responding: { _ in
                responses[
                    next.withLock { count in
                        count += 1
                        return count - 1
                    }]
            }) {
                try await RawHTTPClient.with(stage.link) { wire in
                    for response in responses {
                        let answer = try await wire.ask(.GET, "/\(stage.link.id.text)/whep/1")
                        #expect(answer.status == 502, "\(response)")
                        #expect(answer.headers.first(name: "Location") == nil)
                    }
                }
            }
        }
    }

    @Test func fieldsThatNobodyNeedsAreNotForwarded() async throws {
        try await TunnelFixture.with { stage in
            let seen = Mutex<ForwardedRequest?>(nil)
            try await stage.open(responding: { request in
                seen.withLock { $0 = request }
                return ForwardedResponse(
                    status: 200,
                    headers: [
                        ["Content-Type", "application/json"], ["Set-Cookie", "a=b"], ["ETag", "\"x\""],
                        ["Clear-Site-Data", "*"], ["Content-Security-Policy", "none"], ["Retry-After", "1\r\nX: y"],
                        ["Link"], ["Link", "<a>", "<b>"], ["WWW-Authenticate", "Basic realm=relay"],
                        ["Content-Type", "application/json;, text/html"],
                    ], body: "{}")
            }) {
                try await RawHTTPClient.with(stage.link) { wire in
                    let answer = try await wire.ask(
                        .POST, "/\(stage.link.id.text)/whep?query=1",
                        [("Cookie", "secret"), ("X-Other", "1"), ("If-Match", "*"), ("Authorization", "Bearer x")],
                        body: "offer")
                    #expect(answer.status == 200 && answer.headers.first(name: "ETag") == "\"x\"")
                    #expect(answer.headers["Content-Type"] == ["application/json"])
                    #expect(answer.headers["Content-Security-Policy"] == ["default-src 'none'; sandbox"])
                    for name in ["Set-Cookie", "Clear-Site-Data", "X", "Retry-After", "Link", "WWW-Authenticate"] {
                        #expect(answer.headers.first(name: name) == nil, "\(name)")
                    }
                }
            }
            let request = try #require(seen.withLock { $0 })
            #expect(request.headers == ["if-match": "*", "authorization": "Bearer x"])
            #expect(request.path == "/\(stage.link.id.text)/whep" && request.body == "offer")
            #expect(request.method == "POST" && request.address == "127.0.0.1")
        }
    }

    /// A relay forwards no query, so such a stream has all events.
    @Test func aPlayerThatChoosesEventsOfAMetHostGetsAll() async throws {
        try await TunnelFixture.with { stage in
            try await stage.open {
                try await stage.host.client(stage.link) { viewer in
                    let token = try await viewer.admissionToken(for: try Identity.ephemeral())
                    try await RawHTTPClient.with(stage.link) { wire in
                        let events = "/\(stage.link.id.text)/events"
                        let chosen = try await wire.ask(
                            .POST, events, [bearer(token), ("Content-Type", "application/json")], body: "[\"active\"]")
                        #expect(chosen.status == 201 && chosen.headers.first(name: "Location") == events)
                    }
                    await viewer.leave()
                }
            }
        }
    }

    /// What needs no valid token makes nobody an admitted viewer, whose connections stay open.
    @Test func aTokenThatNobodyHasCheckedKeepsNoConnectionOpen() async throws {
        try await TunnelFixture.with { stage in
            try await stage.open {
                try await RawHTTPClient.with(stage.link) { wire in
                    let base = "/" + stage.link.id.text
                    let token = [("Authorization", "Bearer x")]
                    for (method, path) in [
                        (HTTPMethod.GET, base), (.GET, base + "/whep"), (.HEAD, base + "/whep"),
                        (.OPTIONS, base + "/whep"), (.OPTIONS, base + "/knock"), (.OPTIONS, base + "/events"),
                    ] {
                        let answer = try await wire.ask(method, path, token)
                        #expect((200..<300).contains(answer.status), "\(method) \(path): \(answer.status)")
                        #expect(answer.headers.first(name: "Connection") == "close", "\(method) \(path)")
                    }
                }
            }
        }
    }

    /// What comes after the head of a 204 would be read as the answer to the next request.
    @Test func aResponseWithoutBodyHasNone() async throws {
        try await TunnelFixture.with { stage in
            try await stage.open(responding: { _ in
                ForwardedResponse(status: 204, body: "HTTP/1.1 200 OK\r\n\r\n", continues: true)
            }) {
                try await RawHTTPClient.with(stage.link) { wire in
                    let answer = try await wire.ask(
                        .GET, "/\(stage.link.id.text)/whep/1", [("Authorization", "Bearer x")])
                    #expect(answer.status == 204 && answer.body.readableBytes == 0)
                }
            }
        }
    }

    @Test func passwordsAreNotForwarded() async throws {
        try await TunnelFixture.with { stage in
            let seen = Mutex<[String: String]?>(nil)
            try await stage.open(responding: { request in
                seen.withLock { $0 = request.headers }
                return ForwardedResponse(status: 401, headers: [["WWW-Authenticate", "Bearer"]])
            }) {
                try await RawHTTPClient.with(stage.link) { wire in
                    let answer = try await wire.ask(
                        .GET, "/\(stage.link.id.text)/whep/1", [("Authorization", "Basic dXNlcjpwYXNz")])
                    #expect(answer.status == 401 && answer.headers.first(name: "WWW-Authenticate") == "Bearer")
                }
            }
            #expect(seen.withLock { $0 } == [:])
        }
    }

    /// An address cannot take all the bytes of a tunnel.
    @Test func theBytesOfOneAddressAreLimited() async throws {
        try await TunnelFixture.with { stage in
            try await stage.open(responding: { _ in ForwardedResponse(status: 204) }) {
                try await RawHTTPClient.with(stage.link) { wire in
                    let body = String(repeating: "x", count: 50_000)
                    var statuses: [Int] = []
                    for _ in 0..<4 {
                        statuses.append(try await wire.ask(.POST, "/\(stage.link.id.text)/whep", body: body).status)
                    }
                    #expect(statuses.prefix(2) == [204, 204] && statuses.last == 503, "\(statuses)")
                }
            }
        }
    }

    /// The requests of its viewers are for the one host, also after its tunnel.
    @Test func anIdentifierIsNotTakenOver() async throws {
        try await TunnelFixture.with { stage in
            try await stage.open {}
            try await stage.relay.wire { wire in
                let other = RawHost(stage: stage.relay, wire: wire, identity: try Identity.ephemeral())
                let token = try await other.token()
                let path = stage.relay.link.path + "/meeting/\(stage.link.id.text)"
                #expect(try await wire.ask(.GET, path, [("Authorization", "Bearer \(token)")]).status == 403)
            }
        }
    }

    /// Until the host is back, viewers are told to try again. Who comes then reaches it.
    @Test func aHostComesBackAfterAnOutage() async throws {
        try await TunnelFixture.with { stage in
            let interrupted = OneShot<Void>()
            let connected = OneShot<Void>()
            try await stage.open({ event in
                switch event {
                case .interrupted: interrupted.fulfil(())
                case .connected: connected.fulfil(())
                case .ended(let reason, _), .notListed(let reason): Issue.record("\(reason)")
                }
            }) {
                await stage.client.closeConnections()
                await interrupted.value
                await connected.value
                try await stage.host.client(stage.link) { viewer in
                    _ = try await viewer.admissionToken(for: try Identity.ephemeral())
                }
            }
        }
    }

    @Test func withoutItsHostATunnelSaysSo() async throws {
        try await TunnelFixture.with { stage in
            _ = try await stage.client.tunnel(.broadcast(stage.link.id))
            try await RawHTTPClient.with(stage.link) { wire in
                // The stream was dropped above.
                var answer = try await wire.ask(.GET, "/\(stage.link.id.text)/whep/1")
                while answer.status == 504 { answer = try await wire.ask(.GET, "/\(stage.link.id.text)/whep/1") }
                #expect(answer.status == 503 && answer.headers.first(name: "Retry-After") == "2")
            }
        }
    }

    @Test func onlyThePairedHostOpensItsTunnel() async throws {
        try await TunnelFixture.with { stage in
            let path = stage.relay.link.path + "/meeting/\(stage.link.id.text)"
            try await stage.open {
                try await stage.relay.wire { wire in
                    #expect(try await wire.ask(.GET, path).status == 401)
                    #expect(try await wire.ask(.GET, path, [("Authorization", "Bearer guessed")]).status == 401)
                    #expect(
                        try await wire.ask(.POST, path + "/1", [("Authorization", "Bearer guessed")], body: "{}").status
                            == 401)
                    // Another host, which is paired as well, and knows the identifier.
                    let other = RawHost(stage: stage.relay, wire: wire, identity: try Identity.ephemeral())
                    let token = [("Authorization", "Bearer \(try await other.token())")]
                    #expect(try await wire.ask(.GET, path, token).status == 403)
                    #expect(try await wire.ask(.DELETE, path, token).status == 404)
                    #expect(try await wire.ask(.POST, path + "/1", token, body: "{\"status\":200}").status == 404)
                    #expect(
                        try await wire.ask(.GET, stage.relay.link.path + "/meeting/none", token).status == 404)
                    #expect(try await wire.ask(.PUT, path, token).status == 405)
                }
                // The tunnel has not noticed.
                try await stage.host.client(stage.link) { viewer in
                    _ = try await viewer.admissionToken(for: try Identity.ephemeral())
                }
            }
        }
    }

    /// A viewer cannot exhaust the tunnel, and one that hangs up makes room.
    @Test func theRequestsOfOneAddressAreLimited() async throws {
        try await TunnelFixture.with { stage in
            let limit = ReverseTunnel.Limits().pendingOfAddress
            let events = try await stage.client.tunnel(.broadcast(stage.link.id))
            let arrived = OneShot<Void>()
            let cancelled = OneShot<Int>()
            let serving = Task {
                var count = 0
                for try await event in events {
                    switch event {
                    case .request(let request) where request.path.hasSuffix("/last"):
                        _ = try await stage.client.respond(
                            ForwardedResponse(status: 204), to: request.number, of: .broadcast(stage.link.id))
                    case .request:
                        count += 1
                        if count == limit { arrived.fulfil(()) }
                    case .text: break
                    case .cancelled(let number): cancelled.fulfil(number)
                    case .finished: break
                    }
                }
            }
            defer { serving.cancel() }
            try await RawHTTPClient.with(stage.link) { wire in
                let path = "/\(stage.link.id.text)/knock/"
                var waiting: [Task<HTTPAnswer, any Error>] = []
                var channels: [any Channel] = []
                for number in 0..<limit {
                    let channel = try await wire.connect()
                    channels.append(channel)
                    waiting.append(Task { try await wire.ask(.GET, path + "\(number)", over: channel) })
                }
                await arrived.value
                let refused = try await wire.ask(.GET, path + "last")
                #expect(refused.status == 503 && refused.headers.first(name: "Retry-After") != nil)
                channels[0].close(promise: nil)
                #expect((1...limit).contains(await cancelled.value - 1))
                #expect(try await wire.ask(.GET, path + "last").status == 204)
                for channel in channels { channel.close(promise: nil) }
                for task in waiting { _ = await task.result }
            }
        }
    }

    @Test func aRequestThatIsTooLongForTheStreamIsRefused() async throws {
        try await TunnelFixture.with { stage in
            try await stage.open {
                try await RawHTTPClient.with(stage.link) { wire in
                    // Each of these characters takes six in JSON.
                    let body = String(repeating: "\u{1}", count: 20_000)
                    let answer = try await wire.ask(.POST, "/\(stage.link.id.text)/knock", body: body)
                    #expect(answer.status == 413)
                }
                try await stage.host.client(stage.link) { viewer in
                    _ = try await viewer.admissionToken(for: try Identity.ephemeral())
                }
            }
        }
    }

    @Test func theEndOfTheRelayReachesTheHost() async throws {
        try await TunnelFixture.with { stage in
            let ended = OneShot<String>()
            try await stage.open({ if case .ended(let reason, _) = $0 { ended.fulfil(reason) } }) {
                await stage.relay.service.end(reason: "maintenance")
                #expect(await ended.value == "maintenance")
            }
        }
    }
}

/// A relay that lies: it forwards what viewer and host say to each other in the way that a test defines.
@Suite(.timeLimit(.minutes(1))) struct LyingRelayTests {
    /// The relay puts itself in the place of the host, with its own certificate.
    @Test(arguments: [true, false])
    func anAnswerOfTheRelayIsNotBelieved(keepsProof: Bool) async throws {
        try await TunnelFixture.with { stage in
            let relay = stage.relay.identity.fingerprint
            try await stage.open(responding: { request in
                var response = await stage.response(to: request)
                guard request.path.hasSuffix("/whep") else { return response }
                response.body = description(relay)
                if !keepsProof {
                    // It has no secret to make a proof with.
                    let forged = Proof(id: stage.link.id, secret: Link.randomSecret()).host(viewer: relay, host: relay)
                    response.headers = response.headers?.filter { $0[0] != "share-proof" && $0[0] != "Share-Proof" }
                    response.headers?.append(["Share-Proof", Base64URL.encode(forged)])
                }
                return response
            }) {
                let identity = try Identity.ephemeral()
                try await stage.host.client(stage.link) { viewer in
                    let token = try await viewer.admissionToken(for: identity)
                    let error = await #expect(throws: SignalingError.self) {
                        _ = try await viewer.offer(description(identity.fingerprint), token: token)
                    }
                    #expect(error?.code == .hostNotProven, "\(String(describing: error))")
                }
            }
        }
    }

    /// The relay sees the token that a viewer was granted. It is of no use without the key of the viewer's certificate.
    @Test func theTokenOfAViewerIsUselessToTheRelay() async throws {
        try await TunnelFixture.with { stage in
            let stolen = Mutex<String?>(nil)
            try await stage.open(responding: { request in
                if let token = request.headers["authorization"] { stolen.withLock { $0 = token } }
                return await stage.response(to: request)
            }) {
                let identity = try Identity.ephemeral()
                try await stage.host.client(stage.link) { viewer in
                    let token = try await viewer.admissionToken(for: identity)
                    _ = try await viewer.offer(description(identity.fingerprint), token: token)
                }
                let token = try #require(stolen.withLock { $0 })
                let relay = try Identity.ephemeral()
                let request = ForwardedRequest(
                    number: 1, method: "POST", path: "/\(stage.link.id.text)/whep",
                    headers: ["authorization": token, "content-type": "application/sdp"],
                    body: description(relay.fingerprint), address: "127.0.0.1")
                let response = await stage.response(to: request)
                #expect(response.status == 403 && response.body?.contains("fingerprint") == true, "\(response)")
            }
            #expect(stage.host.delegate.seen.offers.count == 1)
        }
    }

    /// The relay cannot knock in the name of a viewer, or with a secret of its own.
    @Test func aKnockThatTheRelayChangesIsRefused() async throws {
        try await TunnelFixture.with { stage in
            let relay = try Identity.ephemeral()
            try await stage.open(responding: { request in
                var request = request
                if request.path.hasSuffix("/knock"), request.method == "POST" {
                    let forged = Proof(id: stage.link.id, secret: Link.randomSecret()).viewer(
                        fingerprint: relay.fingerprint)
                    request.body =
                        "{\"name\":\"Ann\",\"fingerprint\":\"\(Base64URL.encode(relay.fingerprint))\","
                        + "\"proof\":\"\(Base64URL.encode(forged))\"}"
                }
                return await stage.response(to: request)
            }) {
                try await stage.host.client(stage.link) { viewer in
                    let error = await #expect(throws: SignalingError.self) {
                        _ = try await viewer.knock(name: "Ann", identity: try Identity.ephemeral())
                    }
                    #expect(error?.code == .wrongSecret)
                }
            }
            #expect(stage.host.delegate.seen.knocks.isEmpty)
        }
    }

    /// A changed nonce would give other words, so the signature does not fit.
    @Test func aChallengeThatTheRelayChangesIsNotSigned() async throws {
        try await TunnelFixture.with { stage in
            try await stage.open(responding: { request in
                var response = await stage.response(to: request)
                if request.path.hasSuffix("/knock") {
                    response.body = "{\"nonce\":\"\(Base64URL.encode(randomBytes(16)))\"}"
                }
                return response
            }) {
                try await stage.host.client(stage.link) { viewer in
                    await #expect(throws: SignalingError.self) {
                        _ = try await viewer.knock(name: "Ann", identity: try Identity.ephemeral())
                    }
                }
            }
            #expect(stage.host.delegate.seen.knocks.isEmpty)
        }
    }

    /// Another server with another certificate cannot take the relay's place.
    @Test func theRelayIsTheOneOfTheLink() async throws {
        try await TunnelFixture.with { stage in
            try await stage.open {
                let other = Link(
                    host: stage.link.host, port: stage.link.port, id: stage.link.id, secret: stage.link.secret,
                    fingerprint: stage.link.fingerprint, relay: randomFingerprint())
                try await stage.host.client(other) { viewer in
                    let error = await #expect(throws: SignalingError.self) {
                        _ = try await viewer.knock(name: "Ann", identity: try Identity.ephemeral())
                    }
                    #expect(error?.code == .certificateMismatch)
                }
            }
        }
    }

    /// What a relay forwards is for the one broadcast.
    @Test func theRelayReachesNothingElseOfTheHost() async throws {
        try await TunnelFixture.with { stage in
            for path in ["/", "/\(stage.link.id.text)", "/_/page.js", "/services/x", "/0000000000000/knock", ""] {
                let request = ForwardedRequest(
                    number: 1, method: "GET", path: path, headers: [:], body: "", address: "127.0.0.1")
                #expect(await stage.response(to: request).status == 404, "\(path)")
            }
        }
    }
}

/// Collects a body.
final class PartCollector: ResponseBodyWriter, @unchecked Sendable {
    private(set) var text = ""

    func write(_ buffer: ByteBuffer) async throws { text += String(buffer: buffer) }
    func finish() async throws {}
}
