import Glibc
import Identity
package import NIOCore
import NIOHTTP1

/// What the pipeline of a server's connections is made of, from the socket up: ``ConnectionGuard``, TLS with the present
/// certificate, NIO's HTTP/1.1, ``ExchangeGuard`` and ``IdleGuard``. ``RequestDecoder`` can be stopped.
package struct ConnectionPipeline: Sendable {
    /// Nil: plain HTTP.
    let tls: PresentedCertificate?
    let connections: ConnectionRegistry
    let timeouts: ConnectionGuard.Timeouts
    /// The time for a request to arrive, and between requests.
    let idle: TimeAmount

    package init(
        tls: PresentedCertificate?, connections: ConnectionRegistry, timeouts: ConnectionGuard.Timeouts,
        idle: TimeAmount
    ) {
        (self.tls, self.connections, self.timeouts, self.idle) = (tls, connections, timeouts, idle)
    }

    /// Called on the event loop of a new connection.
    func setUp(_ channel: any Channel) throws -> HTTPServer.Connection {
        // A peer that has gone without a word is noticed by the next heartbeat: TCP would send it again for 15 minutes.
        _ = channel.setOption(
            ChannelOptions.socket(SocketOptionLevel(IPPROTO_TCP), SocketOptionName(TCP_USER_TIMEOUT)),
            value: SocketOptionValue(30_000))
        let pipeline = channel.pipeline.syncOperations
        let below = ConnectionGuard(connections, timeouts, isTLS: tls != nil)
        try pipeline.addHandler(below)
        if let tls {
            guard let context = tls.context else { throw ChannelError.ioOnClosedChannel }
            try pipeline.addHandler(TLSHandler(server: context))
        }
        let decoder = RequestDecoder(limits: Self.limits)
        try pipeline.addHandlers(
            HTTPResponseEncoder(), ByteToMessageHandler(decoder), ExchangeGuard(below, decoder), IdleGuard(idle))
        return try NIOAsyncChannel(
            wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
    }

    private static let limits = {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = 8_192
        limits.maxHeaderListSize = 16_384
        limits.maxHeaderFieldCount = 100
        return limits
    }()
}
