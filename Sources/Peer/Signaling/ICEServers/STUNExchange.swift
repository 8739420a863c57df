import NIOCore

/// Sends STUN requests on one channel and matches their responses.
final class STUNExchange: ChannelInboundHandler, @unchecked Sendable {
    // SAFETY: touched on the channel's event loop only.
    typealias InboundIn = ByteBuffer
    struct MalformedResponse: Error {}
    struct Closed: Error {}

    private let isStream: Bool
    private var waiting: (transaction: [UInt8], answer: EventLoopPromise<STUNMessage>)?
    private var received = ByteBuffer()
    private var failure: (any Error)?

    init(isStream: Bool) { self.isStream = isStream }

    /// Sends a request. Over UDP it is retransmitted 0.5 s and 1.5 s after the first transmission (RFC 8489 section
    /// 6.2.1).
    func ask(_ message: STUNMessage, _ channel: any Channel, key: [UInt8]? = nil) async throws -> STUNMessage {
        let bytes = message.encoded(key: key)
        let transaction = message.transaction
        let answer = channel.eventLoop.makePromise(of: STUNMessage.self)
        channel.eventLoop.execute { [self] in
            if let failure { return answer.fail(failure) }
            waiting = (transaction, answer)
            for delay in isStream ? [0] : [0, 500, 1_500] as [Int64] {
                let again = channel.eventLoop.scheduleTask(in: .milliseconds(delay)) {
                    channel.writeAndFlush(bytes, promise: nil)
                }
                answer.futureResult.whenComplete { _ in again.cancel() }
            }
        }
        return try await answer.futureResult.get()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        guard isStream else { return take(bytes) }
        received.writeBuffer(&bytes)
        while let head = received.getInteger(at: received.readerIndex, as: UInt32.self) {
            guard head >> 30 == 0 else { return end(MalformedResponse()) }
            guard let message = received.readSlice(length: 20 + Int(head & 0xFFFF)) else { return }
            take(message)
        }
    }

    private func take(_ bytes: ByteBuffer) {
        guard let message = STUNMessage(bytes.readableBytesView) else { return end(MalformedResponse()) }
        guard let (transaction, answer) = waiting, message.transaction == transaction else { return }
        waiting = nil
        answer.succeed(message)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { end(Closed()) }

    /// Fails the request. Only the first reason is kept.
    private func end(_ error: any Error) {
        if failure == nil { failure = error }
        waiting?.answer.fail(error)
        waiting = nil
    }
}

/// Converts between addressed datagrams and bytes.
final class DatagramAddressConverter: ChannelDuplexHandler, Sendable {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = AddressedEnvelope<ByteBuffer>

    private let place: SocketAddress
    init(_ place: SocketAddress) { self.place = place }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.fireChannelRead(wrapInboundOut(unwrapInboundIn(data).data))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let envelope = AddressedEnvelope(remoteAddress: place, data: unwrapOutboundIn(data))
        context.write(wrapOutboundOut(envelope), promise: promise)
    }
}
