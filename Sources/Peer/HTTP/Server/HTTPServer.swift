import Identifiers
import Identity
package import NIOCore
package import NIOHTTP1
package import NIOPosix

/// A listening socket whose connections speak HTTP/1.1 (RFC 9112). Each is served by a task of its own.
package struct HTTPServer: Sendable {
    package typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>
    /// Answers a request. Throws if the connection has failed.
    package typealias Respond = @Sendable (ServerRequest, ServerConnection) async throws -> Void

    /// The listening channel.
    let channel: any Channel
    private let connections: ConnectionRegistry
    private let accepted: AsyncStream<Connection>

    /// Binds the port. The connections that come wait until `run` is called, which has to follow.
    /// - Parameters:
    ///   - port: 0 selects a free port.
    ///   - backlog: connections that the kernel holds until they are accepted.
    ///   - group: of one thread.
    package init(
        host: String, port: Int, backlog: Int32, group: MultiThreadedEventLoopGroup, pipeline: ConnectionPipeline
    ) async throws {
        let connections = pipeline.connections
        let (accepted, feed) = AsyncStream.makeStream(of: Connection.self)
        (self.connections, self.accepted) = (connections, accepted)
        // Not NIO's `bind` for async channels: of a connection that it accepts while the listening socket is closed it
        // drops the channel, which ends the process (swift-nio issue 2813).
        channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        AcceptPause(), ConnectionAdmissionHandler(connections))
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { _ = feed.yield(try pipeline.setUp(channel)) }
            }
            .bind(host: host, port: port).get()
        channel.closeFuture.whenComplete { _ in feed.finish() }
    }

    package var port: Int { channel.localAddress?.port ?? 0 }

    /// Calls `action` when the listening socket has been closed, or has failed.
    package func whenClosed(_ action: @escaping @Sendable () -> Void) {
        channel.closeFuture.whenComplete { _ in action() }
    }

    /// Serves connections until the listening socket is closed and all of them have ended. Its task must not be
    /// cancelled.
    package func run(_ respond: @escaping Respond) async {
        await withDiscardingTaskGroup { tasks in
            for await connection in accepted {
                tasks.addTask { await ServerConnection.serve(connection, respond) }
            }
        }
    }

    /// Accepts no further connection. Each one that is open ends after the responses to its requests.
    package func close() async {
        try? await channel.close()
        connections.finishAll()
    }
}

/// A handler of the listening socket's pipeline: closes connections over the limits before a pipeline, TLS or a task is
/// created for them.
final class ConnectionAdmissionHandler: ChannelInboundHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel

    private let connections: ConnectionRegistry

    init(_ connections: ConnectionRegistry) { self.connections = connections }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let child = unwrapInboundIn(data)
        let address = PeerAddress(child.remoteAddress?.ipAddress ?? "unknown").key
        guard connections.enter(child, address) else {
            child.close(promise: nil)
            return
        }
        let (connections, id) = (connections, ObjectIdentifier(child))
        child.closeFuture.whenComplete { _ in connections.left(id) }
        context.fireChannelRead(data)
    }
}
