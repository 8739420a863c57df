import FoundationEssentials
package import NIOCore
package import NIOHTTP1

extension HTTPHeaders {
    /// The seconds of Retry-After, 1 to 600; nil: there are none.
    package var retryAfter: Int? {
        first(name: "Retry-After").flatMap { Int($0) }.map { Swift.min(Swift.max($0, 1), 600) }
    }
}

/// A complete HTTP response.
package struct HTTPAnswer: Sendable {
    package var status: Int
    package var headers: HTTPHeaders
    package var body: ByteBuffer

    package var text: String { String(buffer: body) }

    /// The seconds of Retry-After in a response that says that the server is busy; nil: there are none.
    package var retryAfter: Int? { status == 429 || status == 503 ? headers.retryAfter : nil }

    /// Decodes the body as JSON; nil if it is no such document, or longer than `limit` bytes.
    package func document<Document: Decodable>(_ type: Document.Type, limit: Int = 262_144) -> Document? {
        guard body.readableBytes <= limit else { return nil }
        return try? JSONDecoder().decode(type, from: Data(body.readableBytesView))
    }

    /// The problem document of a refusal (RFC 9457); nil if the body is none.
    package var problem: Problem.Document? {
        headers.first(name: "Content-Type") == "application/problem+json" ? document(Problem.Document.self) : nil
    }
}

/// The body of a response has more than 262,144 bytes.
package struct HTTPResponseTooLong: Error {}

/// The channel handler of an HTTP/1.1 client connection: writes one request at a time and collects its response.
///
/// Event-loop confined.
final class HTTPExchange: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundIn = Request
    typealias OutboundOut = HTTPClientRequestPart

    enum Kind: Sendable {
        case whole(EventLoopPromise<HTTPAnswer>)
        /// A body without end. `head` succeeds when the status has arrived; `piece` gets each part of the body.
        case stream(
            head: EventLoopPromise<HTTPResponseHead>, piece: @Sendable (ByteBuffer) -> Void,
            end: @Sendable ((any Error)?) -> Void)

        /// Fails the request. Only the first outcome has an effect.
        func fail(_ error: any Error) {
            switch self {
            case .whole(let promise): promise.fail(error)
            case .stream(let promise, _, let end):
                promise.fail(error)
                end(error)
            }
        }
    }

    struct Request: Sendable {
        var head: HTTPRequestHead
        var body: ByteBuffer?
        var kind: Kind
    }

    /// Sends a request on a channel that has this handler. The request fails if the channel is closed already.
    static func send(_ request: Request, on channel: any Channel) {
        let written = channel.eventLoop.makePromise(of: Void.self)
        written.futureResult.whenFailure { _ in request.kind.fail(Unanswered(reason: Closed())) }
        channel.writeAndFlush(request, promise: written)
    }

    /// Sends a request on a channel that has this handler, and waits for the whole response.
    /// - Parameter end: then it fails with `ChannelError.connectTimeout`, and the channel is closed.
    static func answer(
        to head: HTTPRequestHead, _ body: ByteBuffer?, on channel: any Channel, until end: NIODeadline
    ) async throws -> HTTPAnswer {
        let promise = channel.eventLoop.makePromise(of: HTTPAnswer.self)
        let limit = end - .now()
        let deadline = channel.eventLoop.scheduleTask(deadline: end) {
            promise.fail(ChannelError.connectTimeout(limit))
            channel.close(promise: nil)
        }
        // Cancelled on the event loop, which may be shut down by the time this function continues.
        promise.futureResult.whenComplete { _ in deadline.cancel() }
        send(Request(head: head, body: body, kind: .whole(promise)), on: channel)
        return try await withTaskCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    struct Closed: Error {}
    /// The connection ended before anything of the response had arrived. On a connection that was idle, the server has
    /// most likely closed it meanwhile (RFC 9112 section 9.3.1).
    struct Unanswered: Error {
        let reason: any Error
    }

    private let limit = 262_144
    private var current: Kind?
    private var head: HTTPResponseHead?
    private var body = ByteBuffer()
    private var failure: (any Error)?

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let request = unwrapOutboundIn(data)
        guard current == nil, failure == nil, context.channel.isActive else {
            request.kind.fail(Unanswered(reason: failure ?? Closed()))
            promise?.fail(Closed())
            return
        }
        current = request.kind
        head = nil
        context.write(wrapOutboundOut(.head(request.head)), promise: nil)
        if let body = request.body { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        context.write(wrapOutboundOut(.end(nil)), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let kind = current else {
            context.close(promise: nil)
            return
        }
        switch (unwrapInboundIn(data), kind) {
        case (.head(let head), .whole):
            self.head = head
            body.clear()
        case (.head(let head), .stream(let promise, _, _)):
            self.head = head
            promise.succeed(head)
        case (.body(var part), .whole):
            guard body.readableBytes + part.readableBytes <= limit else {
                errorCaught(context: context, error: HTTPResponseTooLong())
                return
            }
            body.writeBuffer(&part)
        case (.body(let part), .stream(_, let piece, _)): piece(part)
        case (.end, .whole(let promise)):
            current = nil
            guard let head else { return }
            promise.succeed(HTTPAnswer(status: Int(head.status.code), headers: head.headers, body: body))
            if !head.isKeepAlive { context.close(promise: nil) }
        case (.end, .stream(_, _, let end)):
            current = nil
            end(nil)
            context.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finish(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(Closed())
        context.fireChannelInactive()
    }

    private func finish(_ error: any Error) {
        let reason = failure ?? error
        failure = reason
        guard let kind = current else { return }
        current = nil
        kind.fail(head == nil ? Unanswered(reason: reason) : reason)
    }
}
