import Admission
import HTTPTypes

/// Pauses: `PUT pause` with the token of a pairing says that its broadcast is paused, `DELETE pause` that it goes on.
extension ServiceRoutes {
    func pause(_ call: RouteRequest) async -> RouteResponse {
        guard call.method == .put || call.method == .delete else { return .methodNotAllowed("PUT, DELETE") }
        let (owner, admission): (TokenHash, PairingRegister.Admission)
        switch await authorize(call) {
        case .success(let found): (owner, admission) = found
        case .failure(let refusal): return refusal.reply
        }
        guard case .paired = admission else { return .notFound }
        let sessions = service.pairings.sessions(of: owner)
        guard await service.delegate.notePause(call.method == .put, by: sessions) else { return .notFound }
        return RouteResponse(.noContent)
    }
}
