import Foundation
import HTTP
import LinuxRuntime
import NIOCore
import NIOHTTP1
import NIOPosix
import TLSTransport
import TestSupport
import Testing

/// An HTTP server on loopback that answers as a test wants, and keeps what it was asked.
final class ScriptedServer: Sendable {
    struct Request: Sendable, Equatable {
        var method: HTTPMethod
        var path: String
        var headers: HTTPHeaders
        var body = ""

        var token: String? { headers.first(name: "Authorization") }
    }

    enum Answer: Sendable {
        case answer(_ status: Int, [(String, String)] = [], _ body: String = "")
        /// The connection stays open.
        case nothing
        /// The connection stays open after this part of a longer body.
        case unfinished(_ body: String)
        /// The connection is closed within the body.
        case broken
    }

    private final class Handler: ChannelInboundHandler, @unchecked Sendable {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        // SAFETY: used on the channel's event loop alone.
        private var request: Request?
        private let answer: @Sendable (Request) -> Answer

        init(_ answer: @escaping @Sendable (Request) -> Answer) { self.answer = answer }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): request = Request(method: head.method, path: head.uri, headers: head.headers)
            case .body(let bytes): request?.body += String(buffer: bytes)
            case .end:
                guard let request else { return }
                switch answer(request) {
                case .answer(let status, let headers, let body):
                    write(context, status, headers + [("Content-Length", "\(body.utf8.count)")], body)
                    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
                case .nothing: break
                case .unfinished(let body): write(context, 201, [("Content-Length", "100000")], body)
                case .broken:
                    write(context, 201, [("Content-Length", "100000")], "v=0")
                    context.close(promise: nil)
                }
            }
        }

        private func write(
            _ context: ChannelHandlerContext, _ status: Int, _ headers: [(String, String)], _ body: String
        ) {
            let head = HTTPResponseHead(
                version: .http1_1, status: HTTPResponseStatus(statusCode: status), headers: HTTPHeaders(headers))
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    let port: Int
    private let listener: any Channel
    private let received: Monitor<[Request]>

    private let tls: TLSContext?

    var url: String { "\(tls == nil ? "http" : "https")://127.0.0.1:\(port)" }
    var requests: [Request] { received.with { $0 } }

    /// - Parameters:
    ///   - certificate: of `https`; nil: the server speaks `http`.
    ///   - answer: called on an event loop with each request.
    init(
        certificate: CertificateAuthority.Certificate? = nil, _ answer: @escaping @Sendable (Request) -> Answer
    ) async throws {
        let tls = try certificate.map { certificate in
            let key = try #require(TLSPrivateKey(pem: Array(Data(contentsOf: URL(fileURLWithPath: certificate.key)))))
            let chain = try Data(contentsOf: URL(fileURLWithPath: certificate.chain))
            return try TLSContext(server: TLSCertificate.chain(pem: Array(chain)), key)
        }
        self.tls = tls
        let received = Monitor<[Request]>([])
        self.received = received
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls {
                        try channel.pipeline.syncOperations.addHandler(TLSHandler(server: tls))
                    }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(
                        Handler { request in
                            received.with { $0.append(request) }
                            return answer(request)
                        })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let port = listener.localAddress?.port else { throw ChannelError.unknownLocalAddress }
        self.port = port
    }

    func stop() async throws { try await listener.close() }
}
