import HTTP
import HTTPTypes
import Identifiers
import Identity
import NIOCore

extension SignalingServerState {
    /// Answers a request: reads its body within limits of size and time, routes it, and writes the response.
    func respond(to request: ServerRequest, on connection: ServerConnection) async throws {
        count { $0.requests += 1 }
        let address = PeerAddress(connection.channel.remoteAddress?.ipAddress ?? "unknown")
        var reply: RouteResponse
        if let early = refusal(of: request, from: address) {
            reply = early
        } else if let body = try await readBody(request, connection) {
            let call = RouteRequest(
                method: request.method, path: request.path.split(separator: "/"), query: request.query,
                headers: request.headers, body: body, address: address, authority: request.hosts[0],
                connection: RouteConnection(connection.channel))
            reply = await routeInTask(call)
            reply.isConnectionKept = mayKeepConnection(call, reply)
        } else {
            reply = tooLarge
        }
        if let upgrade = reply.upgrade {
            if await upgrade.socket.accept(reply.headers, on: connection.channel) { return await upgrade.run() }
            reply = malformed("a WebSocket is a connection's first request")
        }
        if Self.servesOtherOrigins(request) { reply = reply.crossOrigin }
        try await connection.write(reply)
    }

    /// Whether players on pages of other origins may read the response: that of an endpoint, a session or events.
    private static func servesOtherOrigins(_ request: ServerRequest) -> Bool {
        let path = request.path.split(separator: "/", maxSplits: 3)
        let item = path.first == "services" ? path.dropFirst(2).first : path.dropFirst().first
        return item.map { ["whep", "whip", "events"].contains($0) } ?? false
    }

    /// Routes a request in a task of its own. A task keeps the memory of its deepest call until it ends, 40 KB here,
    /// and that of the connection lasts as long as a stream of events.
    private func routeInTask(_ call: RouteRequest) async -> RouteResponse {
        let routing = Task { await route(call) }
        return await withTaskCancellationHandler {
            await routing.value
        } onCancel: {
            routing.cancel()
        }
    }

    /// Returns a refusal that the request's head alone decides; else nil.
    private func refusal(of request: ServerRequest, from address: PeerAddress) -> RouteResponse? {
        if !isOfTunnel(request), let delay = connections.withLimiter({ $0.requestDelay(address.key, now: $1) }) {
            count { $0.requestsLimited += 1 }
            return .limited("too many requests", delay)
        }
        // RFC 9112 section 3.2.
        guard let host = request.hosts.first, request.hosts.count == 1 else {
            return malformed("a request has exactly one Host header")
        }
        guard !host.isEmpty, host.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") }) else {
            return malformed("the Host header is no host and port")
        }
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > configuration.bodyLimit {
            return tooLarge
        }
        return nil
    }

    /// Returns whether the request is a response of the host of a tunnel, which sends as many as its viewers send
    /// requests.
    private func isOfTunnel(_ request: ServerRequest) -> Bool {
        let path = request.target.split(separator: "/", maxSplits: 4)
        guard request.method == .post, path.count == 5, path[0] == "services", path[2] == "meeting",
            let id = TunnelID(path[3]), let tunnel = tunnels[id], let number = Int(path[4]),
            tunnel.isPending(number), let token = RouteRequest.bearer(request.headers)
        else { return false }
        return tunnel.owner == TokenHash(of: token)
    }

    /// Returns whether the connection may stay open. Clients without a token, a successful knock or a successful
    /// request to pair get one response a connection, so that they do not occupy connections. A token counts on the
    /// paths of its broadcast or service.
    private func mayKeepConnection(_ call: RouteRequest, _ reply: RouteResponse) -> Bool {
        if let token = call.bearer, isAdmitted(call, token) {
            connections.withLimiter { $0.admitted(call.address.key, now: $1) }
            return true
        }
        guard reply.status.kind == .successful, call.method != .options, call.method != .head else { return false }
        let item = call.service == nil ? call.path.dropFirst().first : call.path.dropFirst(2).first
        if let id = call.tunnelID, tunnels[id] != nil, call.bearer != nil, needsToken(call, item) {
            // The host or the service has decided that the token is valid.
            connections.withLimiter { $0.admitted(call.address.key, now: $1) }
            return true
        }
        return item == "knock" || item == "pair"
    }

    /// Returns whether a request for a tunnel succeeds with a valid token alone.
    private func needsToken(_ call: RouteRequest, _ item: Substring?) -> Bool {
        switch item {
        case "events", "keys", "messages": true
        // The endpoint itself answers a GET of anybody.
        case "whep", "whip": call.method != .get || call.path.last != item
        case "viewers", "listing", "pause", "application", "return", "members", "servers", "meeting":
            call.service != nil
        default: false
        }
    }

    private func isAdmitted(_ call: RouteRequest, _ token: String) -> Bool {
        if let broadcast = call.broadcast.flatMap({ broadcasts[$0] }) {
            return broadcast.admissions.admission(token: token) != nil
        }
        guard let service = call.service.flatMap({ services[$0] }) else { return false }
        return service.pairings.admission(token: token)?.1.isValid == true
    }

    func malformed(_ what: String) -> RouteResponse {
        count { $0.refusals.malformed += 1 }
        return RouteResponse(problem: .malformed, .badRequest, what)
    }

    private var tooLarge: RouteResponse {
        count { $0.refusals.tooLarge += 1 }
        return RouteResponse(
            problem: .tooLarge, .contentTooLarge, "a request may have \(configuration.bodyLimit) bytes at most")
    }

    /// Returns nil if the body is too large.
    private func readBody(_ request: ServerRequest, _ connection: ServerConnection) async throws -> ByteBuffer? {
        if request.headers[.expect]?.lowercased() == "100-continue" { try await connection.askForBody() }
        let length = request.headers[.contentLength].flatMap { Int($0) }
        guard length ?? 0 > 0 || request.headers[.transferEncoding] != nil else { return ByteBuffer() }
        let channel = connection.channel
        let deadline = channel.eventLoop.scheduleTask(in: TimeAmount(configuration.timeouts.body)) {
            channel.close(promise: nil)
        }
        defer { deadline.cancel() }
        return try await connection.readBody(upTo: configuration.bodyLimit)
    }

    /// Routes a request. Answers OPTIONS for every resource, and adds OPTIONS to the Allow field of 405 responses.
    func route(_ call: RouteRequest) async -> RouteResponse {
        let reply: RouteResponse
        do throws(Refusal) { reply = try await dispatch(call) } catch { reply = error.reply }
        guard reply.status == .methodNotAllowed, let allowed = reply.headers[.allow], !allowed.contains("OPTIONS")
        else { return reply }
        guard call.method == .options else { return reply.with(.allow, allowed + ", OPTIONS") }
        return RouteResponse(.ok, [.allow: allowed + ", OPTIONS"])
    }

    private func dispatch(_ call: RouteRequest) async throws(Refusal) -> RouteResponse {
        switch call.path.first {
        // OPTIONS for the server as a whole (RFC 9110 section 9.3.7).
        case "*" where call.method == .options:
            return RouteResponse(.ok, [.allow: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"])
        case nil: return frontPage(call)
        case "_" where call.path.count == 2: return asset(call)
        case "favicon.ico" where call.path.count == 1: return icon(call)
        case "services": return try await serviceRoute(call)
        case "broadcasts": return directory(call)
        default: break
        }
        if let id = call.broadcast, call.path.count == 2, call.path.last == "moved" { return moved(call, id) }
        if let id = call.broadcast, let refusal = try await fetch(id, for: call) { return refusal }
        if let id = call.broadcast, broadcasts[id] == nil {
            if let tunnel = tunnels[.broadcast(id)] { return await forward(call, tunnel) }
            if let fetcher = configuration.fetcher, fetcher.knows(id) {
                // The page needs no media.
                if call.path.count == 1 { return page(call) }
                return try await respond(to: call, id, from: fetcher)
            }
        }
        guard let name = call.path.first, let id = call.broadcast, let broadcast = broadcasts[id] else {
            return nothing(call, isBroadcast: call.path.count == 1 && call.broadcast != nil)
        }
        if name != id.text {
            let rest = call.path.dropFirst().map { "/" + $0 }.joined()
            return RouteResponse(.temporaryRedirect, [.location: "/" + id.text + rest])
        }
        if call.path.count == 1 { return page(call, of: broadcast.configuration.name) }
        return try await BroadcastRoutes(server: self, broadcast: broadcast).route(call)
    }

    /// Answers a request for a broadcast that another relay has.
    private func respond(
        to call: RouteRequest, _ id: BroadcastID, from fetcher: any BroadcastFetcher
    ) async throws(Refusal) -> RouteResponse {
        if call.method == .options {
            return RouteResponse(.ok, [.accessControlAllowMethods: "GET, HEAD, POST, PATCH, DELETE, OPTIONS"])
        }
        if call.path.count == 3, call.path[1] == "knock" { return .unknownKnock }
        guard call.path.count == 2, call.path.last == "knock" else {
            // Tokens of this server end with the broadcast.
            _ = try await authorize(call, source: "an accepted knock") { _ in Bool?.none }
            return .notFound
        }
        return try await challenge(call, id, from: fetcher)
    }

    /// Answers a request for a broadcast whose host is elsewhere, or for a service that is. The page of a broadcast is
    /// this server's own.
    private func forward(_ call: RouteRequest, _ tunnel: ReverseTunnel) async -> RouteResponse {
        let parts = tunnel.id.pathParts
        guard call.path.prefix(parts.count).map(String.init) == parts else {
            let rest = call.path.dropFirst(parts.count).map { "/" + $0 }.joined()
            return RouteResponse(.temporaryRedirect, [.location: tunnel.id.path + rest])
        }
        if call.path.count == 1 { return page(call) }
        guard call.opensMessages else { return await tunnel.forward(call) }
        do throws(Refusal) {
            let handshake = try messageHandshake(call)
            return await tunnel.open(
                call, limits: configuration.socketLimits,
                response: handshake.response(choosing: BroadcastRoutes.socketProtocol))
        } catch {
            return error.reply
        }
    }

    private func serviceRoute(_ call: RouteRequest) async throws(Refusal) -> RouteResponse {
        if let id = call.service, let tunnel = tunnels[.service(id)] { return await forward(call, tunnel) }
        guard let name = call.path.dropFirst().first, let id = call.service, let service = services[id] else {
            return nothing(call, isBroadcast: false)
        }
        if name != id.text {
            let rest = call.path.dropFirst(2).map { "/" + $0 }.joined()
            return RouteResponse(.temporaryRedirect, [.location: service.endpoint.path + rest])
        }
        return try await ServiceRoutes(server: self, service: service).route(call)
    }

    func get(_ call: RouteRequest, _ reply: () -> RouteResponse) -> RouteResponse {
        call.method == .get || call.method == .head ? reply() : .methodNotAllowed("GET, HEAD")
    }
}
