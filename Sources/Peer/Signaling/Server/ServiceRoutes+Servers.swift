import Admission
import HTTP
import HTTPTypes

/// The STUN and TURN servers of a service, as `GET servers` tells them to a paired host.
struct ServersDocument: Codable {
    var iceServers: [ICEServer]
}

/// `GET servers` with the token of a pairing: credentials of TURN servers expire before a long session ends.
extension ServiceRoutes {
    func servers(_ call: RouteRequest) async -> RouteResponse {
        guard call.method == .get else { return .methodNotAllowed("GET") }
        switch await authorize(call) {
        case .success((let owner, .paired)):
            return RouteResponse(.ok, json: ServersDocument(iceServers: service.issuedServers(to: owner)))
        case .success: return .notFound
        case .failure(let refusal): return refusal.reply
        }
    }
}
