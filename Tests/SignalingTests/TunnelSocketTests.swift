import HTTPTypes
import LinuxRuntime
import MediaCore
import Testing
import WaitSupport

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// WebSockets of viewers that a relay passes on. The host's side is the test's own.
@Suite(.timeLimit(.minutes(1))) struct TunnelSocketTests {
    /// What the host gets, and how it answers.
    private struct Stage {
        let tunnel: TunnelFixture
        /// Numbers of requests for a socket.
        let opened = Monitor<[Int]>([])
        let texts = Monitor<[ForwardedText]>([])
        let cancelled = Monitor<[Int]>([])
        let http: PinnedHTTPClient

        var path: String { "/\(tunnel.link.id.text)/messages" }

        func respond(_ part: ForwardedResponse, to number: Int) async throws -> Bool {
            try await tunnel.client.respond(part, to: number, of: .broadcast(tunnel.link.id))
        }

        func open() async throws -> MessageSocket? {
            try await http.webSocket(path, protocols: ["share.messages.1", "bearer.token-of-the-viewer"])
        }

        /// - Parameter status: of the host's answer to a request for a socket.
        static func with(status: Int = 101, _ body: (Stage) async throws -> Void) async throws {
            try await TunnelFixture.with { tunnel in
                let http = try PinnedHTTPClient(to: PinnedServer(tunnel.link), configuration: .init())
                let stage = Stage(tunnel: tunnel, http: http)
                let events = try await tunnel.client.tunnel(.broadcast(tunnel.link.id))
                let serving = Task {
                    for try await event in events {
                        switch event {
                        case .request(let request):
                            #expect(
                                request.socket == true
                                    && request.headers["authorization"] == "Bearer token-of-the-viewer")
                            let isWhole = status != 101
                            let headers = isWhole ? [["content-type", "application/problem+json"]] : nil
                            _ = try await stage.respond(
                                ForwardedResponse(
                                    status: status, headers: headers, body: isWhole ? "{}" : nil,
                                    continues: isWhole ? nil : true), to: request.number)
                            stage.opened.change { $0.append(request.number) }
                        case .text(let text): stage.texts.change { $0.append(text) }
                        case .cancelled(let number): stage.cancelled.change { $0.append(number) }
                        case .finished: break
                        }
                    }
                }
                do { try await body(stage) } catch { Issue.record(error) }
                serving.cancel()
                await http.close()
            }
        }
    }

    @Test func textsGoBothWaysInTheirOrderUntilOneSideCloses() async throws {
        try await Stage.with { stage in
            let socket = try #require(try await stage.open())
            for number in 0..<20 { socket.send("\(number)") }
            let texts = await waiting(stage.texts) { $0.count == 20 ? $0 : nil }
            #expect(texts?.map(\.text) == (0..<20).map { "\($0)" })
            let number = try #require(texts?.first).number
            #expect(try await stage.respond(ForwardedResponse(body: "first", continues: true), to: number))
            #expect(try await stage.respond(ForwardedResponse(body: "second", continues: true), to: number))
            var messages = socket.messages.makeAsyncIterator()
            #expect(await messages.next() == .text("first"))
            #expect(await messages.next() == .text("second"))
            #expect(try await stage.respond(ForwardedResponse(code: 4_401), to: number))
            #expect(await messages.next() == nil)
            #expect(await socket.closed.value == .unauthorized)
            // The other way round.
            let next = try #require(try await stage.open())
            next.close(.normal)
            let opened = await waiting(stage.opened) { $0.count == 2 ? $0[1] : nil }
            #expect(await waiting(stage.cancelled) { $0.contains(opened ?? 0) ? true : nil } == true)
            #expect(try await !stage.respond(ForwardedResponse(body: "late", continues: true), to: opened ?? 0))
        }
    }

    @Test func whatTheHostRefusesIsOpenedNowhere() async throws {
        try await Stage.with(status: 401) { stage in
            let socket = try await stage.open()
            #expect(socket == nil)
        }
        // A host of an earlier version.
        try await Stage.with(status: 501) { stage in
            await #expect(throws: SignalingError.self) { _ = try await stage.open() }
        }
    }

    /// More than an address may send, and more than a message may have.
    @Test func aViewerThatSendsTooMuchIsClosedAndCostsTheOthersNothing() async throws {
        try await Stage.with { stage in
            let socket = try #require(try await stage.open())
            let text = String(repeating: "x", count: 16_000)
            for _ in 0..<32 { socket.send(text) }
            #expect(await socket.closed.value == .policy)
            let bytes = stage.texts.with { $0.reduce(0) { $0 + $1.text.utf8.count } }
            #expect(bytes <= Int(ReverseTunnel.Sockets().bytes))
        }
        try await Stage.with { stage in
            let socket = try #require(try await stage.open())
            let begin = ContinuousClock.now
            for _ in 0..<200 { socket.send("x") }
            #expect(await socket.closed.value == .policy)
            // A slow machine gives it time for some more.
            let rate = MessageSocket.Limits().frameRate
            let more = (ContinuousClock.now - begin) / .seconds(1) * rate.perSecond
            #expect(stage.texts.with { Double($0.count) } <= rate.burst + 1 + more)
        }
    }

    @Test func textsThatAreNotReadAndManySocketsOfAnAddressAreLimited() async throws {
        try await Stage.with { stage in
            var sockets: [MessageSocket] = []
            for _ in 0..<ReverseTunnel.Sockets().ofAddress {
                sockets.append(try #require(try await stage.open()))
            }
            let refusal = await #expect(throws: SignalingError.self) { _ = try await stage.open() }
            #expect(refusal?.description.contains("too many requests wait") == true, "\(String(describing: refusal))")
            for socket in sockets { socket.close(.normal) }
        }
    }

    @Test func theSocketEndsWithTheTunnel() async throws {
        try await Stage.with { stage in
            let socket = try #require(try await stage.open())
            await stage.tunnel.client.leave(.broadcast(stage.tunnel.link.id))
            #expect(await socket.closed.value == .goingAway)
        }
    }
}
