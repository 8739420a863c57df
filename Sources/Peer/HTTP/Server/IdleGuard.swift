import NIOCore
import NIOHTTP1

/// The handler above ``ExchangeGuard``: closes a connection that waits for a request, or for the rest of one, for too
/// long. After `ChannelShouldQuiesceEvent` it closes the connection as soon as no request waits for a response.
///
/// Event-loop confined.
final class IdleGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let timeout: TimeAmount
    private var lastActive = NIODeadline.now()
    private var check: Scheduled<Void>?
    /// Requests whose response has not been written to its end.
    private var unanswered = 0
    /// A request has begun, and not ended.
    private var isReading = false
    private var isFinishing = false

    init(_ timeout: TimeAmount) { self.timeout = timeout }

    func handlerAdded(context: ChannelHandlerContext) { watch(context) }

    func handlerRemoved(context: ChannelHandlerContext) { check?.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lastActive = .now()
        switch unwrapInboundIn(data) {
        case .head:
            unanswered += 1
            isReading = true
        case .body: break
        case .end: isReading = false
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .end = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        let written = promise ?? context.eventLoop.makePromise()
        written.futureResult.assumeIsolated().whenComplete { [self] _ in responseEnded(context) }
        context.write(data, promise: written)
    }

    private func responseEnded(_ context: ChannelHandlerContext) {
        lastActive = .now()
        // What is no request is answered, too.
        unanswered = max(unanswered - 1, 0)
        if isFinishing, unanswered == 0 { context.close(promise: nil) } else { watch(context) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is ChannelShouldQuiesceEvent else { return context.fireUserInboundEventTriggered(event) }
        isFinishing = true
        if unanswered == 0 { context.close(promise: nil) }
    }

    /// A response has no limit: what is below this closes connections that do not read.
    private var isAnswering: Bool { unanswered > 0 && !isReading }

    private func watch(_ context: ChannelHandlerContext) {
        guard check == nil else { return }
        check = context.eventLoop.assumeIsolated().scheduleTask(deadline: lastActive + timeout) { [self] in
            check = nil
            guard !isAnswering else { return }
            if NIODeadline.now() >= lastActive + timeout { context.close(promise: nil) } else { watch(context) }
        }
    }
}
