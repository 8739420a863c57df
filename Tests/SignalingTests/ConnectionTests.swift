import NIOCore
import NIOHTTP1
import NIOPosix
import TLSTransport
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// Time limits and numbers of connections, below HTTP.
@Suite(.timeLimit(.minutes(1))) struct ConnectionTests {
    /// Polls until the condition holds. The suite's time limit is the only limit.
    private func until(_ isSo: () -> Bool) async throws {
        while !isSo() { try await Task.sleep(for: .milliseconds(2)) }
    }

    @Test func strangersConnectionEndsWithItsAnswer() async throws {
        try await SignalingFixture.with { stage in
            let raw = try await RawConnection.open(stage.link)
            raw.send("GET /\(stage.link.id.text) HTTP/1.1\r\nHost: x\r\n\r\n")
            let answer = await raw.rest()
            #expect(answer.hasPrefix("HTTP/1.1 200") && answer.contains("onnection: close"))
            #expect(answer.hasSuffix("</html>\n"))
        }
    }

    @Test func connectionsWithATokenOrAKnockStayOpen() async throws {
        try await SignalingFixture.with { stage in
            try await RawHTTPClient.with(stage.link) { wire in
                let connection = try await wire.connect()
                let base = "/" + stage.link.id.text
                let token = try await wire.token(randomFingerprint())
                for _ in 0..<3 {
                    let answer = try await wire.ask(.GET, base, [bearer(token)], over: connection)
                    #expect(answer.status == 200 && answer.headers.first(name: "Connection") != "close")
                }
                let knock = try await wire.ask(
                    .POST, base + "/knock", body: wire.knockBody(randomFingerprint()), over: connection)
                #expect(knock.status == 202)
                let page = try await wire.ask(.GET, base, over: connection)
                #expect(page.status == 200 && page.headers.first(name: "Connection") == "close")
                try await connection.closeFuture.get()
            }
        }
    }

    /// An admitted viewer that does not read, and its request.
    private func reader(of stage: SignalingFixture) async throws -> (RawConnection, request: String) {
        var token = ""
        try await RawHTTPClient.with(stage.link) { wire in token = try await wire.token(randomFingerprint()) }
        let raw = try await RawConnection.open(stage.link)
        let request = "GET /\(stage.link.id.text) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n"
        raw.send(request)
        _ = await raw.read(until: "\r\n\r\n")
        try await raw.channel.setOption(.autoRead, value: false).get()
        // A read takes little, so that also a slow server fills the buffers.
        try await raw.channel.setOption(.maxMessagesPerRead, value: 1).get()
        try await raw.channel.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 4_096)).get()
        return (raw, request)
    }

    /// Sends a request again and again, until the server gives up the connection: more than both kernels' buffers hold
    /// responses. Half as many wait as may.
    private func send(_ request: String, on raw: RawConnection, of stage: SignalingFixture) async throws {
        var sent = stage.server.statistics.requests
        while stage.server.statistics.connections.writesTimedOut == 0 {
            raw.send(String(repeating: request, count: 32))
            sent += 32
            try await until {
                stage.server.statistics.requests >= sent || stage.server.statistics.connections.writesTimedOut > 0
            }
        }
    }

    @Test func answersThatAreNotReadAreGivenUp() async throws {
        try await SignalingFixture.with(configure: {
            $0.timeouts.stall = .milliseconds(200)
            $0.limits.requestRate.burst = 8_000
        }) { stage in
            let (raw, request) = try await reader(of: stage)
            try await send(request, on: raw, of: stage)
            try? await raw.channel.close()
        }
    }

    @Test func readersThatAreSlowOverallAreGivenUp() async throws {
        try await SignalingFixture.with(configure: {
            $0.timeouts.write = .milliseconds(200)
            $0.limits.requestRate.burst = 8_000
        }) { stage in
            let (raw, request) = try await reader(of: stage)
            async let sending: Void = send(request, on: raw, of: stage)
            // The peer reads a record now and then, so that `stall` alone would not end the connection.
            while stage.server.statistics.connections.writesTimedOut == 0 {
                raw.channel.read()
                try await Task.sleep(for: .milliseconds(200))
            }
            try await sending
            try? await raw.channel.close()
        }
    }

    @Test func aServerThatIsStoppedWhileItStartsStaysStopped() async throws {
        for _ in 0..<20 {
            let server = SignalingServer(
                identity: try Identity.ephemeral(), configuration: .init(host: "127.0.0.1"))
            async let starting = try? server.start()
            await server.stop()
            let port = await starting
            // Where it had not begun to start, it may start no more.
            await server.stop()
            #expect(throws: SignalingServerError.self) {
                _ = try server.add(ServedBroadcastConfiguration(), delegate: FakeDelegate { _ in "" })
            }
            guard let port else { continue }
            await #expect(throws: (any Error).self) {
                let client = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                _ = try await client.connect(host: "127.0.0.1", port: port).get()
            }
        }
    }

    @Test func handshakesHaveADeadline() async throws {
        try await SignalingFixture.with(configure: { $0.timeouts.handshake = .milliseconds(50) }) { stage in
            let silent = try await RawConnection.open(stage.link, tls: nil)
            #expect(await silent.rest().isEmpty)
            // The first bytes of a ClientHello.
            let slow = try await RawConnection.open(stage.link, tls: nil)
            try await slow.channel.writeAndFlush(ByteBuffer(bytes: [0x16, 3, 1, 2, 0, 1])).get()
            #expect(await slow.rest().isEmpty)
            // TLS completes, and no request follows.
            let idle = try await RawConnection.open(stage.link)
            #expect(await idle.rest().isEmpty)
            #expect(stage.server.statistics.connections.handshakesTimedOut == 3)
        }
    }

    @Test func sixAddressesWithoutTheLinkDoNotKeepOthersOut() async throws {
        try await SignalingFixture.with(configure: {
            $0.limits.connections = 27
            $0.limits.reservedConnections = 3
            $0.limits.connectionsPerAddress = 8
        }) { stage in
            var held: [RawConnection] = []
            for number in 0..<48 {
                held.append(try await RawConnection.open(stage.link, from: "127.0.0.\(2 + number % 6)", tls: nil))
            }
            try await until {
                stage.server.statistics.connections.accepted + stage.server.statistics.connections.refused >= 48
            }
            #expect(stage.server.statistics.connections.accepted == 24)
            for _ in 0..<3 {
                let raw = try await RawConnection.open(stage.link, from: "127.0.0.9")
                raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(await raw.rest().hasPrefix("HTTP/1.1 200"))
            }
            #expect(stage.server.statistics.connections.displaced >= 1)
            for connection in held { connection.channel.close(promise: nil) }
        }
    }

    @Test func plainHTTPGetsAdviceOnly() async throws {
        try await SignalingFixture.with { stage in
            let raw = try await RawConnection.open(stage.link, tls: nil)
            raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            let answer = await raw.rest()
            #expect(answer.hasPrefix("HTTP/1.1 400 Bad Request\r\n") && answer.contains("https://"))
            #expect(!answer.contains(stage.link.id.text) && !answer.contains("Location"))
            #expect(stage.server.statistics.connections.plainHTTP == 1)
        }
    }

    @Test(arguments: [
        (TLSContext.Version.tls13, nil, true), (.tls12, "ECDHE-ECDSA-AES128-GCM-SHA256", true),
        (.tls12, "ECDHE-ECDSA-CHACHA20-POLY1305", true), (.tls12, "ECDHE-ECDSA-AES128-SHA", false),
        (.tls12, "ECDHE-ECDSA-AES256-SHA384", false),
    ])
    func onlyAuthenticatedCiphersAreTaken(version: TLSContext.Version, cipher: String?, isTaken: Bool) async throws {
        try await SignalingFixture.with { stage in
            let tls = try TLSContext(client: .any, least: version, most: version, ciphers: cipher)
            let raw = try await RawConnection.open(stage.link, tls: tls)
            raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(await raw.rest().hasPrefix("HTTP/1.1 200") == isTaken)
        }
    }

    @Test(arguments: [
        ("", 400), ("Host: a\r\nHost: a\r\n", 400), ("Host: a\r\nhost: b\r\n", 400), ("Host: \r\n", 400),
        ("Host: a b\r\n", 400), ("Host: a\r\n", 200), ("Host: [::1]:8443\r\n", 200),
    ])
    func requestsHaveOneHost(headers: String, status: Int) async throws {
        try await SignalingFixture.with { stage in
            let raw = try await RawConnection.open(stage.link)
            raw.send("GET / HTTP/1.1\r\n\(headers)\r\n")
            #expect(await raw.rest().hasPrefix("HTTP/1.1 \(status) "))
        }
    }

    @Test func bodiesThatAreTooLargeEndTheConnection() async throws {
        try await SignalingFixture.with { stage in
            let raw = try await RawConnection.open(stage.link)
            raw.send("POST /\(stage.link.id.text)/knock HTTP/1.1\r\nHost: x\r\nContent-Length: 70000\r\n\r\n")
            let answer = await raw.rest()
            #expect(answer.hasPrefix("HTTP/1.1 413 ") && answer.contains("onnection: close"))
        }
    }

    @Test func anOldClientIsAnsweredAndClosed() async throws {
        try await SignalingFixture.with { stage in
            var token = ""
            try await RawHTTPClient.with(stage.link) { wire in token = try await wire.token(randomFingerprint()) }
            let raw = try await RawConnection.open(stage.link)
            raw.send("GET / HTTP/1.0\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n")
            #expect(await raw.rest().hasSuffix("</html>\n"))
        }
    }
}
