import MediaCore
import NIOCore
import NIOWebSocket

/// The last handler of a WebSocket's pipeline: reads and writes the frames of a ``MessageSocket``.
///
/// Event-loop confined. Handlers above it, which HTTP has left, get nothing but the end of the connection, and what
/// they write is dropped.
final class MessageSocketHandler: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = Any
    typealias OutboundOut = WebSocketFrame

    private let socket: MessageSocket
    private var context: ChannelHandlerContext?
    private var frames: TokenBucket
    /// The message whose last frame has not come yet.
    private var fragments: (opcode: WebSocketOpcode, bytes: ByteBuffer)?
    private var lastFrame = NIODeadline.now()
    private var timer: RepeatedTask?
    private var hangUp: Scheduled<Void>?
    /// A close frame was sent. Nothing is read any more but the peer's.
    private var isClosing = false

    init(_ socket: MessageSocket) {
        self.socket = socket
        let rate = socket.limits.frameRate
        frames = TokenBucket(burst: rate.burst, rate: rate.perSecond, now: .now)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let loop = context.eventLoop
        let bound = NIOLoopBound(self, eventLoop: loop)
        let interval = TimeAmount(min(socket.limits.ping, socket.limits.silence))
        timer = loop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in bound.value.beat() }
        socket.opened(
            .init(
                write: { text in loop.execute { bound.value.write(text) } },
                close: { code in loop.execute { bound.value.close(code) } }))
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    private func end() {
        timer?.cancel()
        hangUp?.cancel()
        (timer, hangUp, context, fragments) = (nil, nil, nil, nil)
        socket.ended(nil)
    }

    // MARK: Reading

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        lastFrame = .now()
        guard frame.rsv1 == false, frame.rsv2 == false, frame.rsv3 == false,
            (frame.maskKey != nil) == (socket.role == .server)
        else { return fail(.protocolError) }
        if frame.opcode == .connectionClose { return closed(by: frame.unmaskedData) }
        guard !isClosing else { return }
        if socket.role == .server {
            frames.refill(.now)
            guard frames.has() else { return fail(.policy) }
            frames.take()
        }
        switch frame.opcode {
        case .ping: write(.pong, frame.unmaskedData)
        case .pong: break
        case .text, .binary:
            guard fragments == nil else { return fail(.protocolError) }
            take(frame.opcode, frame.unmaskedData, isWhole: frame.fin)
        case .continuation:
            guard var message = fragments else { return fail(.protocolError) }
            fragments = nil
            message.bytes.writeImmutableBuffer(frame.unmaskedData)
            take(message.opcode, message.bytes, isWhole: frame.fin)
        default: fail(.protocolError)
        }
    }

    private func take(_ opcode: WebSocketOpcode, _ bytes: ByteBuffer, isWhole: Bool) {
        guard bytes.readableBytes <= socket.limits.messageSize else { return fail(.tooLarge) }
        guard isWhole else {
            fragments = (opcode, bytes)
            return
        }
        if opcode == .binary { return deliver(.binary(Array(bytes.readableBytesView))) }
        guard let text = String(validating: bytes.readableBytesView, as: UTF8.self) else { return fail(.invalidText) }
        deliver(.text(text))
    }

    private func deliver(_ message: MessageSocket.Message) {
        if !socket.received(message) { fail(.tooSlow) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case NIOWebSocketError.invalidFrameLength: fail(.tooLarge)
        case is NIOWebSocketError: fail(.protocolError)
        // More bytes behind a frame that could not be read.
        case is ByteToMessageDecoderError: break
        default: context.close(promise: nil)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            close(.goingAway)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    // MARK: Writing

    /// The handlers above answer an error in what came behind the request, for example.
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.ioOnClosedChannel)
    }

    func write(_ text: String) {
        guard let context, !isClosing else { return socket.written() }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.whenComplete { [socket] _ in socket.written() }
        write(.text, context.channel.allocator.buffer(string: text), written)
    }

    private func write(_ opcode: WebSocketOpcode, _ data: ByteBuffer, _ promise: EventLoopPromise<Void>? = nil) {
        guard let context else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        let mask = socket.role == .client ? WebSocketMaskingKey.random() : nil
        context.writeAndFlush(
            wrapOutboundOut(WebSocketFrame(fin: true, opcode: opcode, maskKey: mask, data: data)), promise: promise)
    }

    private func beat() {
        guard !isClosing else { return }
        if NIODeadline.now() - lastFrame >= TimeAmount(socket.limits.silence) {
            // Nobody reads a close frame.
            context?.close(promise: nil)
        } else if socket.role == .server {
            write(.ping, ByteBuffer())
        }
    }

    /// Sends a close frame, and ends the connection when the peer has answered it, or after a while.
    func close(_ code: MessageSocket.CloseCode) {
        guard let context, !isClosing else { return }
        sendClose(code)
        socket.ended(code)
        hangUp = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(socket.limits.closing)) {
            context.close(promise: nil)
        }
    }

    private func sendClose(_ code: MessageSocket.CloseCode?) {
        isClosing = true
        fragments = nil
        write(.connectionClose, code.map { ByteBuffer(integer: $0.rawValue) } ?? ByteBuffer())
    }

    /// The peer has broken a rule: nothing more of it is read.
    private func fail(_ code: MessageSocket.CloseCode) {
        guard !isClosing else { return }
        sendClose(code)
        socket.ended(code)
        context?.close(promise: nil)
    }

    private func closed(by data: ByteBuffer) {
        let number = data.getInteger(at: data.readerIndex, as: UInt16.self)
        let code = number.map { MessageSocket.CloseCode(rawValue: $0) }
        if !isClosing { sendClose(code) }
        socket.ended(code ?? .normal)
        context?.close(promise: nil)
    }
}
