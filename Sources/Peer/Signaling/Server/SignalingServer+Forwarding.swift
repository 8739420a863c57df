import HTTP
import HTTPTypes
import Identifiers
import Identity
import NIOCore
import NIOPosix

extension SignalingServer {
    /// Answers a request of a viewer, or of a host of a service, that a relay has forwarded, as if it had come on a
    /// connection of this server.
    ///
    /// The viewer's address is what the relay says. It counts for the limits of each address; a relay that lies can
    /// make viewers share one, or give one viewer many.
    /// - Parameters:
    ///   - id: requests for other resources are answered with 404.
    ///   - closed: succeeds when the viewer does not wait any more.
    func respond(
        to request: ForwardedRequest, for id: TunnelID, on eventLoop: any EventLoop,
        closed: EventLoopFuture<Void>
    ) async -> RouteResponse {
        let path = request.path.prefix { $0 != "?" }.split(separator: "/")
        guard let method = HTTPRequest.Method(request.method), isServed(path, of: id),
            request.body.utf8.count <= configuration.bodyLimit
        else { return .notFound }
        let address = PeerAddress(request.address)
        service.count { $0.requests += 1 }
        if let delay = service.connections.withLimiter({ $0.requestDelay(address.key, now: $1) }) {
            service.count { $0.requestsLimited += 1 }
            return .limited("too many requests", delay)
        }
        var headers = HTTPFields()
        for name in ForwardedRequest.forwardedFields {
            guard let value = request.headers[name.canonicalName], HTTPField.isValidValue(value) else { continue }
            headers[name] = value
        }
        var call = RouteRequest(
            method: method, path: path, headers: headers, body: ByteBuffer(string: request.body), address: address,
            connection: RouteConnection(eventLoop: eventLoop, closed: closed), isForwarded: true)
        call.isForwardedSocket = request.socket == true
        return await service.route(call)
    }

    /// Whether a relay may forward requests for this path. The page of a broadcast is the relay's own.
    private nonisolated func isServed(_ path: [Substring], of id: TunnelID) -> Bool {
        let parts = id.pathParts
        guard path.prefix(parts.count).map(String.init) == parts else { return false }
        switch id {
        case .broadcast: return path.count > 1
        case .service: return true
        }
    }

    /// An event loop of the running server; nil before the start and after the end.
    var eventLoop: (any EventLoop)? {
        guard case .running(_, _, let group) = state else { return nil }
        return group.next()
    }
}
