import HTTPTypes
import NIOCore
import NIOPosix

/// A server for the operator of a node: serves a few pages of text by plain HTTP, which need no secret. It is meant for
/// an address that only the operator's programs reach.
///
/// Call `start` once, `stop` once or more.
public actor StatusServer {
    /// A page.
    public struct Page: Sendable {
        public var status: Int
        public var type: String
        public var text: String

        public init(status: Int = 200, type: String = "text/plain; charset=utf-8", _ text: String) {
            self.status = status
            self.type = type
            self.text = text
        }
    }

    private let host: String
    private let port: Int
    private let page: @Sendable (String) async -> Page?
    private var isStopped = false
    private var running: (server: HTTPServer, task: Task<Void, Never>, group: MultiThreadedEventLoopGroup)?

    /// Enough for monitoring; all of them cost less than one viewer.
    private static let limits = {
        var limits = RequestLimiter.Limits()
        limits.connections = 32
        limits.connectionsPerAddress = 16
        limits.reservedConnections = 0
        return limits
    }()
    private static let patience = TimeAmount.seconds(10)

    /// - Parameters:
    ///   - port: 0 selects a free port.
    ///   - page: returns the page of a path; nil if there is none.
    public init(host: String, port: Int, page: @escaping @Sendable (_ path: String) async -> Page?) {
        self.host = host
        self.port = port
        self.page = page
    }

    /// Binds the port and starts serving.
    /// - Returns: the port.
    public func start() async throws(SignalingServerError) -> Int {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let connections = ConnectionRegistry(limiter: RequestLimiter(limits: Self.limits, now: .now)) { _ in }
        let pipeline = ConnectionPipeline(
            tls: nil, connections: connections,
            timeouts: .init(handshake: Self.patience, stall: Self.patience, write: Self.patience), idle: Self.patience)
        do {
            let server = try await HTTPServer(host: host, port: port, backlog: 16, group: group, pipeline: pipeline)
            let page = page
            let task = Task { await server.run { try await $1.write(await Self.response(to: $0, page)) } }
            running = (server, task, group)
            guard isStopped else { return server.port }
        } catch {
            try? await group.shutdownGracefully()
            throw SignalingServerError(error, host: host, port: port)
        }
        await stop()
        throw .stopped
    }

    public func stop() async {
        isStopped = true
        guard let (server, task, group) = running else { return }
        running = nil
        await server.close()
        await task.value
        try? await group.shutdownGracefully()
    }

    private static func response(
        to request: ServerRequest, _ page: @Sendable (String) async -> Page?
    ) async -> RouteResponse {
        switch request.method {
        case .get, .head:
            guard let page = await page(String(request.path)) else { return .notFound }
            return RouteResponse(.init(code: page.status), type: page.type, page.text)
        default: return .methodNotAllowed("GET")
        }
    }
}
