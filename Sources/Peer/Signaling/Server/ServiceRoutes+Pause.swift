import HTTP
import HTTPTypes
import Identifiers

/// Messages of a publisher to its viewers at a relay, with the token of its pairing: `PUT pause` says that the broadcast is paused,
/// `DELETE pause` that it goes on, and `PUT return` that those whom the host has sent there go back to it.
extension ServiceRoutes {
    func pause(_ call: RouteRequest) async -> RouteResponse {
        guard call.method == .put || call.method == .delete else { return .methodNotAllowed("PUT, DELETE") }
        let isPaused = call.method == .put
        return await tell(call) { await service.delegate.notePause(isPaused, by: $0) }
    }

    func returnViewers(_ call: RouteRequest) async -> RouteResponse {
        guard call.method == .put else { return .methodNotAllowed("PUT") }
        return await tell(call) { await service.delegate.returnViewers(by: $0) }
    }

    /// - Parameter tell: gets the sessions of the request's pairing, and returns false if no broadcast is among them.
    func tell(_ call: RouteRequest, _ tell: ([SessionID]) async -> Bool) async -> RouteResponse {
        let (owner, admission): (TokenHash, PairingRegistry.Admission)
        switch await authorize(call) {
        case .success(let found): (owner, admission) = found
        case .failure(let refusal): return refusal.reply
        }
        guard case .paired = admission else { return .notFound }
        return await tell(service.pairings.sessions(of: owner)) ? RouteResponse(.noContent) : .notFound
    }
}
