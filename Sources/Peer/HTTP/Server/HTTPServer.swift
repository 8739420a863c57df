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

    private let listener: NIOAsyncChannel<Connection, Never>
    private let connections: ConnectionRegistry

    /// Binds the port. Connections wait until `run` is called.
    /// - Parameters:
    ///   - port: 0 selects a free port.
    ///   - backlog: connections that the kernel holds until they are accepted.
    package init(
        host: String, port: Int, backlog: Int32, group: MultiThreadedEventLoopGroup, pipeline: ConnectionPipeline
    ) async throws {
        let connections = pipeline.connections
        self.connections = connections
        listener = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        AcceptBackoffHandler(), ConnectionAdmissionHandler(connections))
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .bind(host: host, port: port) { channel in
                channel.eventLoop.makeCompletedFuture { try pipeline.setUp(channel) }
            }
    }

    /// The listening channel.
    var channel: any Channel { listener.channel }

    package var port: Int { channel.localAddress?.port ?? 0 }

    /// Serves connections until the server is closed and all of them have ended.
    package func run(_ respond: @escaping Respond) async {
        await withDiscardingTaskGroup { tasks in
            // Fails only if the listening socket does.
            try? await listener.executeThenClose { accepted in
                for try await connection in accepted {
                    tasks.addTask { await ServerConnection.serve(connection, respond) }
                }
            }
        }
    }

    /// Accepts no further connection. Each one that is open ends after the responses to its requests.
    package func close() async {
        try? await channel.close()
        connections.finishAll()
    }
}

/// The first handler of the listening socket's pipeline. Closes connections over the limits before a pipeline, TLS or a
/// task is created for them.
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

    /// A connection that cannot be accepted, as there is no descriptor for it, ends nothing: the next attempt follows a
    /// second later (`AcceptBackoffHandler`).
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
