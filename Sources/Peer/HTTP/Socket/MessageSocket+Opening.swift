package import HTTPTypes
package import NIOCore
import NIOHTTP1
import NIOWebSocket

extension MessageSocket {
    /// Answers the request of a connection with 101, and makes the connection this socket's.
    ///
    /// The server's handlers stay above it, with one request that is never answered, and end with the connection.
    /// - Returns: false if that is not possible: it is not the connection's only request. Nothing was written then.
    package func accept(_ fields: HTTPFields, on channel: any Channel) async -> Bool {
        let switched = channel.eventLoop.submit { [self] in
            let pipeline = channel.pipeline.syncOperations
            let exchange = try pipeline.handler(type: ExchangeGuard.self)
            guard exchange.isUpgradable else { return false }
            var head = HTTPResponseHead(version: .http1_1, status: .switchingProtocols)
            for field in fields { head.headers.add(name: field.name.rawName, value: field.value) }
            exchange.switchProtocols(try pipeline.context(handlerType: ExchangeGuard.self), head)
            try open(in: pipeline, after: exchange)
            try pipeline.drop(ExchangeGuard.self)
            try pipeline.drop(HTTPResponseEncoder.self)
            try pipeline.drop(ByteToMessageHandler<RequestDecoder>.self)
            return true
        }
        do { return try await switched.get() } catch {
            ended(nil)
            return false
        }
    }

    /// Makes a client's connection this socket's, after a response with 101. Called on the event loop.
    func take(_ channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        try open(in: pipeline, after: try pipeline.handler(type: HTTPExchange.self))
        try pipeline.drop(HTTPExchange.self)
        try pipeline.drop(NIOHTTPRequestHeadersValidator.self)
        try pipeline.drop(HTTPRequestEncoder.self)
        try pipeline.drop(ByteToMessageHandler<HTTPResponseDecoder>.self)
    }

    private func open(
        in pipeline: ChannelPipeline.SynchronousOperations, after handler: any ChannelHandler
    ) throws {
        let decoder = WebSocketFrameDecoder(maxFrameSize: limits.messageSize)
        try pipeline.addHandlers(
            [WebSocketFrameEncoder(), ByteToMessageHandler(decoder), MessageSocketHandler(self)],
            position: .after(handler))
    }
}

extension ChannelPipeline.SynchronousOperations {
    /// Removes a handler: at once, or a decoder in the next turn of the event loop, when it has passed on the bytes
    /// that it has not read.
    fileprivate func drop<Handler: RemovableChannelHandler>(_ type: Handler.Type) throws {
        removeHandler(context: try context(handlerType: type), promise: nil)
    }
}
