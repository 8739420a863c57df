import Admission
import HTTP
import HTTPTypes
import Identifiers

/// The routes of one service, below /services/ID.
struct ServiceRoutes: EndpointRoutes {
    let server: SignalingServerState
    let service: ServiceResource

    var configuration: ServiceConfiguration { service.configuration }
    var endpoint: Endpoint { service.endpoint }
    var approvals: PairingRegistry { service.pairings }
    var registry: PairingRegistry { service.pairings }
    var delegate: any SessionDelegate { service.delegate }

    func route(_ call: RouteRequest) async throws(Refusal) -> RouteResponse {
        let item = call.path.dropFirst(3).first
        switch (call.path.dropFirst(2).first, call.path.count) {
        case (nil, _): return server.get(call) { RouteResponse(.ok, json: configuration.description) }
        case ("pair", 3): return call.method == .post ? try await pair(call) : .methodNotAllowed("POST")
        case ("pair", 4): return try await ticket(call, item)
        case ("whip", 3):
            return try await sessions.endpoint(call) { () async throws(Refusal) in try await offer(call) }
        case ("whip", 4):
            return try await sessions.resource(call, item) { () async throws(Refusal) in
                try await authorize(call).owner
            }
        case ("events", 3):
            let events = events(names: nil) { [service] owner, _, _ in service.begin(owner) }
            return try await events.respond(to: call) { () async throws(Refusal) in try await authorizeEvents(call) }
        case ("listing", 3): return try await listing(call)
        case ("application", 3), ("pause", 3), ("return", 3), ("keys", 3), ("messages", 3), ("members", 4),
            ("viewers", 4):
            return try await message(call, call.path[2], of: item)
        case ("servers", 3):
            return call.method == .get ? servers(for: try await paired(call).owner) : .methodNotAllowed("GET")
        case ("meeting", 4): return try await tunnel(call, item, nil)
        case ("meeting", 5): return try await tunnel(call, item, call.path.last)
        default: return .notFound
        }
    }

    /// A stranger gets credentials for the time in which its media has to come.
    func issuedServers(to owner: TokenHash) -> [ICEServer] {
        endpoint.issuedServers(isStranger: !registry.isTrusted(owner))
    }

    /// Returns the owner of the request's token, which has not ended.
    func authorize(_ call: RouteRequest) async throws(Refusal) -> (owner: TokenHash, PairingRegistry.Admission) {
        let found = try await findAdmission(call)
        if case .ended(let event) = found.1 { throw Refusal(ended(event)) }
        return found
    }

    /// Returns the pairing of the request's token. The fixed token has none.
    func paired(
        _ call: RouteRequest
    ) async throws(Refusal) -> (owner: TokenHash, request: PairingRequest, token: String) {
        guard case (let owner, .paired(let request, let token)) = try await authorize(call) else {
            throw Refusal(.notFound)
        }
        return (owner, request, token)
    }

    /// A token that has ended may still fetch its final event. A WHIP tool with the fixed token has no events, because
    /// others have the same token.
    private func authorizeEvents(_ call: RouteRequest) async throws(Refusal) -> TokenHash {
        let (owner, admission) = try await findAdmission(call)
        guard case .fixed = admission else { return owner }
        throw Refusal(RouteResponse(problem: .notFound, .notFound, "there are no events for the fixed token"))
    }

    private func findAdmission(
        _ call: RouteRequest
    ) async throws(Refusal) -> (owner: TokenHash, PairingRegistry.Admission) {
        try await server.authorize(call, source: "a pairing") { token in
            let found = registry.admission(token: token)
            // A relay has seen the fixed token, which is valid for its own certificate, too.
            if call.isForwarded, case .fixed? = found?.1 { return nil }
            return found
        }
    }

    var hasEnded: RouteResponse { ended(nil) }

    func ended(_ event: ServiceEvent?) -> RouteResponse {
        guard case .finished(let reason, _)? = event else {
            return RouteResponse(problem: .ended, .gone, "the service has ended")
        }
        return RouteResponse(problem: .ended, .gone, reason)
    }
}
