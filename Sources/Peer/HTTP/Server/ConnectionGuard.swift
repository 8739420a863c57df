package import NIOCore

/// The first handler of a connection's pipeline, below TLS. Closes connections whose peer does not speak TLS, does not
/// finish the handshake, or does not read.
///
/// A connection with TLS that its peer half-closes is closed, so that long polls and event streams end. Event-loop
/// confined.
package final class ConnectionGuard: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    package struct Timeouts: Sendable {
        /// The time from the start of the connection to the head of its first request.
        var handshake: TimeAmount
        /// The time without progress while records wait to be written.
        var stall: TimeAmount
        /// The time until all waiting records are written.
        var write: TimeAmount

        package init(handshake: TimeAmount, stall: TimeAmount, write: TimeAmount) {
            (self.handshake, self.stall, self.write) = (handshake, stall, write)
        }
    }

    private let connections: ConnectionRegistry
    private let timeouts: Timeouts
    private let isTLS: Bool
    private var handshake: Scheduled<Void>?
    private var isFirstRead = true
    private var isRefused = false
    /// Writes (TLS records of up to 16 KiB) that the kernel has not accepted yet.
    private var unwritten = 0
    private var unwrittenSince = NIODeadline.distantPast
    private var lastProgress = NIODeadline.distantPast
    private var writeCheck: Scheduled<Void>?
    /// Bytes that have come since no decoder reads them; nil: one does.
    private var unread: Int?
    /// Their limit. A client sends nothing before it knows whether the other protocol is spoken.
    private static let unreadLimit = 16_384

    /// - Parameter isTLS: plain HTTP is refused.
    init(_ connections: ConnectionRegistry, _ timeouts: Timeouts, isTLS: Bool) {
        (self.connections, self.timeouts, self.isTLS) = (connections, timeouts, isTLS)
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        let loop = context.eventLoop
        let bound = NIOLoopBound(context, eventLoop: loop)
        // Closing from this handler's context bypasses TLS above it, which would wait for the peer's close_notify.
        connections.set(context.channel) { loop.execute { bound.value.close(promise: nil) } }
        handshake = loop.assumeIsolated().scheduleTask(in: timeouts.handshake) { [connections] in
            connections.note(.handshakeTimedOut)
            context.close(promise: nil)
        }
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        handshake?.cancel()
        writeCheck?.cancel()
    }

    /// Called when the head of the first request has arrived.
    func requestArrived() {
        handshake?.cancel()
        handshake = nil
    }

    /// Called when the HTTP decoder keeps what follows, for another protocol.
    func decoderStopped() { unread = 0 }

    /// Called when the other protocol's decoder gets it.
    func decoderReplaced() { unread = nil }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        if let count = unread {
            unread = count + unwrapInboundIn(data).readableBytes
            guard count <= Self.unreadLimit else {
                context.close(promise: nil)
                return
            }
        }
        if isTLS, isFirstRead {
            isFirstRead = false
            let buffer = unwrapInboundIn(data)
            let first = buffer.getInteger(at: buffer.readerIndex, as: UInt8.self) ?? 0
            // A TLS handshake record begins with byte 22, an HTTP method with a letter.
            if (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) {
                isRefused = true
                return answerPlainHTTP(context)
            }
        }
        context.fireChannelRead(data)
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if isTLS, case .inputClosed? = event as? ChannelEvent {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let written = promise ?? context.eventLoop.makePromise()
        unwritten += 1
        let now = NIODeadline.now()
        if unwritten == 1 {
            unwrittenSince = now
            lastProgress = now
            if writeCheck == nil { check(context, at: now + min(timeouts.stall, timeouts.write)) }
        }
        written.futureResult.assumeIsolated().whenComplete { [self] _ in
            unwritten -= 1
            lastProgress = .now()
        }
        context.write(data, promise: written)
    }

    private func check(_ context: ChannelHandlerContext, at deadline: NIODeadline) {
        writeCheck = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
            writeCheck = nil
            guard unwritten > 0 else { return }
            let limit = min(lastProgress + timeouts.stall, unwrittenSince + timeouts.write)
            guard NIODeadline.now() >= limit else { return check(context, at: limit) }
            connections.note(.writeTimedOut)
            context.close(promise: nil)
        }
    }

    /// Answers a plain HTTP request with advice. There is no redirection, because it would reveal the broadcast's ID.
    private func answerPlainHTTP(_ context: ChannelHandlerContext) {
        connections.note(.plainHTTP)
        let text = "This port speaks HTTPS only. Open the whole link that you were given; it begins with https://\n"
        let head =
            "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: \(text.utf8.count)\r\n"
            + "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
        let loop = context.eventLoop.assumeIsolated()
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: head + text)), promise: nil)
        // The peer closes when it has read this. What it sends until then is ignored.
        handshake?.cancel()
        handshake = loop.scheduleTask(in: .seconds(1)) { context.close(promise: nil) }
        context.close(mode: .output, promise: nil)
    }
}
