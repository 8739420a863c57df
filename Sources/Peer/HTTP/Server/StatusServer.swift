import HTTPTypes
import HummingbirdCore
import LinuxRuntime
import Logging
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
    private var running: (server: Server<HTTP1Channel>, task: Task<Void, Never>, group: MultiThreadedEventLoopGroup)?

    /// Enough for monitoring; all of them cost less than one viewer.
    private static let limits = {
        var limits = RequestLimiter.Limits()
        limits.connections = 32
        limits.connectionsPerAddress = 16
        limits.reservedConnections = 0
        return limits
    }()

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
        let bound = OneShot<Result<Int, any Error>>()
        let connections = ConnectionRegistry(limiter: RequestLimiter(limits: Self.limits, now: .now)) { _ in }
        let page = page
        let http = HTTP1Channel(
            responder: { request, writer, _ in try await Self.respond(to: request, writer, page) },
            configuration: .init(idleTimeout: .seconds(10)))
        let server = Server(
            childChannelSetup: http,
            configuration: ServerConfiguration(address: .hostname(host, port: port), backlog: 16),
            onServerRunning: { channel in
                let added = channel.eventLoop.submit {
                    try channel.pipeline.syncOperations.addHandler(
                        ConnectionAdmissionHandler(connections), position: .first)
                }
                try? await added.get()
                bound.fulfil(.success(channel.localAddress?.port ?? 0))
            },
            eventLoopGroup: group, logger: Logger(label: "status", factory: { _ in SwiftLogNoOpLogHandler() }))
        let task = Task { do { try await server.run() } catch { bound.fulfil(.failure(error)) } }
        switch await bound.value {
        case .success(let port):
            running = (server, task, group)
            return port
        case .failure(let error):
            await task.value
            try? await group.shutdownGracefully()
            throw SignalingServerError(error, host: host, port: port)
        }
    }

    public func stop() async {
        guard let (server, task, group) = running else { return }
        running = nil
        try? await server.shutdownGracefully()
        await task.value
        try? await group.shutdownGracefully()
    }

    private static func respond(
        to request: Request, _ writer: consuming ResponseWriter, _ page: @Sendable (String) async -> Page?
    ) async throws {
        var response: RouteResponse
        let path = request.head.path.map { String($0.prefix { $0 != "?" }) } ?? "/"
        switch request.head.method {
        case .get, .head:
            if let page = await page(path) {
                response = RouteResponse(.init(code: page.status), type: page.type, page.text)
            } else {
                response = .notFound
            }
        default: response = .methodNotAllowed("GET")
        }
        if request.head.method == .head { response.body = ResponseBody() }
        response.headers[.connection] = "close"
        try await writer.write(
            response: HTTPResponse(status: response.status, headerFields: response.headers), body: response.body)
    }
}
