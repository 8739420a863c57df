import HTTP
import HTTPTypes
import Identifiers
import Identity
import NIOCore

/// The events of one stream, as the query of its location names them: those of one session or of all sessions of its
/// client, and those that the client has named in a POST (WHEP's extension) or all.
struct EventSelection {
    /// Nil: all sessions.
    let session: Substring?
    /// Nil: all.
    private let names: Set<Substring>?

    /// - Parameter query: of the stream's location.
    init(query: Substring) {
        func value(_ name: String) -> Substring? {
            query.split(separator: "&").first { $0.hasPrefix(name + "=") }?.dropFirst(name.count + 1)
        }
        session = value("session")
        names = value("events").map { Set($0.split(separator: ",")) }
    }

    /// The query of the location of a stream.
    /// - Parameter names: of its events; nil: all.
    static func query(session: String?, _ names: [String]?) -> String {
        let parts = [session.map { "session=\($0)" }, names.map { "events=\($0.joined(separator: ","))" }]
        let text = parts.compactMap { $0 }.joined(separator: "&")
        return text.isEmpty ? "" : "?" + text
    }

    /// - Parameter text: a serialized ``StreamEvent``, or a comment line.
    func contains(_ text: String) -> Bool {
        guard let names, text.hasPrefix("event: ") else { return true }
        return names.contains(text.dropFirst("event: ".count).prefix { $0 != "\n" })
    }
}

/// A stream from its response's head on. It is closed at the latest when its response is released, whose body may never
/// have been asked for.
private final class OpenStream: Sendable {
    let stream: EventStreams.Stream
    private let streams: EventStreams

    init(_ streams: EventStreams, _ owner: TokenHash, _ session: SessionID?) {
        self.streams = streams
        stream = streams.open(owner, session: session)
    }

    deinit { streams.close(stream.id) }
}

/// The event streams of a broadcast's viewers, or of a service's hosts.
struct EventRoutes: Sendable {
    let server: SignalingServerState
    /// The resource's path.
    let path: String
    /// The events among which a POST may choose; nil: it does not choose.
    let names: [String]?
    let streams: EventStreams
    let delegate: any SessionDelegate
    /// The sessions of a token's owner.
    let sessions: @Sendable (TokenHash) -> [SessionID]
    /// Sends the events with which a new stream begins, which has this number. The session is the one that it is of;
    /// nil: all of its owner.
    let begin: @Sendable (TokenHash, SessionID?, Int) -> Void

    /// Half of the time for which a mark is valid.
    private static let markTime = TimeAmount.seconds(Int64(MoveMark.lifetime / 2))
    private static let methods = "GET, HEAD, POST, OPTIONS"

    /// Handles every method. GET opens the stream of server-sent events; POST (WHEP's extension) returns its location.
    /// - Parameter authorize: returns the owner of the request's token.
    func respond(
        to call: RouteRequest, _ authorize: () async throws(Refusal) -> TokenHash
    ) async throws(Refusal) -> RouteResponse {
        if call.method == .options {
            return RouteResponse(.ok, [.allow: Self.methods, .accessControlAllowMethods: Self.methods])
        }
        return respond(to: call, try await authorize())
    }

    private func respond(to call: RouteRequest, _ owner: TokenHash) -> RouteResponse {
        switch call.method {
        case .post: return location(for: call)
        case .get: break
        case .head: return RouteResponse(.ok, [.contentType: "text/event-stream"])
        default: return .methodNotAllowed(Self.methods)
        }
        let selection = EventSelection(query: call.query)
        let session = selection.session.flatMap { SessionID($0) }
        guard selection.session == nil || session.map({ sessions(owner).contains($0) }) ?? false else {
            return .unknownSession
        }
        guard streams.hasRoom(for: owner, session: session) else {
            return .limited("too many event streams are open", 5)
        }
        var reply = RouteResponse(.ok, [.contentType: "text/event-stream"])
        reply.body = stream(owner, session, call.connection, selection)
        return reply
    }

    /// The answer to a POST, whose body may name some of the events, as a JSON array.
    private func location(for call: RouteRequest) -> RouteResponse {
        func created(_ chosen: [String]?) -> RouteResponse {
            let session = EventSelection(query: call.query).session.map { String($0) }
            // A relay forwards no query.
            let query = call.isForwarded ? "" : EventSelection.query(session: session, chosen)
            return RouteResponse(.created, [.location: path + query])
        }
        guard let names, call.body.readableBytes > 0 else { return created(nil) }
        guard call.mediaType == "application/json" else {
            return RouteResponse(problem: .mediaType, .unsupportedMediaType, "the names of events are application/json")
        }
        guard let chosen = server.document([String].self, of: call, limit: 1_024) else {
            return RouteResponse(problem: .malformed, .badRequest, "the body is a JSON array of names of events")
        }
        guard chosen.allSatisfy({ names.contains($0) }) else {
            return RouteResponse(
                problem: .malformed, .badRequest, "the events are \(names.joined(separator: ", "))")
        }
        return created(chosen)
    }

    private func stream(
        _ owner: TokenHash, _ session: SessionID?, _ connection: RouteConnection, _ selection: EventSelection
    ) -> ResponseBody {
        let (streams, delegate, begin) = (streams, delegate, begin)
        let sessions: @Sendable () -> [SessionID] = { [sessions] in session.map { [$0] } ?? sessions(owner) }
        let beat = TimeAmount(server.configuration.heartbeat)
        server.count { $0.eventStreams += 1 }
        // Opened before the response's head is sent, or events that are sent before its body begins would be lost.
        let open = OpenStream(streams, owner, session)
        begin(owner, session, open.stream.id)
        return ResponseBody { writer in
            let stream = open.stream
            await delegate.eventStreamChanged(isOpen: true, sessions: sessions())
            connection.closed.whenComplete { result in
                // An outage between a relay and this host says nothing about the viewer.
                let isHungUp = if case .success = result { streams.isLast(stream.id) } else { false }
                stream.finish()
                guard isHungUp else { return }
                Task { await delegate.eventStreamChanged(isOpen: false, sessions: sessions()) }
            }
            let heart = connection.eventLoop.scheduleRepeatedTask(initialDelay: beat, delay: beat) { _ in stream.beat()
            }
            let renewal =
                streams.hasMarks
                ? connection.eventLoop.scheduleRepeatedTask(initialDelay: Self.markTime, delay: Self.markTime) { _ in
                    streams.renewMark(on: stream.id)
                } : nil
            defer {
                heart.cancel()
                renewal?.cancel()
                streams.close(stream.id)
            }
            for await text in stream.events where selection.contains(text) {
                try await writer.write(ByteBuffer(string: text))
            }
        }
    }
}
