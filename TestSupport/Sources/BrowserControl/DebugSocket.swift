import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import NetworkBed
import Synchronization

/// A WebSocket with calls `{id, method, params}` and their responses, the envelope of both Chromium's DevTools protocol
/// and WebDriver BiDi.
final class DebugSocket: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private typealias Reply = CheckedContinuation<JSON, any Error>

    private struct State {
        var nextID = 1
        var waiting: [Int: Reply] = [:]
        var isClosed = false
    }

    private let channel: any Channel
    private let state: Mutex<State>

    private init(channel: any Channel) {
        self.channel = channel
        state = Mutex(State())
    }

    /// - Parameters:
    ///   - url: `ws://127.0.0.1:PORT/PATH`.
    ///   - node: the node of that loopback address; nil for this machine's own network.
    static func connect(_ url: String, in node: NetworkNode? = nil) async throws -> DebugSocket {
        guard let url = URL(string: url), let host = url.host, let port = url.port else {
            throw Failure(description: "\(url) is no WebSocket address")
        }
        @Sendable func upgrade(_ channel: any Channel) -> EventLoopFuture<EventLoopFuture<DebugSocket>> {
            channel.eventLoop.makeCompletedFuture {
                let upgrader = NIOTypedWebSocketClientUpgrader<DebugSocket>(maxFrameSize: 1 << 27) { channel, _ in
                    channel.eventLoop.makeCompletedFuture {
                        let socket = DebugSocket(channel: channel)
                        try channel.pipeline.syncOperations.addHandlers(
                            NIOWebSocketFrameAggregator(
                                minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1 << 16,
                                maxAccumulatedFrameSize: 1 << 27),
                            Receiver(socket: socket))
                        return socket
                    }
                }
                var headers = HTTPHeaders()
                headers.add(name: "Host", value: "\(host):\(port)")
                headers.add(name: "Content-Length", value: "0")
                let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: url.path, headers: headers)
                return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
                    configuration: .init(
                        upgradeConfiguration: NIOTypedHTTPClientUpgradeConfiguration(
                            upgradeRequestHead: head, upgraders: [upgrader],
                            notUpgradingCompletionHandler: { channel in
                                channel.eventLoop.makeFailedFuture(Failure(description: "no WebSocket at \(url)"))
                            })))
            }
        }
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        let upgraded =
            if let node {
                try await bootstrap.withConnectedSocket(try node.connect(port: port), channelInitializer: upgrade)
            } else {
                try await bootstrap.connect(host: host, port: port, channelInitializer: upgrade)
            }
        return try await upgraded.get()
    }

    /// Makes a call and waits for the response.
    /// - Throws: ``Failure`` with the browser's message, or when the connection ends or the time limit is over;
    ///   `CancellationError` when the test's own time limit is over, so that no test polls on for ever.
    func call(
        _ method: String, _ parameters: JSON = [:], session: String? = nil, within limit: Duration = .seconds(30)
    ) async throws -> JSON {
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            return state.nextID
        }
        let timeout = Task { [weak self] in
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            self?.fulfil(id, .failure(Failure(description: "\(method) was not answered within \(limit)")))
        }
        defer { timeout.cancel() }
        var message: [String: JSON] = ["id": .number(Double(id)), "method": .string(method), "params": parameters]
        if let session { message["sessionId"] = .string(session) }
        let text = JSON.object(message).text
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (reply: Reply) in
                let isClosed = state.withLock { state in
                    if !state.isClosed { state.waiting[id] = reply }
                    return state.isClosed
                }
                guard !isClosed else {
                    reply.resume(throwing: Failure(description: "\(method): the browser has closed the connection"))
                    return
                }
                guard !Task.isCancelled else { return fulfil(id, .failure(CancellationError())) }
                let frame = WebSocketFrame(
                    fin: true, opcode: .text, maskKey: .random(), data: channel.allocator.buffer(string: text))
                channel.writeAndFlush(frame, promise: nil)
            }
        } onCancel: {
            fulfil(id, .failure(CancellationError()))
        }
    }

    var isOpen: Bool { state.withLock { !$0.isClosed } }

    func close() { channel.close(promise: nil) }

    fileprivate func receive(_ text: String) {
        // Events have no id and are ignored.
        guard let message = try? JSON(parsing: text), let id = message["id"].number.flatMap({ Int(exactly: $0) }) else {
            return
        }
        if message["error"] != .null {
            fulfil(id, .failure(Failure(description: "\(message["error"].text) \(message["message"].string ?? "")")))
        } else {
            fulfil(id, .success(message["result"]))
        }
    }

    fileprivate func closed() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [:] }
            return state.waiting
        }
        waiting.values.forEach { $0.resume(throwing: Failure(description: "the browser has closed the connection")) }
    }

    private func fulfil(_ id: Int, _ result: Result<JSON, any Error>) {
        state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(with: result)
    }

    private final class Receiver: ChannelInboundHandler {
        typealias InboundIn = WebSocketFrame
        private let socket: DebugSocket

        init(socket: DebugSocket) { self.socket = socket }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let frame = unwrapInboundIn(data)
            switch frame.opcode {
            case .text: socket.receive(String(buffer: frame.unmaskedData))
            case .ping:
                context.writeAndFlush(
                    NIOAny(
                        WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: frame.unmaskedData)),
                    promise: nil)
            case .connectionClose: context.close(promise: nil)
            default: break
            }
        }

        func channelInactive(context: ChannelHandlerContext) {
            socket.closed()
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
