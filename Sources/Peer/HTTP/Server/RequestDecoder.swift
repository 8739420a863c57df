import NIOCore
import NIOHTTP1

/// NIO's decoder of requests, which can be stopped: another decoder then gets what has come behind the last request.
///
/// NIO's own stops where it takes a request for one to change protocols, and drops or parses the rest otherwise.
final class RequestDecoder: ByteToMessageDecoder {
    typealias InboundOut = HTTPServerRequestPart

    private let decoder: HTTPRequestDecoder
    private var isStopped = false

    init(limits: NIOHTTPDecoderLimitConfiguration) {
        decoder = HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: limits)
    }

    /// Nothing more is decoded. When this is removed, the next handler gets bytes.
    func stop() { isStopped = true }

    func decoderAdded(context: ChannelHandlerContext) { decoder.decoderAdded(context: context) }

    func decoderRemoved(context: ChannelHandlerContext) { decoder.decoderRemoved(context: context) }

    func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
        isStopped ? .needMoreData : try decoder.decode(context: context, buffer: &buffer)
    }

    func decodeLast(
        context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool
    ) throws -> DecodingState {
        guard isStopped else { return try decoder.decodeLast(context: context, buffer: &buffer, seenEOF: seenEOF) }
        if !seenEOF, buffer.readableBytes > 0 { context.fireChannelRead(NIOAny(buffer)) }
        return .needMoreData
    }
}
