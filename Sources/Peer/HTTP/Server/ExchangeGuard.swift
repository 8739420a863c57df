import NIOCore
import NIOHTTP1

/// The handler above the HTTP decoder: closes the connection after a response with `Connection: close`, or after the
/// response to a request with it.
///
/// Event-loop confined.
final class ExchangeGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let connection: ConnectionGuard
    /// Whether each request that is not answered yet allows the connection to stay open.
    private var isKept: [Bool] = []
    private var isLast = false
    private var requests = 0

    /// Requests on one connection, after which it is closed: some leave a callback for its end.
    private static let requestLimit = 10_000

    init(_ connection: ConnectionGuard) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data) {
            connection.requestArrived()
            requests += 1
            isKept.append(head.isKeepAlive && requests < Self.requestLimit)
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head) where !(100..<200).contains(head.status.code):
            let isRequestKept = isKept.isEmpty ? false : isKept.removeFirst()
            isLast = !isRequestKept || !head.isKeepAlive
            if isLast { head.headers.replaceOrAdd(name: "Connection", value: "close") }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end where isLast:
            let written = promise ?? context.eventLoop.makePromise()
            // TLS then sends close_notify and waits some seconds for the peer's.
            written.futureResult.assumeIsolated().whenSuccess { context.close(promise: nil) }
            context.write(data, promise: written)
        default: context.write(data, promise: promise)
        }
    }
}
