import Admission
import HTTP
import HTTPTypes

extension BroadcastRoutes {
    /// The subprotocol of the WebSocket, which is version 1.
    static let socketProtocol = "share.messages.1"

    /// Handles GET /ID/messages: the WebSocket of an admitted viewer.
    func messageSocket(_ call: RouteRequest) async throws(Refusal) -> RouteResponse {
        let handshake = try self.handshake(call)
        guard call.isOfSameOrigin else {
            return RouteResponse(problem: .origin, .forbidden, "a page of another origin may not open this")
        }
        let (owner, admission) = try await authorize(call)
        if endpoint.streams.hasEnded { return hasEnded }
        // Everybody with the fixed token has it.
        guard let viewer = admission.viewer else {
            return RouteResponse(problem: .notFound, .conflict, "only who was admitted can say something")
        }
        guard let place = broadcast.sockets.open(owner, limits: server.configuration.socketLimits) else {
            return .limited("too many sockets are open", 5)
        }
        server.count { $0.messageSockets += 1 }
        var reply = RouteResponse(.switchingProtocols, handshake.response(choosing: Self.socketProtocol))
        reply.upgrade = SocketUpgrade(place.socket) { [self] in
            for await message in place.socket.messages {
                // The token may have expired since.
                guard broadcast.admissions.isValid(owner) else {
                    place.socket.close(.unauthorized)
                    break
                }
                await take(message, from: viewer, on: place.socket)
            }
            place.socket.close(.goingAway)
        }
        return reply
    }

    private func handshake(_ call: RouteRequest) throws(Refusal) -> WebSocketHandshake {
        guard !call.isForwarded else {
            throw Refusal(
                RouteResponse(problem: .reserved, .notImplemented, "a WebSocket does not go through a relay"))
        }
        let handshake: WebSocketHandshake
        do throws(WebSocketHandshake.Flaw) {
            handshake = try WebSocketHandshake(call.headers)
        } catch {
            guard case .noUpgrade = error else { throw Refusal(server.malformed("Sec-WebSocket-Key has 16 bytes")) }
            throw Refusal(
                RouteResponse(problem: .upgrade, .upgradeRequired, "this is a WebSocket of version 13")
                    .with(.upgrade, "websocket").with(Header.socketVersion, "13"))
        }
        guard handshake.protocols.contains(Self.socketProtocol) else {
            throw Refusal(server.malformed("the WebSocket's subprotocol is \(Self.socketProtocol)"))
        }
        return handshake
    }
}
