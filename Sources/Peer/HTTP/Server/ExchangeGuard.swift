import NIOCore
import NIOHTTP1

/// The handler above the HTTP decoder: closes the connection after a response with `Connection: close`, or after the
/// response to a request with it, or to one with an `Upgrade`, behind which the decoder reads nothing more. It also
/// closes one on which too many requests wait.
///
/// Event-loop confined.
final class ExchangeGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let connection: ConnectionGuard
    private let decoder: RequestDecoder
    /// Whether each request that is not answered yet allows the connection to stay open.
    private var isKept: [Bool] = []
    private var isLast = false
    private var requests = 0
    /// The last request names another protocol to go on with.
    private var isUpgrade = false
    private var hasEnded = false
    /// What came behind a request was none.
    private var hasFailed = false
    /// More requests wait than may. The connection is being closed.
    private var isOverrun = false

    /// Requests on one connection, after which it is closed: some leave a callback for its end.
    private static let requestLimit = 10_000
    /// Requests that wait for a response. A request of 20 bytes takes 500 while it waits.
    private static let waitingLimit = 64

    init(_ connection: ConnectionGuard, _ decoder: RequestDecoder) {
        (self.connection, self.decoder) = (connection, decoder)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOverrun else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            connection.requestArrived()
            requests += 1
            (isUpgrade, hasEnded) = (head.stopsDecoder, false)
            isKept.append(head.isKeepAlive && !isUpgrade && requests < Self.requestLimit)
            isOverrun = isKept.count > Self.waitingLimit
            guard !isOverrun else { return context.close(promise: nil) }
        case .body: break
        case .end:
            hasEnded = true
            if isUpgrade { connection.decoderStopped() }
        }
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        hasFailed = true
        context.fireErrorCaught(error)
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

    /// Whether the connection may go on with another protocol: it has had one request, which asks for that, and which
    /// has no response yet.
    var isUpgradable: Bool { requests == 1 && isUpgrade && hasEnded && !hasFailed && isKept.count == 1 }

    /// Writes the head of the response 101, with which HTTP ends on this connection.
    func switchProtocols(_ context: ChannelHandlerContext, _ head: HTTPResponseHead) {
        isKept = []
        decoder.stop()
        connection.decoderReplaced()
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
    }
}

extension HTTPRequestHead {
    /// Whether NIO's decoder may keep what follows this request, for a decoder of another protocol.
    fileprivate var stopsDecoder: Bool {
        method == .CONNECT
            || headers.contains(name: "Upgrade")
                && headers[canonicalForm: "Connection"].contains { $0.lowercased() == "upgrade" }
    }
}
