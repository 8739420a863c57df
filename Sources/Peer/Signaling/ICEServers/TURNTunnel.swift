import Glibc
public import HTTP
import NIOCore
import NIOPosix

/// Forwards connections from a loopback port to a TURN server over TCP, with or without TLS. libnice connects to the
/// loopback port with plain TCP.
///
/// It exists for two reasons. First, libnice's "TURN over TLS" is not TLS. Second, libnice must not receive a
/// redirection (300, RFC 8489 section 14.15) over TCP: it would then use a socket that could not be opened. Other users
/// of this machine who connect to the port reach that TURN server and nothing else.
public final class TURNTunnel: Sendable {
    static let connectionLimit = 64

    /// The port at 127.0.0.1; `port6` is the one at ::1, where there is IPv6.
    public let port: UInt16
    public let port6: UInt16?
    private let group: MultiThreadedEventLoopGroup
    private let listeners: [any Channel]

    private init(_ group: MultiThreadedEventLoopGroup, _ listeners: [any Channel]) {
        self.group = group
        self.listeners = listeners
        port = UInt16(listeners.first?.localAddress?.port ?? 0)
        port6 = listeners.dropFirst().first?.localAddress?.port.map { UInt16($0) }
    }

    /// Opens a tunnel. Certificates are checked against the system's roots, or those in the file that SSL_CERT_FILE
    /// names.
    /// - Parameters:
    ///   - url: over TCP or TLS; the certificate has to name its host.
    ///   - address: the numeric address of that host.
    ///   - attempts: limits the connections to the server; nil: it is trusted.
    public static func open(
        to url: ServerURL, address: String, attempts: ConnectionAttempts? = nil
    ) async throws -> TURNTunnel {
        let context = url.transport == .tls ? try TLSTrust.clientContext() : nil
        let remote = try SocketAddress(ipAddress: address, port: Int(url.port))
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let room = ConnectionLimit(Self.connectionLimit)
        let bootstrap = ServerBootstrap(group: group)
            .pausingWithoutDescriptors()
            .serverChannelOption(.backlog, value: 32)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { inner in
                guard room.take(inner), attempts?.take() ?? true else {
                    inner.close(promise: nil)
                    return inner.eventLoop.makeSucceededVoidFuture()
                }
                return ClientBootstrap(group: inner.eventLoop).connectTimeout(.seconds(5))
                    .channelOption(.autoRead, value: false)
                    .channelInitializer { outer in
                        outer.eventLoop.makeCompletedFuture {
                            guard let context else { return }
                            try outer.pipeline.syncOperations.addHandler(
                                TLSHandler(client: context, host: url.host))
                        }
                    }
                    .connect(to: remote).flatMapThrowing { outer in
                        let (here, there) = Glue.pair()
                        try inner.pipeline.syncOperations.addHandler(here)
                        try outer.pipeline.syncOperations.addHandlers([
                            TURNMessageFramer { attempts?.giveBack() }, there,
                        ])
                        inner.setOption(.autoRead, value: true).whenFailure { _ in }
                        outer.setOption(.autoRead, value: true).whenFailure { _ in }
                    }
            }
        do {
            var listeners = [try await bootstrap.bind(host: "127.0.0.1", port: 0).get()]
            if let six = try? await bootstrap.bind(host: "::1", port: 0).get() { listeners.append(six) }
            return TURNTunnel(group, listeners)
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    /// Closes every connection. May be called more than once.
    public func close() async {
        for listener in listeners { listener.close(promise: nil) }
        try? await group.shutdownGracefully()
    }
}

/// Limits the connections of a tunnel. Confined to its event loop.
private final class ConnectionLimit: @unchecked Sendable {
    // SAFETY: touched on the tunnel's only event loop.
    private var left: Int
    init(_ limit: Int) { left = limit }

    func take(_ channel: any Channel) -> Bool {
        guard left > 0 else { return false }
        left -= 1
        channel.closeFuture.whenComplete { _ in self.left += 1 }
        return true
    }
}

/// Splits the TCP stream of a TURN server into messages (RFC 8656 section 12.5, RFC 8489 section 6.2.2), and drops
/// redirections.
private final class TURNMessageFramer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var waiting = ByteBuffer()
    /// Called once, with the first STUN message.
    private var onMessage: (() -> Void)?

    init(onMessage: @escaping () -> Void) { self.onMessage = onMessage }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        waiting.writeBuffer(&bytes)
        while let head = waiting.getInteger(at: waiting.readerIndex, as: UInt32.self) {
            let length = Int(head & 0xFFFF)
            let whole: Int
            switch head >> 30 {
            case 0: whole = 20 + length
            case 1: whole = 4 + (length + 3) & ~3
            default: return context.close(promise: nil)
            }
            guard let message = waiting.readSlice(length: whole) else { break }
            if head >> 30 == 0, let stun = STUNMessage(message.readableBytesView) {
                if stun.error?.code == 300 { continue }
                onMessage?()
                onMessage = nil
            }
            context.fireChannelRead(wrapInboundOut(message))
        }
        waiting.discardReadBytes()
    }
}

/// Half of a pair of handlers that forward bytes between two connections. While one connection cannot be written, the
/// other is not read.
private final class Glue: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private weak var partner: Glue?
    private var context: ChannelHandlerContext?
    private var wantsToRead = false

    static func pair() -> (Glue, Glue) {
        let (one, other) = (Glue(), Glue())
        one.partner = other
        other.partner = one
        return (one, other)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        partner?.context?.write(wrapOutboundOut(unwrapInboundIn(data)), promise: nil)
    }

    func channelReadComplete(context: ChannelHandlerContext) { partner?.context?.flush() }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard context.channel.isWritable, let partner, partner.wantsToRead else { return }
        partner.wantsToRead = false
        partner.context?.read()
    }

    func read(context: ChannelHandlerContext) {
        if partner?.context?.channel.isWritable ?? true { context.read() } else { wantsToRead = true }
    }

    func channelInactive(context: ChannelHandlerContext) { partner?.context?.close(promise: nil) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
        partner?.context?.close(promise: nil)
    }
}
