import NIOCore
import NIOHTTP1

/// Above the HTTP decoder: closes the connection after an answer that says `Connection: close`, or whose request did.
///
/// Event-loop confined.
final class ExchangeGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let connection: ConnectionGuard
    /// Of each request that is not answered yet.
    private var isKept: [Bool] = []
    private var isLast = false

    init(_ connection: ConnectionGuard) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data) {
            connection.requestArrived()
            isKept.append(head.isKeepAlive)
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
            // TLS says goodbye then, and waits some seconds for the peer's.
            written.futureResult.assumeIsolated().whenSuccess { context.close(promise: nil) }
            context.write(data, promise: written)
        default: context.write(data, promise: promise)
        }
    }
}
