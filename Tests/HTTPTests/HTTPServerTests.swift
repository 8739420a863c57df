import Glibc
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import Testing

@testable import HTTP

/// The server of HTTP/1.1, over plain TCP.
@Suite(.timeLimit(.minutes(1))) struct HTTPServerTests {
    /// What the server answers with: the method, the path, the query, the hosts and the body, a line each. A path of
    /// "/kept..." keeps the connection, "/parts" has a body in parts, and the body of "/unread" is not read.
    static func respond(to request: ServerRequest, _ connection: ServerConnection) async throws {
        var text = "\(request.method.rawValue) \(request.path) \(request.query) \(request.hosts)"
        var response = RouteResponse(.ok, type: "text/plain", "")
        if request.path != "/unread" {
            if request.headers[.expect] != nil { try await connection.askForBody() }
            text += try await connection.readBody(upTo: 16).map { " " + String(buffer: $0) } ?? " too large"
        }
        response.body = ResponseBody(ByteBuffer(string: text + "\n"))
        if request.path == "/parts" {
            response.body = ResponseBody { writer in
                for part in ["one ", "two "] { try await writer.write(ByteBuffer(string: part)) }
            }
        }
        response.isConnectionKept = request.path.hasPrefix("/kept")
        try await connection.write(response)
    }

    struct Stage: Sendable {
        let server: HTTPServer
        let connections: ConnectionRegistry

        func connect() async throws -> PlainConnection { try await PlainConnection.open(port: server.port) }

        /// The answer to a text, until the server closes the connection.
        func answer(_ text: String) async -> String {
            guard let connection = try? await connect() else { return "not connected" }
            connection.send(text)
            return await connection.rest()
        }
    }

    func with(
        idle: TimeAmount = .seconds(30), respond: @escaping HTTPServer.Respond = Self.respond,
        _ body: (Stage) async throws -> Void
    ) async throws {
        let connections = ConnectionRegistry(limiter: RequestLimiter(limits: .init(), now: .now)) { _ in }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let server = try await HTTPServer(
            host: "127.0.0.1", port: 0, backlog: 8, group: group,
            pipeline: ConnectionPipeline(
                tls: nil, connections: connections,
                timeouts: .init(handshake: .seconds(30), stall: .seconds(30), write: .seconds(30)), idle: idle))
        let running = Task { await server.run(respond) }
        let result: Result<Void, any Error>
        do { result = .success(try await body(Stage(server: server, connections: connections))) } catch {
            result = .failure(error)
        }
        await server.close()
        connections.hangUpAll()
        await running.value
        try await group.shutdownGracefully()
        try result.get()
    }

    @Test func aRequestIsReadAndAnswered() async throws {
        try await with { stage in
            let answer = await stage.answer("POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(answer.contains("\r\nContent-Length: 22\r\n") && answer.contains("\r\nConnection: close\r\n"))
            #expect(answer.hasSuffix("\r\n\r\nPOST /a b=c [\"x\"] abc\n"))
        }
    }

    @Test func aBodyInPartsIsChunked() async throws {
        try await with { stage in
            let answer = await stage.answer("GET /parts HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(answer.lowercased().contains("\r\ntransfer-encoding: chunked\r\n"))
            #expect(answer.hasSuffix("\r\n\r\n4\r\none \r\n4\r\ntwo \r\n0\r\n\r\n"))
        }
    }

    @Test func aResponseToHEADHasNoBody() async throws {
        try await with { stage in
            for path in ["/a", "/parts"] {
                let answer = await stage.answer("HEAD \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("\r\n\r\n"), "\(answer)")
            }
        }
        let server = StatusServer(host: "127.0.0.1", port: 0) { _ in nil }
        let missing = try await PlainConnection.open(port: server.start())
        missing.send("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n")
        let answer = await missing.rest()
        #expect(answer.hasPrefix("HTTP/1.1 404 ") && answer.hasSuffix("\r\n\r\n"), "\(answer)")
        await server.stop()
    }

    @Test func requestsInOnePieceAreAnsweredInOrder() async throws {
        try await with { stage in
            let request = "POST /kept1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
            let answer = await stage.answer(
                request + "GET /kept2 HTTP/1.1\r\nHost: x\r\n\r\nGET /last HTTP/1.1\r\n\r\n")
            let bodies = answer.split(whereSeparator: \.isNewline).filter { $0.contains(" /") }
            #expect(bodies == ["POST /kept1  [\"x\"] hi", "GET /kept2  [\"x\"] ", "GET /last  [] "])
            #expect(answer.contains("Connection: close"))
        }
    }

    @Test func nothingBehindTheLastRequestIsAnswered() async throws {
        let count = Mutex(0)
        try await with(respond: { request, connection in
            count.withLock { $0 += 1 }
            try await Self.respond(to: request, connection)
        }) { stage in
            for first in [
                "GET /last HTTP/1.1\r\nHost: x\r\n\r\n", "GET /kept HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                "GET /kept HTTP/1.0\r\nHost: x\r\n\r\n",
            ] {
                let answer = await stage.answer(first + "GET /kept HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(
                    answer.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("HTTP/1.1 200") }.count == 1,
                    "\(first)")
            }
        }
        #expect(count.withLock { $0 } == 3)
    }

    @Test func aBodyThatIsNotReadIsSkipped() async throws {
        try await with(respond: { request, connection in
            var response = RouteResponse(.ok, type: "text/plain", "\(request.path)\n")
            response.isConnectionKept = request.path == "/kept"
            try await connection.write(response)
        }) { stage in
            let body = String(repeating: "GET /no HTTP/1.1\r\n\r\n", count: 2_000)
            let answer = await stage.answer(
                "POST /kept HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body
                    + "GET /last HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(answer.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("/") } == ["/kept", "/last"])
        }
    }

    @Test func aLongBodyIsRefusedAsSoonAsItIsTooLong() async throws {
        try await with { stage in
            let long = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n0123456789abcdef0"
            #expect(await stage.answer(long).hasSuffix(" too large\n"))
            let chunked = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n11\r\n0123456789abcdef0\r\n"
            #expect(await stage.answer(chunked).hasSuffix(" too large\n"))
        }
    }

    @Test func aBodyThatWaitsForConsentIsAskedFor() async throws {
        try await with { stage in
            let connection = try await stage.connect()
            connection.send("POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            #expect(await connection.read(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
            connection.send("ok")
            #expect(await connection.rest().hasSuffix("\r\n\r\nPOST /a  [\"x\"] ok\n"))
        }
    }

    @Test func whatIsNoRequestIsRefused() async throws {
        try await with { stage in
            for text in ["FOO / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nA b: c\r\n\r\n", "\u{16}\u{3}\u{1}\r\n\r\n"] {
                #expect(await stage.answer(text).hasPrefix("HTTP/1.1 400 "), "\(text)")
            }
            let huge = "GET / HTTP/1.1\r\nA: " + String(repeating: "x", count: 9_000) + "\r\n\r\n"
            #expect(await !stage.answer(huge).contains(" 200 "))
            let many = String(repeating: "A: b\r\n", count: 101)
            #expect(await !stage.answer("GET / HTTP/1.1\r\n" + many + "\r\n").contains(" 200 "))
        }
    }

    @Test(arguments: [
        ("/a?b", "/a", "b"), ("*", "*", ""), ("http://x/a?b=/", "/a", "b=/"), ("HTTPS://x:1?b", "/", "b"),
        ("https://x", "/", ""), ("httpsx://x/a", "httpsx://x/a", ""), ("/http://x", "/http://x", ""),
        ("?a?b", "", "a?b"),
    ])
    func targetsAreReadWithoutTheirAuthority(_ text: String, _ path: String, _ query: String) throws {
        let request = try ServerRequest(HTTPRequestHead(version: .http1_1, method: .GET, uri: text))
        #expect(request.path == path && request.query == query)
    }

    @Test func hostsAreApartFromTheHeaders() throws {
        let request = try ServerRequest(
            HTTPRequestHead(
                version: .http1_1, method: .RAW(value: "BREW"), uri: "/",
                headers: HTTPHeaders([("host", "a"), ("Accept", "b"), ("HOST", "c"), ("accept", "d")])))
        #expect(request.method.rawValue == "BREW" && request.hosts == ["a", "c"])
        #expect(request.headers[values: .accept] == ["b", "d"] && request.headers.count == 2)
        #expect(throws: HTTPParserError.invalidMethod) {
            _ = try ServerRequest(HTTPRequestHead(version: .http1_1, method: .RAW(value: "a b"), uri: "/"))
        }
    }

    @Test func idleConnectionsAreClosed() async throws {
        try await with(idle: .milliseconds(100)) { stage in
            let silent = try await stage.connect()
            #expect(await silent.rest().isEmpty)
            let kept = try await stage.connect()
            kept.send("GET /kept HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(await kept.rest().contains(" 200 "))
            let half = try await stage.connect()
            half.send("POST /kept HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na")
            #expect(await half.rest().isEmpty)
        }
    }

    @Test func aSlowAnswerIsNotIdle() async throws {
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        try await with(
            idle: .milliseconds(50),
            respond: { request, connection in
                ask.yield()
                // Longer than the limit, as a poll is.
                try await connection.channel.eventLoop.scheduleTask(in: .milliseconds(200)) {}.futureResult.get()
                try await Self.respond(to: request, connection)
            }
        ) { stage in
            #expect(await stage.answer("GET /a HTTP/1.1\r\nHost: x\r\n\r\n").contains(" 200 "))
        }
        ask.finish()
        #expect(await asked.reduce(0) { count, _ in count + 1 } == 1)
    }

    @Test func aServerThatIsClosedAnswersWhatItWasAsked() async throws {
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let (goes, go) = AsyncStream.makeStream(of: Void.self)
        try await with(respond: { request, connection in
            ask.yield()
            for await _ in goes { break }
            try await Self.respond(to: request, connection)
        }) { stage in
            let idle = try await stage.connect()
            let busy = try await stage.connect()
            busy.send("GET /kept HTTP/1.1\r\nHost: x\r\n\r\n")
            for await _ in asked { break }
            await stage.server.close()
            #expect(await idle.rest().isEmpty)
            await #expect(throws: (any Error).self) { _ = try await stage.connect() }
            go.yield()
            #expect(await busy.rest().hasSuffix("GET /kept  [\"x\"] \n"))
        }
    }

    /// Without descriptors the server waits for some, and computes nothing meanwhile.
    @Test func aServerWithoutDescriptorsWaits() async {
        await #expect(processExitsWith: .success) {
            try await HTTPServerTests().with { stage in
                let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
                var limits = rlimit()
                getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
                let free = dup(client)
                Glibc.close(free)
                var none = limits
                none.rlim_cur = rlim_t(free)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_port = in_port_t(stage.server.port).bigEndian
                address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
                let connected = withUnsafePointer(to: &address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                    }
                }
                precondition(connected == 0)
                let request = Array("GET /a HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
                precondition(write(client, request, request.count) == request.count)
                let before = clock()
                var waiting = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
                precondition(poll(&waiting, 1, 1_000) == 0)
                precondition(clock() - before < 300_000)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
                var bytes = [UInt8](repeating: 0, count: 1_024)
                let count = read(client, &bytes, bytes.count)
                precondition(String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self).hasPrefix("HTTP/1.1 200 "))
            }
        }
    }

    @Test func connectionsThatComeWhileTheServerIsClosedAreClosed() async throws {
        for _ in 0..<20 {
            try await with { stage in
                await withTaskGroup(of: Void.self) { tasks in
                    for _ in 0..<8 { tasks.addTask { _ = await stage.answer("GET /kept HTTP/1.1\r\nHost: x\r\n\r\n") } }
                    tasks.addTask { await stage.server.close() }
                }
            }
        }
    }

    @Test func tooManyRequestsThatWaitEndTheConnection() async throws {
        let (goes, go) = AsyncStream.makeStream(of: Void.self)
        let count = Mutex(0)
        try await with(respond: { request, connection in
            count.withLock { $0 += 1 }
            for await _ in goes { break }
            try await Self.respond(to: request, connection)
        }) { stage in
            let request = "GET /kept HTTP/1.1\r\nHost: x\r\n\r\n"
            #expect(await stage.answer(String(repeating: request, count: 65)).isEmpty)
            let patient = try await stage.connect()
            patient.send(String(repeating: request, count: 63) + "GET /last HTTP/1.1\r\nHost: x\r\n\r\n")
            go.finish()
            #expect(await patient.rest().hasSuffix("GET /last  [\"x\"] \n"))
        }
    }

    @Test func aRequestThatFailsEndsItsConnectionAlone() async throws {
        struct Failure: Error {}
        try await with(respond: { request, connection in
            guard request.path != "/fails" else { throw Failure() }
            try await Self.respond(to: request, connection)
        }) { stage in
            #expect(await stage.answer("GET /fails HTTP/1.1\r\nHost: x\r\n\r\n").isEmpty)
            #expect(await stage.answer("GET /a HTTP/1.1\r\nHost: x\r\n\r\n").contains(" 200 "))
        }
    }
}

/// A TCP connection on which the test writes and reads text.
struct PlainConnection: Sendable {
    private let channel: any Channel
    private let pieces: AsyncStream<String>

    private final class Inbox: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let feed: AsyncStream<String>.Continuation
        init(_ feed: AsyncStream<String>.Continuation) { self.feed = feed }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            feed.yield(String(buffer: unwrapInboundIn(data)))
        }
        func channelInactive(context: ChannelHandlerContext) { feed.finish() }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    static func open(port: Int) async throws -> PlainConnection {
        let (pieces, feed) = AsyncStream.makeStream(of: String.self)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Inbox(feed)) }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return PlainConnection(channel: channel, pieces: pieces)
    }

    func send(_ text: String) { channel.writeAndFlush(ByteBuffer(string: text), promise: nil) }

    /// All text until the server closes the connection.
    func rest() async -> String { await pieces.reduce(into: "") { $0 += $1 } }

    /// All text until it contains `end` or the server closes the connection.
    func read(until end: String) async -> String {
        var text = ""
        for await piece in pieces {
            text += piece
            if text.contains(end) { break }
        }
        return text
    }
}
