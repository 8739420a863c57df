import HTTPTypes
import LinuxRuntime
import MediaCore
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// An event stream between its response's head and the end of its body, without a connection.
@Suite(.timeLimit(.minutes(1))) struct EventRoutesTests {
    private let owner = TokenHash(of: "t")
    private let streams = EventStreams(capacity: 4)
    private let closed = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: Void.self)

    private func response() async throws -> RouteResponse {
        let made = Mutex<RouteResponse?>(nil)
        try await SignalingFixture.with { stage in
            let routes = EventRoutes(
                server: await stage.server.service, path: "/x/events", names: nil, streams: streams,
                delegate: stage.delegate, sessions: { _ in [] }, begin: { _, _, _ in })
            let request = RouteRequest(
                method: .get, path: ["x", "events"], headers: [:], body: ByteBuffer(),
                address: PeerAddress("192.0.2.1"),
                connection: RouteConnection(eventLoop: closed.futureResult.eventLoop, closed: closed.futureResult))
            let response = try await routes.respond(to: request) { () throws(Refusal) in owner }
            made.withLock { $0 = response }
        }
        return try #require(made.withLock { $0 })
    }

    @Test func anEventThatIsSentBeforeTheBodyBeginsIsInIt() async throws {
        defer { closed.succeed() }
        let response = try await response()
        _ = streams.send(["event: paused\ndata:\n\n"], to: owner)
        await streams.end(HostEvent.ended(reason: "done"), limit: .zero)
        let parts = PartCollector()
        try await response.body.write(parts)
        #expect(parts.text.contains("event: paused") && parts.text.contains("event: ended"))
        #expect(streams.count == 0)
    }

    @Test func aResponseThatIsNotWrittenKeepsNoStream() async throws {
        defer { closed.succeed() }
        var response: RouteResponse? = try await response()
        #expect(streams.count == 1 && response != nil)
        response = nil
        #expect(streams.count == 0)
    }
}
