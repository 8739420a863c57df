package import FoundationEssentials
import NIOCore
package import NIOHTTP1
import NIOPosix
package import TLSTransport

extension URL {
    /// The host, IPv6 without brackets; nil if there is none.
    package var plainHost: String? {
        host.map { $0.hasPrefix("[") && $0.hasSuffix("]") ? String($0.dropFirst().dropLast()) : $0 }
    }
}

/// A request to any web server, on a connection of its own: by `https` with a certificate that the system trusts for the
/// URL's name, or by `http`. Redirects are answers like others.
package struct HTTPClientRequest: Sendable {
    let method: HTTPMethod
    let url: URL
    let headers: HTTPHeaders
    let body: String?
    let address: String?
    let trust: TLSContext?

    /// - Parameters:
    ///   - headers: beside Host, User-Agent and Content-Length.
    ///   - address: the numeric address to connect to; nil: those of the URL's name.
    ///   - trust: which certificates are trusted; nil: those that the system trusts.
    package init(
        _ method: HTTPMethod, _ url: URL, headers: HTTPHeaders, body: String?, to address: String?,
        trust: TLSContext? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.address = address
        self.trust = trust
    }

    /// - Parameter timeout: for connection, handshake and response together.
    /// - Throws: errors of NIO; `TLSFailure`; `HTTPResponseTooLong`; `ChannelError.connectTimeout` when the time is
    ///   over.
    package func send(timeout: Duration) async throws -> HTTPAnswer {
        let end = NIODeadline.now() + TimeAmount(timeout)
        do {
            let channel = try await connect(until: end)
            defer { channel.close(promise: nil) }
            return try await HTTPExchange.answer(
                to: head, body.map { ByteBuffer(string: $0) }, on: channel, until: end)
        } catch let error as HTTPExchange.Unanswered {
            throw error.reason
        }
    }

    private var host: String { url.plainHost ?? "" }

    private var isSecure: Bool { url.scheme?.lowercased() == "https" }

    private static let systemTrust = Result { try TLSTrust.clientContext() }

    private func connect(until end: NIODeadline) async throws -> any Channel {
        let (host, context) = (host, isSecure ? try trust ?? Self.systemTrust.get() : nil)
        let handshake = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connectTimeout(min(end - .now(), .seconds(8)))
            .connect(host: address ?? host, port: url.port ?? (isSecure ? 443 : 80)) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let tls = try context.map { try TLSHandler(client: $0, host: host) }
                    let handshake = try PendingHandshake.begin(on: channel, tls)
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHTTPClientHandlers()
                    try pipeline.addHandler(HTTPExchange())
                    return handshake
                }
            }
        return try await handshake.finish(until: end)
    }

    private var head: HTTPRequestHead {
        let name = host.contains(":") ? "[\(host)]" : host
        var all = HTTPHeaders([
            ("Host", name + (url.port.map { ":\($0)" } ?? "")), ("User-Agent", "share/1"), ("Connection", "close"),
        ])
        all.add(contentsOf: headers)
        if let body { all.add(name: "Content-Length", value: String(body.utf8.count)) }
        let path = url.path(percentEncoded: true)
        let target = (path.isEmpty ? "/" : path) + (url.query(percentEncoded: true).map { "?" + $0 } ?? "")
        return HTTPRequestHead(version: .http1_1, method: method, uri: target, headers: all)
    }
}
