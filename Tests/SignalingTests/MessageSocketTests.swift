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

/// The WebSocket of an admitted viewer's messages, between the native client and the server.
@Suite(.timeLimit(.minutes(1))) struct MessageSocketTests {
    @Test func textsGoBothWays() async throws {
        try await SocketFixture.with { stage in
            let socket = try await stage.open()
            for text in ["hello", "", "grüße", String(repeating: "x", count: 16_384), "{\"messages\":[{}]}"] {
                #expect(try await stage.isAnswered(text, on: socket))
            }
            var messages = socket.messages.makeAsyncIterator()
            socket.send("{\"messages\":[{\"type\":\"comment\",\"text\":\"hello\"}]}")
            guard case .text(let refusal) = await messages.next() else {
                Issue.record("no answer")
                return
            }
            #expect(refusal.contains("this host takes no messages"))
            #expect(!socket.send(String(repeating: "x", count: 16_385)))
            socket.close(.normal)
            #expect(await socket.closed.value == .normal)
            #expect(await messages.next() == nil)
            #expect(stage.server.statistics.messageSockets == 1)
        }
    }

    /// What has the connection of a relayed socket refers to it, and ends it as it closes it.
    @Test func aSocketThatIsClosedBeforeItIsOpenEndsAndIsGone() {
        weak var gone: MessageSocket?
        do {
            let socket = MessageSocket(.server)
            gone = socket
            socket.close(.replaced)
            socket.opened(.init(write: { _ in socket.written() }, close: { socket.ended($0) }))
            #expect(!socket.send("too late"))
        }
        #expect(gone == nil)
    }

    @Test func wrongTokensAreRefusedAndCounted() async throws {
        try await SocketFixture.with { stage in
            let socket = try await stage.http.webSocket(
                stage.path, protocols: stage.protocols(token: "wrong-wrong-wrong"))
            #expect(socket == nil)
            #expect(stage.server.statistics.refusals.wrongTokens == 1)
            #expect(try await stage.ask(token: "wrong").status == 401)
            #expect(try await stage.ask(token: nil).status == 401)
            var last = 401
            for _ in 0..<6 where last == 401 { last = try await stage.ask(token: "wrong").status }
            #expect(last == 429)
            // A correct one is accepted all the same.
            _ = try await stage.open()
        }
    }

    @Test func whatIsNoSocketIsRefused() async throws {
        let fixed = "0123456789abcdef"
        try await SocketFixture.with(configure: { $0.fixedToken = fixed }) { stage in
            let unknown = "/\(BroadcastID.random().text)/messages"
            #expect(try await stage.ask(path: unknown).status == 404)
            let plain = try await stage.wire.ask(.GET, stage.path, [bearer(stage.token)])
            #expect(plain.status == 426 && plain.headers.first(name: "Upgrade") == "websocket")
            let old = try await stage.ask { $0["Sec-WebSocket-Version"] = "8" }
            #expect(old.status == 426 && old.headers.first(name: "Sec-WebSocket-Version") == "13")
            #expect(try await stage.ask { $0["Sec-WebSocket-Key"] = "c2hvcnQ=" }.status == 400)
            #expect(try await stage.ask { $0["Sec-WebSocket-Protocol"] = "bearer.\(stage.token)" }.status == 400)
            #expect(try await stage.ask(token: fixed).status == 409)
            for origin in ["https://example.com", "http://test", "https://test:1"] {
                #expect(try await stage.ask { $0["Origin"] = origin }.status == 403, "\(origin)")
            }
            for origin in ["https://test", "null"] {
                #expect(try await stage.ask { $0["Origin"] = origin }.status == 101, "\(origin)")
            }
        }
    }

    @Test func anUpgradeIsAConnectionsFirstRequest() async throws {
        try await SocketFixture.with { stage in
            let connection = try await stage.wire.connect()
            let first = try await stage.wire.ask(
                .GET, "/" + stage.link.id.text, [bearer(stage.token)], over: connection)
            #expect(first.status == 200)
            #expect(try await stage.ask(over: connection).status == 400)
            try await connection.closeFuture.get()
        }
    }

    @Test func theThirdSocketOfATokenTakesThePlaceOfTheFirst() async throws {
        try await SocketFixture.with { stage in
            let first = try await stage.open()
            let second = try await stage.open()
            let third = try await stage.open()
            #expect(await first.closed.value == .replaced)
            for socket in [second, third] { #expect(try await stage.isAnswered("here", on: socket)) }
        }
    }

    @Test func thereIsALimitInAll() async throws {
        try await SocketFixture.with(configure: { $0.eventStreamCapacity = 1 }) { stage in
            let first = try await stage.open()
            let other = try await stage.wire.token(randomFingerprint())
            #expect(try await stage.ask(token: other).status == 429)
            #expect(try await stage.isAnswered("here", on: first))
            first.close(.normal)
            _ = await first.closed.value
            // The server has answered the close frame, and releases the place.
            var status = 429
            while status == 429 { status = try await stage.ask(token: other).status }
            #expect(status == 101)
        }
    }

    @Test func aMessageThatIsTooLongClosesTheSocket() async throws {
        try await SocketFixture.with { stage in
            var limits = MessageSocket.Limits()
            limits.messageSize = 65_536
            let socket = try await stage.open(limits: limits)
            socket.send(String(repeating: "x", count: 17_408))
            #expect(await socket.closed.value == .tooLarge)
        }
    }

    @Test func aFloodClosesThatSocketAlone() async throws {
        try await SocketFixture.with { stage in
            var limits = MessageSocket.Limits()
            limits.queue = 10_000
            let other = try await stage.open()
            let flood = try await stage.open(limits: limits)
            for number in 0..<3_000 { flood.send("\(number)") }
            #expect(await flood.closed.value == .policy)
            #expect(try await stage.isAnswered("here", on: other))
            #expect(try await stage.wire.ask(.GET, "/" + stage.link.id.text).status == 200)
        }
    }

    @Test func theEndOfTheBroadcastClosesItsSockets() async throws {
        try await SocketFixture.with { stage in
            let socket = try await stage.open()
            await stage.broadcast.end(reason: "over")
            #expect(await socket.closed.value == .normal)
            #expect(try await stage.ask().status == 410)
        }
    }

    @Test func theRemovalOfAViewerClosesItsSocketsAlone() async throws {
        try await SocketFixture.with { stage in
            let socket = try await stage.open()
            let other = try await stage.open(token: try await stage.wire.token(randomFingerprint()))
            #expect(try await stage.isAnswered("here", on: socket))
            let broadcast = try #require(await stage.server.service.broadcasts[stage.link.id])
            let viewer = try #require(broadcast.admissions.admission(token: stage.token)?.1.viewer)
            await stage.broadcast.remove(viewer, reason: "no more")
            #expect(await socket.closed.value == .unauthorized)
            #expect(try await stage.isAnswered("here", on: other))
        }
    }

    @Test func theServersStopClosesSockets() async throws {
        try await SocketFixture.with { stage in
            let socket = try await stage.open()
            await stage.server.stop()
            #expect(await socket.closed.value != nil)
        }
    }

    @Test func aSocketThatIsNotReadDropsWhatMayBeDroppedAndIsClosedThen() async throws {
        // Nothing is written before it is open.
        let socket = MessageSocket(.server)
        let droppable = (0..<40).count { _ in socket.send("x", isDroppable: true) }
        #expect(droppable == 33)
        let others = (0..<300).count { _ in socket.send("x") }
        #expect(droppable + others == 256)
    }
}
