import LinuxRuntime
import NIOCore
import NIOHTTP1
import NIOPosix
import SessionDescription
import Synchronization
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// Clients without permission, and clients that try to break the server. The file is long, as each limit has its
/// attacker.
@Suite(.timeLimit(.minutes(2))) struct HostilityTests {
    private func altered(_ link: Link, secret: [UInt8]? = nil, fingerprint: [UInt8]? = nil) -> Link {
        Link(
            host: link.host, port: link.port, id: link.id, secret: secret ?? link.secret,
            fingerprint: fingerprint ?? link.fingerprint)
    }

    @Test func wrongSecretNeverReachesTheDelegate() async throws {
        try await SignalingFixture.with { stage in
            try await stage.client(altered(stage.link, secret: Link.randomSecret())) { client in
                for _ in 0..<6 {
                    #expect(
                        await code { _ = try await client.knock(name: "", fingerprint: randomFingerprint()) }
                            == .wrongSecret)
                }
                #expect(
                    await code { _ = try await client.knock(name: "", fingerprint: randomFingerprint()) } == .tooMany)
            }
            #expect(stage.delegate.seen.knocks.isEmpty)
            #expect(stage.server.statistics.refusals.wrongProofs == 7)
            // A client with the right link is let in, also from the same address.
            try await stage.client { client in _ = try await client.knock(name: "", fingerprint: randomFingerprint()) }
        }
    }

    @Test func proofOfAnotherCertificateIsWorthNothing() async throws {
        try await SignalingFixture.with { stage in
            try await RawHTTPClient.with(stage.link) { wire in
                let body = wire.knockBody(randomFingerprint())
                let swapped = body.replacing(
                    #/"fingerprint":"[^"]*"/#, with: "\"fingerprint\":\"\(Base64URL.encode(randomFingerprint()))\"")
                let answer = try await wire.ask(.POST, "/\(stage.link.id.text)/knock", body: swapped)
                #expect(answer.status == 403)
            }
            #expect(stage.delegate.seen.knocks.isEmpty)
        }
    }

    @Test func tokenIsForItsCertificateAlone() async throws {
        try await SignalingFixture.with { stage in
            try await RawHTTPClient.with(stage.link) { wire in
                let (mine, thief) = (randomFingerprint(), randomFingerprint())
                let token = try await wire.token(mine)
                let path = "/\(stage.link.id.text)/whep"
                #expect(
                    try await wire.ask(.POST, path, [sdpType, bearer(token)], body: description(thief)).status == 403)
                let both = description(mine) + "a=fingerprint:sha-256 \(Fingerprint.colons(thief))\r\n"
                #expect(try await wire.ask(.POST, path, [sdpType, bearer(token)], body: both).status == 422)
            }
            #expect(stage.delegate.seen.offers.isEmpty)
            #expect(stage.server.statistics.refusals.wrongFingerprints == 1)
        }
    }

    /// aiortc offers SHA-256, SHA-384 and SHA-512 side by side (RFC 8122), in each section.
    @Test func otherHashesBesideSHA256AreTaken() async throws {
        try await SignalingFixture.with { stage in
            try await RawHTTPClient.with(stage.link) { wire in
                let mine = randomFingerprint()
                let long = Fingerprint.colons((0..<64).map { UInt8($0) })
                let offer =
                    description(mine) + "a=fingerprint:sha-512 \(long)\r\nm=audio 9 UDP/TLS/RTP/SAVPF 97\r\n"
                    + "a=fingerprint:SHA-512 \(long)\r\n"
                    + "a=fingerprint:SHA-256 \(Fingerprint.colons(mine))\r\n"
                let path = "/\(stage.link.id.text)/whep"
                let token = try await wire.token(mine)
                #expect(try await wire.ask(.POST, path, [sdpType, bearer(token)], body: offer).status == 201)
                let other = offer.replacing("a=fingerprint:SHA-512 00", with: "a=fingerprint:SHA-512 01")
                #expect(try await wire.ask(.POST, path, [sdpType, bearer(token)], body: other).status == 422)
            }
        }
    }

    @Test func hostWithAnotherCertificateIsDetected() async throws {
        try await SignalingFixture.with { stage in
            try await stage.client(altered(stage.link, fingerprint: randomFingerprint())) { client in
                #expect(
                    await code { _ = try await client.knock(name: "", fingerprint: randomFingerprint()) }
                        == .certificateMismatch)
                #expect(await code { _ = try await client.events() } == .certificateMismatch)
            }
            #expect(stage.server.statistics.requests == 0)
        }
    }

    @Test func swappedFingerprintInTheAnswerIsDetected() async throws {
        try await SignalingFixture.with(answerFingerprint: randomFingerprint()) { stage in
            try await stage.client { client in
                let fingerprint = randomFingerprint()
                let ticket = try await client.knock(name: "", fingerprint: fingerprint)
                guard case .accepted(let token, _) = try await client.waitForAnswer(ticket) else { return }
                #expect(
                    await code { _ = try await client.offer(description(fingerprint), token: token) } == .hostNotProven)
            }
        }
    }

    @Test func garbageIsRefusedWithoutAskingAnybody() async throws {
        try await SignalingFixture.with { stage in
            try await RawHTTPClient.with(stage.link) { wire in
                let base = "/" + stage.link.id.text
                let fingerprint = randomFingerprint()
                let token = try await wire.token(fingerprint)
                for (body, status) in [
                    ("", 400), ("hello", 400), (String(repeating: "\u{0}", count: 60_000), 400), ("v=0", 422),
                    ("v=0\r\na=fingerprint:sha-1 AA\r\n", 422),
                ] {
                    let answer = try await wire.ask(.POST, base + "/whep", [sdpType, bearer(token)], body: body)
                    #expect(answer.status == status)
                }
                for body in [
                    "", "{", "[]", "{\"fingerprint\":1,\"proof\":2}", "{\"fingerprint\":\"AA\",\"proof\":\"!\"}",
                    String(repeating: "[", count: 60_000),
                ] {
                    #expect(try await wire.ask(.POST, base + "/knock", body: body).status == 400)
                }
                let full = description(fingerprint, padding: 65_536 - description(fingerprint).utf8.count)
                #expect(try await wire.ask(.POST, base + "/whep", [sdpType, bearer(token)], body: full).status == 201)
                let over = description(fingerprint, padding: 66_000)
                #expect(try await wire.ask(.POST, base + "/whep", [sdpType, bearer(token)], body: over).status == 413)
                let lie = [sdpType, bearer(token), ("Content-Length", "99999999999")]
                #expect(try await wire.ask(.POST, base + "/whep", lie, body: "v=0").status == 413)
            }
            #expect(stage.delegate.seen.offers.count == 1)
            #expect(stage.server.statistics.refusals.tooLarge == 2)
        }
    }

    @Test func aBurstOfHundredsOfKnocksIsLimited() async throws {
        let never = OneShot<KnockDecision>()
        try await SignalingFixture.with(
            decision: { _ in await never.value },
            configure: {
                $0.limits.requestRate.burst = 2_000
                $0.limits.connectionRate.burst = 2_000
                $0.limits.allConnectionRate.burst = 8_000
                // No client polls: on a busy machine the burst lasts longer than the first two knocks would wait for a
                // poll.
                $0.knockLimits.abandoned = .seconds(60)
            }
        ) { stage in
            try await RawHTTPClient.with(stage.link) { wire in
                let statuses = try await withThrowingTaskGroup(of: [Int].self) { group in
                    for _ in 0..<20 {
                        group.addTask {
                            var statuses: [Int] = []
                            for _ in 0..<15 {
                                let browser = BrowserKey()
                                let answer: HTTPAnswer
                                do {
                                    let (place, challenge) = try await wire.knock(browser.identity)
                                    answer = try await wire.sign(place, browser.sign(challenge.signedBytes))
                                } catch let unexpected as RawHTTPClient.Unexpected {
                                    answer = unexpected.answer
                                }
                                statuses.append(answer.status)
                                #expect(answer.status == 204 || answer.headers.first(name: "Retry-After") != nil)
                            }
                            return statuses
                        }
                    }
                    return try await group.reduce(into: []) { $0 += $1 }
                }
                #expect(statuses.count == 300)
                #expect(Set(statuses) == [204, 429])
                // All come from one address.
                #expect(statuses.count { $0 == 204 } == 2)
                #expect(await stage.delegate.knocks(2).count == 2)
                #expect(try await wire.ask(.GET, "/").status == 200)
            }
            never.fulfil(.unanswered)
        }
    }

    @Test func floodOverOneConnectionIsCutOff() async throws {
        try await SignalingFixture.with(configure: { $0.limits.requestRate.perSecond = 0.01 }) { stage in
            try await RawHTTPClient.with(stage.link) { wire in
                let token = try await wire.token(randomFingerprint())
                let used = stage.server.statistics.requests
                let connection = try await wire.connect()
                for _ in used..<256 {
                    let answer = try await wire.ask(.GET, "/\(stage.link.id.text)", [bearer(token)], over: connection)
                    #expect(answer.status == 200)
                }
                let last = try await wire.ask(.GET, "/\(stage.link.id.text)", [bearer(token)], over: connection)
                #expect(last.status == 429 && last.headers.first(name: "Retry-After") != nil)
                try await connection.closeFuture.get()
            }
            #expect(stage.server.statistics.requestsLimited == 1)
        }
    }

    @Test func wrongTokensAreSlowedAndTheRightOneStillCounts() async throws {
        let token = "0123456789abcdef"
        try await SignalingFixture.with(configure: { $0.fixedToken = token }) { stage in
            try await RawHTTPClient.with(stage.link) { wire in
                let path = "/\(stage.link.id.text)/whep"
                let offer = description(randomFingerprint())
                let own = try await wire.ask(.POST, path, [sdpType, bearer(token)], body: offer)
                let session = try #require(own.headers.first(name: "Location"))
                var statuses: [Int] = []
                for guess in ["a", "b", "c", "d", "e", "f", "g", "h"] {
                    statuses.append(try await wire.ask(.POST, path, [sdpType, bearer(guess)], body: offer).status)
                }
                #expect(statuses == [401, 401, 401, 401, 401, 401, 429, 429])
                #expect(stage.server.statistics.refusals.wrongTokens == 8)
                #expect(try await wire.ask(.POST, path, [sdpType, bearer(token)], body: offer).status == 201)
                let patch = try await wire.ask(
                    .PATCH, session,
                    [("Content-Type", "application/trickle-ice-sdpfrag"), ("If-Match", "*"), bearer(token)],
                    body: "a=end-of-candidates\r\n")
                #expect(patch.status == 204)
            }
        }
    }

    @Test(arguments: [
        ("0123456789abcde", FixedToken.Flaw.tooShort), ("", .tooShort), ("0123456789 abcdef", .unprintable),
        ("0123456789abcdeé", .unprintable), (String(repeating: "x", count: 513), .tooLong),
    ])
    func fixedTokensThatCannotHoldAreRefusedAtTheStart(token: String, flaw: FixedToken.Flaw) throws {
        #expect(FixedToken.flaw(of: token) == flaw)
        let server = SignalingServer(
            identity: try Identity.ephemeral(), configuration: SignalingServer.Configuration(host: "127.0.0.1"))
        let error = #expect(throws: SignalingServerError.self) {
            _ = try server.add(
                ServedBroadcastConfiguration(fixedToken: token), delegate: FakeDelegate { _ throws(OfferRefusal) in "" }
            )
        }
        #expect(error?.code == .token)
    }

    @Test func tooManyConnectionsAreClosedAtTheDoor() async throws {
        try await SignalingFixture.with(configure: { $0.limits.connectionsPerAddress = 3 }) { stage in
            try await RawHTTPClient.with(stage.link) { wire in
                var open: [any Channel] = []
                for _ in 0..<3 { open.append(try await wire.connect()) }
                #expect(await code { _ = try await wire.connect() } != nil)
                #expect(try await wire.ask(.GET, "/", over: open[0]).status == 200)
                try await open[1].close()
                #expect(stage.server.statistics.connections.refused == 1)
            }
        }
    }

    @Test func silentAndEndlessConnectionsAreClosed() async throws {
        try await SignalingFixture.with(configure: {
            $0.timeouts.idle = .milliseconds(30)
            $0.timeouts.body = .milliseconds(30)
        }) { stage in
            try await RawHTTPClient.with(stage.link) { wire in
                // On a loaded machine, either connection may be closed before its handshake ends, which also counts.
                if let silent = try? await wire.connect() { try await silent.closeFuture.get() }
                await #expect(throws: (any Error).self) {
                    _ = try await wire.ask(
                        .POST, "/\(stage.link.id.text)/knock", [("Content-Length", "100")], body: "{")
                }
            }
            // This connection does not even start TLS.
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let plain = try await ClientBootstrap(group: group).connect(host: stage.link.host, port: stage.link.port)
                .get()
            try await plain.closeFuture.get()
            try await group.shutdownGracefully()
        }
    }

    @Test func noiseInsteadOfTLSOrHTTPDoesNoHarm() async throws {
        try await SignalingFixture.with { stage in
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            for seed in 0..<20 {
                let plain = try await ClientBootstrap(group: group).connect(
                    host: stage.link.host, port: stage.link.port
                ).get()
                let noise = (0..<2_000).map { UInt8(truncatingIfNeeded: ($0 &* 31 &+ seed) &* 17) }
                let start: [UInt8] = seed % 2 == 0 ? [0x16, 3, 1, 2, 0, 1] : []
                plain.writeAndFlush(ByteBuffer(bytes: start + noise), promise: nil)
                plain.close(promise: nil)
                try await plain.closeFuture.get()
            }
            try await group.shutdownGracefully()
            try await RawHTTPClient.with(stage.link) { wire in
                let long = [("X-Long", String(repeating: "x", count: 20_000))]
                let answer = try? await wire.ask(.GET, "/", long)
                #expect(answer == nil || answer?.status == 400)
                let next = try await wire.ask(.GET, "/")
                #expect(next.status == 200)
            }
        }
    }

    @Test func viewerThatDoesNotReadLosesItsStreamAndStopIsQuick() async throws {
        try await SignalingFixture.with { stage in
            try await RawHTTPClient.with(stage.link) { wire in
                let token = try await wire.token(randomFingerprint())
                let channel = try await wire.connect()
                let head = channel.eventLoop.makePromise(of: HTTPResponseHead.self)
                let request = HTTPRequestHead(
                    version: .http1_1, method: .GET, uri: "/\(stage.link.id.text)/events",
                    headers: HTTPHeaders([("Host", "x"), bearer(token)]))
                HTTPExchange.send(
                    HTTPExchange.Request(
                        head: request, body: nil, kind: .stream(head: head, piece: { _ in }, end: { _ in })),
                    on: channel)
                #expect(try await head.futureResult.get().status == .ok)
                try await channel.setOption(.autoRead, value: false).get()
                let big = HostEvent.other(name: "big", json: "\"" + String(repeating: "x", count: 100_000) + "\"")
                while stage.server.statistics.eventsDropped == 0 { stage.broadcast.send(big) }
                let started = ContinuousClock.now
                await stage.server.stop()
                #expect(ContinuousClock.now - started < .seconds(10))
            }
        }
    }
}
