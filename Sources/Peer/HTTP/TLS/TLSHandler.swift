package import NIOCore
import NIOTLS
package import TLSTransport

/// TLS of a channel (``TLSSession``). What is written before the handshake is complete is held until then. Event-loop
/// confined.
///
/// The end of a connection is told by close_notify, to which the peer has some time to answer: closing TCP while it
/// still sends could take away what it has not read. A peer that sends close_notify first closes both directions, as with
/// TLS before 1.3: a connection of HTTP is closed when its client leaves.
package final class TLSHandler: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    private enum State { case idle, handshaking, open, outputClosed, closing, closed }
    private typealias Write = (bytes: ByteBuffer, promise: EventLoopPromise<Void>?)

    /// The most ciphertext of one write, so that the handlers below see a large one proceed.
    private static let longestPiece = 16_384

    private let session: TLSSession
    private let closeTimeout: TimeAmount
    private var state = State.idle
    /// What is not encrypted yet; it is up to the mark.
    private var waiting = MarkedCircularBuffer<Write>(initialCapacity: 2)
    /// The output is closed when the handshake is complete and all of it is sent.
    private var outputClose: EventLoopPromise<Void>?
    private var closePromise: EventLoopPromise<Void>?
    private var closeDeadline: Scheduled<Void>?
    /// Pieces are being written. Handlers above may learn of that at once, and write more.
    private var isWriting = false
    /// Of what is encrypted and not written yet. What is empty has one, too, and no ciphertext.
    private var encrypted: [EventLoopPromise<Void>] = []
    /// Plaintext was passed on since the last `channelReadComplete`.
    private var hasDelivered = false

    private init(_ session: TLSSession, _ closeTimeout: TimeAmount) {
        (self.session, self.closeTimeout) = (session, closeTimeout)
    }

    package convenience init(server context: TLSContext) throws(TLSFailure) {
        self.init(try TLSSession(server: context), .seconds(5))
    }

    /// - Parameters:
    ///   - host: a name or a numeric address.
    ///   - closeTimeout: the time that the server has to answer close_notify.
    ///   - accepts: see ``TLSSession``.
    package convenience init(
        client context: TLSContext, host: String, closeTimeout: TimeAmount = .seconds(5),
        accepts: ((_ certificate: [UInt8]) -> Bool)? = nil
    ) throws(TLSFailure) {
        self.init(try TLSSession(client: context, host: host, accepts: accepts), closeTimeout)
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { begin(context) }
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        closeDeadline?.cancel()
        discard(ChannelError.ioOnClosedChannel)
        closePromise?.succeed()
        closePromise = nil
    }

    package func channelActive(context: ChannelHandlerContext) {
        // First, as the handshake may fail and close the channel.
        context.fireChannelActive()
        begin(context)
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard state == .idle else { return }
        state = .handshaking
        // OpenSSL takes 50 KB for a handshake: who sends nothing gets none.
        if session.isClient { receive(ByteBuffer(), context) }
    }

    // MARK: What arrives

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard state != .idle, state != .closed else { return }
        receive(unwrapInboundIn(data), context)
    }

    private func receive(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        let wasEstablished = session.isEstablished
        var plaintext = ByteBuffer()
        let progress = bytes.withUnsafeReadableBytes { bytes in
            session.receive(bytes) { plaintext.writeBytes($0) }
        }
        if !wasEstablished, session.isEstablished, state == .handshaking {
            state = .open
            context.fireUserInboundEventTriggered(TLSUserEvent.handshakeCompleted(negotiatedProtocol: nil))
        }
        if plaintext.readableBytes > 0, [.open, .outputClosed].contains(state) {
            hasDelivered = true
            context.fireChannelRead(wrapInboundOut(plaintext))
        }
        // Written only now: a write that fails ends the connection before what has arrived is passed on.
        switch progress {
        case .open:
            encrypt(context)
            writeOutgoing(context)
        case .closed: peerClosed(context)
        case .failed(let failure): fail(failure, context)
        }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        if hasDelivered {
            hasDelivered = false
            context.fireChannelReadComplete()
        } else if (try? context.channel.syncOptions?.getOption(.autoRead)) == false {
            // Whoever has asked for plaintext still waits for it.
            context.read()
        }
    }

    private func peerClosed(_ context: ChannelHandlerContext) {
        if hasDelivered {
            hasDelivered = false
            context.fireChannelReadComplete()
        }
        guard state != .closed else { return }
        if state == .open { session.close() }
        writeOutgoing(context)
        finish(context)
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent, ![.idle, .closing, .closed].contains(state) {
            fail(.truncated, context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        let failure = [.idle, .closing, .closed].contains(state) ? nil : TLSFailure.truncated
        state = .closed
        closeDeadline?.cancel()
        if let failure { context.fireErrorCaught(failure) }
        discard(failure ?? ChannelError.ioOnClosedChannel)
        closePromise?.succeed()
        closePromise = nil
        context.fireChannelInactive()
    }

    // MARK: What is sent

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch state {
        case .idle, .handshaking, .open: waiting.append((unwrapOutboundIn(data), promise))
        case .outputClosed, .closing: promise?.fail(ChannelError.outputClosed)
        case .closed: promise?.fail(ChannelError.ioOnClosedChannel)
        }
    }

    package func flush(context: ChannelHandlerContext) {
        waiting.mark()
        encrypt(context)
    }

    /// Encrypts and sends what is to be flushed, once that is possible.
    private func encrypt(_ context: ChannelHandlerContext) {
        guard state == .open else { return }
        while waiting.hasMark, let next = waiting.popFirst() {
            do throws(TLSFailure) {
                try next.bytes.withUnsafeReadableBytes { bytes throws(TLSFailure) in try session.send(bytes) }
            } catch {
                next.promise?.fail(error)
                return fail(error, context)
            }
            if let promise = next.promise { encrypted.append(promise) }
        }
        writeOutgoing(context)
        guard let promise = outputClose, state == .open, !isWriting else { return }
        outputClose = nil
        session.close()
        state = .outputClosed
        writeOutgoing(context)
        context.close(mode: .output, promise: promise)
    }

    private static func joined(
        _ promises: [EventLoopPromise<Void>], _ context: ChannelHandlerContext
    ) -> EventLoopPromise<Void>? {
        guard promises.count > 1 else { return promises.first }
        let all = context.eventLoop.makePromise(of: Void.self)
        all.futureResult.whenComplete { result in promises.forEach { $0.completeWith(result) } }
        return all
    }

    private func writeOutgoing(_ context: ChannelHandlerContext) {
        guard !isWriting, session.hasOutgoing || !encrypted.isEmpty else { return }
        isWriting = true
        repeat {
            let promise = Self.joined(encrypted, context)
            encrypted = []
            var bytes = context.channel.allocator.buffer(bytes: session.takeOutgoing())
            while bytes.readableBytes > Self.longestPiece, let piece = bytes.readSlice(length: Self.longestPiece) {
                context.write(wrapOutboundOut(piece), promise: nil)
            }
            context.writeAndFlush(wrapOutboundOut(bytes), promise: promise)
        } while session.hasOutgoing || !encrypted.isEmpty
        isWriting = false
        if outputClose != nil { encrypt(context) }
    }

    // MARK: The end

    package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        switch (mode, state) {
        case (.input, _): promise?.fail(ChannelError.operationUnsupported)
        case (.output, .handshaking), (.output, .open):
            waiting.mark()
            if let promise, let outputClose {
                outputClose.futureResult.cascade(to: promise)
            } else if outputClose == nil {
                outputClose = promise ?? context.eventLoop.makePromise()
            }
            encrypt(context)
        case (.output, _): context.close(mode: .output, promise: promise)
        case (.all, .open), (.all, .outputClosed): closeAll(context, promise)
        case (.all, .closing): add(promise)
        case (.all, _):
            add(promise)
            finish(context)
        }
    }

    private func closeAll(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        if state == .open { session.close() }
        state = .closing
        add(promise)
        closeDeadline = context.eventLoop.assumeIsolated().scheduleTask(in: closeTimeout) { self.finish(context) }
        writeOutgoing(context)
    }

    private func add(_ promise: EventLoopPromise<Void>?) {
        guard let promise else { return }
        if let closePromise {
            closePromise.futureResult.cascade(to: promise)
        } else {
            closePromise = promise
        }
    }

    private func fail(_ failure: TLSFailure, _ context: ChannelHandlerContext) {
        guard state != .closed else { return }
        // A write that fails ends the connection at once, for another reason.
        state = .closed
        writeOutgoing(context)
        context.fireErrorCaught(failure)
        discard(failure)
        finish(context)
    }

    /// Closes the channel.
    private func finish(_ context: ChannelHandlerContext) {
        state = .closed
        closeDeadline?.cancel()
        discard(ChannelError.ioOnClosedChannel)
        let promise = closePromise
        closePromise = nil
        context.close(promise: promise)
    }

    private func discard(_ reason: any Error) {
        while let next = waiting.popFirst() { next.promise?.fail(reason) }
        outputClose?.fail(reason)
        outputClose = nil
    }
}

@available(*, unavailable) extension TLSHandler: Sendable {}
