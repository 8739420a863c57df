import Admission
import HTTP
import HTTPTypes
import Identifiers
import Identity
import MediaCore
import NIOCore

/// Tunnels: `GET meeting/ID` is the stream of events on which a host gets its viewers' requests, or a service those of
/// its hosts; `POST meeting/ID/NUMBER` takes a part of the response, and `DELETE meeting/ID` ends the tunnel.
extension ServiceRoutes {
    func tunnel(
        _ call: RouteRequest, _ name: Substring?, _ number: Substring?
    ) async throws(Refusal) -> RouteResponse {
        guard let id = name.flatMap({ TunnelID($0) }) else { return .notFound }
        let (owner, request, token) = try await paired(call)
        if let number {
            guard call.method == .post else { return .methodNotAllowed("POST") }
            return try respond(call, id, owner, number)
        }
        if call.method == .delete { return await leave(id, owner) }
        guard call.method == .get else { return .methodNotAllowed("GET, DELETE") }
        if let tunnel = server.tunnels[id] {
            if tunnel.owner == owner { return stream(tunnel, call.connection) }
            return server.tunnels.isOwner(request.fingerprint, of: id) ? exists : taken
        }
        guard !isServedHere(id) else { return exists }
        return await open(call, id, owner, request, token)
    }

    /// Whether this server itself has a broadcast or a service with the identifier, or can get it.
    private func isServedHere(_ id: TunnelID) -> Bool {
        switch id {
        case .broadcast(let id):
            server.broadcasts[id] != nil || server.configuration.fetcher?.knows(id) == true
        case .service(let id): server.services[id] != nil
        }
    }

    /// Handles that the owner ends the tunnel.
    private func leave(_ id: TunnelID, _ owner: TokenHash) async -> RouteResponse {
        guard let tunnel = server.tunnels[id], tunnel.owner == owner else { return .notFound }
        registry.remove(tunnel.session)
        await service.delegate.closeSession(tunnel.session)
        return RouteResponse(.ok)
    }

    private var exists: RouteResponse {
        RouteResponse(problem: .sessionExists, .conflict, "this identifier is in use")
    }

    private var taken: RouteResponse {
        RouteResponse(problem: .identifierTaken, .forbidden, "this identifier is another certificate's")
    }

    private func open(
        _ call: RouteRequest, _ id: TunnelID, _ owner: TokenHash, _ request: PairingRequest, _ token: String
    ) async -> RouteResponse {
        let place = SessionTable.Owner(
            token: owner, isFixed: false, identity: nil, fingerprint: request.fingerprint, address: call.address.key)
        let reservation: PairingRegistry.Reservation
        switch registry.reserve(place, token: token) {
        case .reserved(let found): reservation = found
        case .taken: return exists
        case .otherCertificate, .ended, .full: return hasEnded
        }
        let session = SessionID.random()
        let publisher = Publisher(
            pairing: request.id, application: request.application, setup: request.setup,
            kind: UntrustedText.kind(userAgent: call.headers[.userAgent]), address: call.address.text,
            fingerprint: request.fingerprint)
        let tunnel = ReverseTunnel(id, owner: owner, session: session)
        switch server.tunnels.add(tunnel, of: request.fingerprint, at: call.address.key) {
        case .added: break
        case .exists, .isAnothers:
            registry.release(reservation)
            return server.tunnels.isOwner(request.fingerprint, of: id) ? exists : taken
        }
        guard await service.delegate.openTunnel(session, of: id, publisher: publisher) else {
            registry.release(reservation)
            server.tunnels.end(session, reason: "no meeting")
            return .notFound
        }
        let isAdded = registry.add(OpenedSession(id: session, answer: "", etag: ""), reservation)
        // The host may have left meanwhile.
        guard isAdded, server.tunnels[id] === tunnel else {
            if isAdded { registry.remove(session) }
            server.tunnels.end(session, reason: "no meeting")
            await service.delegate.closeSession(session)
            return hasEnded
        }
        return stream(tunnel, call.connection)
    }

    private func stream(_ tunnel: ReverseTunnel, _ connection: RouteConnection) -> RouteResponse {
        var reply = RouteResponse(.ok, [.contentType: "text/event-stream"])
        let beat = TimeAmount(server.configuration.heartbeat)
        let pairings = registry
        server.count { $0.eventStreams += 1 }
        // Requests are forwarded from now on.
        let (number, events) = tunnel.open()
        connection.closed.whenComplete { _ in tunnel.closed(number) }
        reply.body = ResponseBody { writer in
            let heart = connection.eventLoop.scheduleRepeatedTask(initialDelay: beat, delay: beat) { _ in
                tunnel.beat(number)
            }
            // The session is alive as long as its host is connected, and for a while after that.
            let life = connection.eventLoop.scheduleRepeatedTask(
                initialDelay: .zero, delay: TimeAmount(Self.livenessInterval)
            ) { _ in pairings.keep(tunnel, for: Self.absenceLimit) }
            defer {
                heart.cancel()
                life.cancel()
                tunnel.closed(number)
            }
            for await event in events {
                guard let text = tunnel.take(event, on: number) else { continue }
                try await writer.write(ByteBuffer(string: text))
            }
        }
        return reply
    }

    private static var livenessInterval: Duration { .seconds(5) }
    /// The time that a host has to connect again, for example in another network.
    private static var absenceLimit: Duration { .seconds(60) }

    private func respond(
        _ call: RouteRequest, _ id: TunnelID, _ owner: TokenHash, _ number: Substring
    ) throws(Refusal) -> RouteResponse {
        guard let tunnel = server.tunnels[id], tunnel.owner == owner, let number = Int(number),
            tunnel.isPending(number)
        else { return .notFound }
        let part = try server.document(
            ForwardedResponse.self, of: call, limit: server.configuration.bodyLimit,
            or: "a response is JSON with status, headers, body and continues")
        return tunnel.take(part, for: number) ? RouteResponse(.noContent) : .notFound
    }
}
