import Admission
import HTTP
import HTTPTypes

extension BroadcastRoutes {
    /// The subprotocol of the WebSocket, which is version 1.
    static let socketProtocol = "share.messages.1"

    /// Handles GET /ID/messages: the WebSocket of an admitted viewer. If a relay passes its texts on, the relay has the
    /// connection, and has checked the handshake.
    func messageSocket(_ call: RouteRequest) async throws(Refusal) -> RouteResponse {
        let handshake = call.isForwarded ? nil : try server.messageHandshake(call)
        guard !call.isForwarded || call.isForwardedSocket else {
            return RouteResponse(problem: .upgrade, .upgradeRequired, "this is a WebSocket")
        }
        let (owner, admission) = try await authorize(call)
        if endpoint.streams.hasEnded { return hasEnded }
        // Everybody with the fixed token has it.
        guard let viewer = admission.viewer else {
            return RouteResponse(problem: .notFound, .conflict, "only who was admitted can say something")
        }
        if call.isForwarded, viewer.keyWrap == nil { return MessageProblem.needsEncryption.response }
        guard let place = broadcast.sockets.open(owner, limits: server.configuration.socketLimits) else {
            return .limited("too many sockets are open", 5)
        }
        server.count { $0.messageSockets += 1 }
        var reply = RouteResponse(
            .switchingProtocols, handshake?.response(choosing: Self.socketProtocol) ?? [:])
        reply.upgrade = SocketUpgrade(place.socket) { [self] in
            for await message in place.socket.messages {
                // The token may have expired since.
                guard broadcast.admissions.isValid(owner) else {
                    place.socket.close(.unauthorized)
                    break
                }
                let problem =
                    call.isForwarded
                    ? await take(sealed: message, owner, from: viewer) : await take(message, from: viewer)
                if let problem { place.socket.send(problem.text) } else { place.noteMessage() }
            }
            place.socket.close(.goingAway)
            // Not for one that a relay opens, nor for an older one of the viewer.
            if place.spokeLast(owner) { await broadcast.delegate.closedMessages(of: viewer) }
        }
        return reply
    }
}

extension RouteRequest {
    /// Whether it asks for the WebSocket of messages of a broadcast.
    var opensMessages: Bool {
        method == .get && path.count == 2 && path[1] == "messages" && broadcast != nil
            && WebSocketHandshake.isUpgrade(headers)
    }
}

extension SignalingServerState {
    /// Checks a viewer's request for the WebSocket of messages.
    func messageHandshake(_ call: RouteRequest) throws(Refusal) -> WebSocketHandshake {
        let handshake: WebSocketHandshake
        do throws(WebSocketHandshake.Flaw) {
            handshake = try WebSocketHandshake(call.headers)
        } catch {
            guard case .noUpgrade = error else { throw Refusal(malformed("Sec-WebSocket-Key has 16 bytes")) }
            throw Refusal(
                RouteResponse(problem: .upgrade, .upgradeRequired, "this is a WebSocket of version 13")
                    .with(.upgrade, "websocket").with(Header.socketVersion, "13"))
        }
        guard handshake.protocols.contains(BroadcastRoutes.socketProtocol) else {
            throw Refusal(malformed("the WebSocket's subprotocol is \(BroadcastRoutes.socketProtocol)"))
        }
        guard call.isOfSameOrigin else {
            throw Refusal(
                RouteResponse(problem: .origin, .forbidden, "a page of another origin may not open this"))
        }
        return handshake
    }
}
