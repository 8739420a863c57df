package import HTTPTypes
package import Identifiers
package import Identity
package import NIOCore

/// The connection that a request came on, or what stands for it if a relay has forwarded the request.
package struct RouteConnection: Sendable {
    package let eventLoop: any EventLoop
    /// Succeeds when nobody waits for the response any more.
    package let closed: EventLoopFuture<Void>

    package init(eventLoop: any EventLoop, closed: EventLoopFuture<Void>) {
        self.eventLoop = eventLoop
        self.closed = closed
    }

    package init(_ channel: any Channel) { self.init(eventLoop: channel.eventLoop, closed: channel.closeFuture) }
}

/// One request with its complete body.
package struct RouteRequest: Sendable {
    package let method: HTTPRequest.Method
    /// The path without its query, split at slashes.
    package let path: [Substring]
    /// The part after the question mark.
    package var query: Substring = ""
    package let headers: HTTPFields
    package let body: ByteBuffer
    package let address: PeerAddress
    /// The Host header: the host and the port that the client has connected to.
    package var authority = ""
    package let connection: RouteConnection
    /// A relay has forwarded it, which can read it.
    package var isForwarded = false
    /// A viewer has asked the relay for a WebSocket, whose texts the relay passes on.
    package var isForwardedSocket = false

    package init(
        method: HTTPRequest.Method, path: [Substring], query: Substring = "", headers: HTTPFields, body: ByteBuffer,
        address: PeerAddress, authority: String = "", connection: RouteConnection, isForwarded: Bool = false
    ) {
        (self.method, self.path, self.query, self.headers, self.body) = (method, path, query, headers, body)
        (self.address, self.authority, self.connection) = (address, authority, connection)
        self.isForwarded = isForwarded
    }

    /// The identifier that the path begins with; nil if it begins with none.
    package var broadcast: BroadcastID? { path.first.flatMap { BroadcastID($0) } }

    /// The service of a path below /services; nil if there is none, or if the text cannot be one.
    package var service: ServiceID? {
        guard path.first == "services" else { return nil }
        return path.dropFirst().first.flatMap { ServiceID($0) }
    }

    /// The broadcast or service of the path, which may have a tunnel at this server.
    package var tunnelID: TunnelID? { broadcast.map { .broadcast($0) } ?? service.map { .service($0) } }

    package var bodyText: String { String(buffer: body) }

    /// The media type without parameters, in lower case.
    package var mediaType: String {
        let text = headers[.contentType] ?? ""
        return text.prefix(while: { $0 != ";" }).lowercased().filter { !$0.isWhitespace }
    }

    /// The token of Authorization, or that of a browser's WebSocket.
    package var bearer: String? { Self.bearer(headers) ?? WebSocketHandshake.bearer(headers) }

    /// Whether no page of another origin has made the request: pages name theirs, programs none. A page without an
    /// origin has "null".
    package var isOfSameOrigin: Bool {
        guard let origin = headers[Header.origin], origin != "null" else { return true }
        return origin.lowercased() == "https://" + authority.lowercased()
    }

    package static func bearer(_ headers: HTTPFields) -> String? {
        guard let text = headers[.authorization], text.lowercased().hasPrefix("bearer ") else { return nil }
        let token = text.dropFirst("bearer ".count).drop(while: { $0 == " " })
        return token.isEmpty || token.utf8.count > 512 ? nil : String(token)
    }
}
