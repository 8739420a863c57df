import HTTP
import NIOCore
import NIOHTTP1

/// Answers the requests of one connection to a ``LocalPageServer``, one after the other.
// SAFETY: used on the channel's event loop alone.
final class LocalPageHandler: ChannelInboundHandler, RemovableChannelHandler, @unchecked Sendable {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let connections: LocalPageConnections
    private var head: HTTPRequestHead?
    private var decision = LocalPageRules.Decision.refuse(.notFound)
    private var body = ByteBuffer()
    /// Of the request that is being answered, if that is nothing when nobody waits for it: a poll, or a stream of
    /// events.
    private var task: Task<Void, Never>?
    private var strangerLimit: Scheduled<Void>?
    /// The page's presence, which ends with the connection.
    private var presence: LocalPagePresence?
    private var isOver = false

    init(_ connections: LocalPageConnections) { self.connections = connections }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        strangerLimit = context.eventLoop.scheduleTask(in: LocalPageServer.strangerLimit) {
            channel.close(promise: nil)
        }
    }

    /// The connection is a WebSocket from now on.
    func handlerRemoved(context: ChannelHandlerContext) { strangerLimit?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        isOver = true
        strangerLimit?.cancel()
        task?.cancel()
        presence?.leave(on: context.eventLoop)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body.clear()
            decision = connections.server?.decide(head) ?? .refuse(.notFound)
            if case .refuse(let status) = decision { refuse(status, context) }
        case .body(var bytes):
            guard body.readableBytes + bytes.readableBytes <= LocalPageRules.bodyLimit else {
                return refuse(.payloadTooLarge, context)
            }
            body.writeBuffer(&bytes)
        case .end:
            guard let head, let server = connections.server else { return context.close(promise: nil) }
            self.head = nil
            strangerLimit?.cancel()
            answer(head, server, context)
        }
    }

    /// Closes the connection after the answer, as the rest of the request is not read.
    private func refuse(_ status: HTTPResponseStatus, _ context: ChannelHandlerContext) {
        isOver = true
        send(.refusal(status), context, isLast: true)
    }

    private func answer(_ head: HTTPRequestHead, _ server: LocalPageServer, _ context: ChannelHandlerContext) {
        let isLast = !head.isKeepAlive
        switch decision {
        case .page(let place): send(server.page(of: place), context, isLast: isLast)
        case .asset(let asset, let place): send(server.asset(asset, of: place), context, isLast: isLast)
        case .presence:
            guard presence == nil else { return context.close(promise: nil) }
            presence = server.presence
            server.presence.enter()
            begin(LocalPageAnswer(.ok, ["Content-Type": "text/event-stream"]), context)
            // Browsers tell the page of a response when some of it has come.
            _ = write(ByteBuffer(string: ":\n\n"), context)
        case .addPlace(let place):
            let body = body
            perform(head, context) { connection in
                let answer = await server.addPlace(body, from: place)
                connection.execute { $0.send(answer, $1, isLast: isLast) }
            }
        case .forward(let place, let path):
            forward(head, place, path, server, context)
        case .refuse(let status): refuse(status, context)
        }
    }

    private func forward(
        _ head: HTTPRequestHead, _ place: Int, _ path: String, _ server: LocalPageServer,
        _ context: ChannelHandlerContext
    ) {
        let (body, isLast) = (body, !head.isKeepAlive)
        perform(head, context) { connection in
            do {
                let reply = try await LocalPageForwarder(places: server.places)
                    .forward(head, body: body, place: place, path: path, base: server.rules.base(of: place))
                switch reply {
                case .whole(let answer): connection.execute { $0.send(answer, $1, isLast: isLast) }
                case .stream(let answer, let pieces):
                    connection.execute { $0.begin(answer, $1) }
                    // The next piece is read when this one was written.
                    for try await piece in pieces { try await connection.submit { $0.write(piece, $1) } }
                    connection.execute { $0.end($1, isLast: isLast) }
                }
            } catch {
                if let error = error as? SignalingError, !Task.isCancelled { server.noteFailure(error) }
                // The page takes the end of the connection for what it is: its host is not reached.
                connection.execute { $1.close(promise: nil) }
            }
        }
    }

    /// A handler and its context, for tasks.
    private struct Connection: Sendable {
        let loop: any EventLoop
        let bound: NIOLoopBound<(LocalPageHandler, ChannelHandlerContext)>

        /// Does nothing if the connection has ended.
        func execute(_ body: @escaping @Sendable (LocalPageHandler, ChannelHandlerContext) -> Void) {
            loop.execute {
                let (handler, context) = bound.value
                if !handler.isOver { body(handler, context) }
            }
        }

        func submit(
            _ body: @escaping @Sendable (LocalPageHandler, ChannelHandlerContext) -> EventLoopFuture<Void>
        ) async throws {
            try await loop.flatSubmit { () -> EventLoopFuture<Void> in
                let (handler, context) = bound.value
                guard !handler.isOver else { return loop.makeFailedFuture(ChannelError.ioOnClosedChannel) }
                return body(handler, context)
            }.get()
        }
    }

    private func perform(
        _ head: HTTPRequestHead, _ context: ChannelHandlerContext,
        _ body: @escaping @Sendable (Connection) async -> Void
    ) {
        let connection = Connection(
            loop: context.eventLoop, bound: NIOLoopBound((self, context), eventLoop: context.eventLoop))
        let task = Task { await body(connection) }
        self.task = head.method == .GET ? task : nil
    }

    // MARK: Writing

    private func send(_ answer: LocalPageAnswer, _ context: ChannelHandlerContext, isLast: Bool) {
        var answer = answer
        answer.headers.replaceOrAdd(name: "Content-Length", value: String(answer.body.readableBytes))
        if isLast { answer.headers.replaceOrAdd(name: "Connection", value: "close") }
        begin(answer, context)
        if answer.body.readableBytes > 0 { _ = write(answer.body, context) }
        end(context, isLast: isLast)
    }

    private func begin(_ answer: LocalPageAnswer, _ context: ChannelHandlerContext) {
        let head = HTTPResponseHead(version: .http1_1, status: answer.status, headers: answer.headers)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
    }

    private func write(_ piece: ByteBuffer, _ context: ChannelHandlerContext) -> EventLoopFuture<Void> {
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(piece))))
    }

    private func end(_ context: ChannelHandlerContext, isLast: Bool) {
        let written = context.eventLoop.makePromise(of: Void.self)
        let channel = context.channel
        if isLast { written.futureResult.whenComplete { _ in channel.close(promise: nil) } }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
    }
}
