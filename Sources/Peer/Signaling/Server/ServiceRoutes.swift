import Admission
import HTTP
import HTTPTypes

/// The routes of one service, below /services/ID.
struct ServiceRoutes: Sendable {
    let server: SignalingService
    let service: ServiceResource

    var configuration: ServiceConfiguration { service.configuration }

    func respond(to call: RouteRequest) async -> RouteResponse {
        let item = call.path.dropFirst(3).first
        switch (call.path.dropFirst(2).first, call.path.count) {
        case (nil, _): return server.get(call) { RouteResponse(.ok, json: configuration.description) }
        case ("pair", 3): return call.method == .post ? await pair(call) : .methodNotAllowed("POST")
        case ("pair", 4): return await pairing(call, item)
        case ("whip", 3): return await sessions.endpoint(call) { await offer(call) }
        case ("whip", 4): return await sessions.resource(call, item) { await authorize(call).map { $0.owner } }
        case ("events", 3): return await events.respond(to: call) { await authorizeEvents(call) }
        case ("viewers", 4): return await viewer(call, item)
        case ("listing", 3): return await listing(call)
        case ("pause", 3): return await pause(call)
        case ("application", 3): return await application(call)
        case ("return", 3): return await returnViewers(call)
        case ("servers", 3): return await servers(call)
        case ("meeting", 4): return await tunnel(call, item, nil)
        case ("meeting", 5): return await tunnel(call, item, call.path.last)
        default: return .notFound
        }
    }

    /// Returns the owner of the request's token, or the response to a request without a valid one.
    func authorize(_ call: RouteRequest) async -> Result<(owner: TokenHash, PairingRegistry.Admission), Refusal> {
        switch await findAdmission(call) {
        case .success((_, .ended(let event))): return .failure(Refusal(ended(event)))
        case let result: return result
        }
    }

    /// A token that has ended may still fetch its final event. A WHIP tool with the fixed token has no events, because
    /// others have the same token.
    private func authorizeEvents(_ call: RouteRequest) async -> Result<TokenHash, Refusal> {
        switch await findAdmission(call) {
        case .success((_, .fixed)):
            return .failure(
                Refusal(RouteResponse(problem: .notFound, .notFound, "there are no events for the fixed token")))
        case let result: return result.map { $0.owner }
        }
    }

    private func findAdmission(
        _ call: RouteRequest
    ) async -> Result<(owner: TokenHash, PairingRegistry.Admission), Refusal> {
        await server.authorize(call, source: "a pairing") { token in
            let found = service.pairings.admission(token: token)
            // A relay has seen the fixed token, which is valid for its own certificate, too.
            if call.isForwarded, case .fixed? = found?.1 { return nil }
            return found
        }
    }

    func ended(_ event: ServiceEvent?) -> RouteResponse {
        guard case .finished(let reason, _)? = event else {
            return RouteResponse(problem: .ended, .gone, "the service has ended")
        }
        return RouteResponse(problem: .ended, .gone, reason)
    }

    /// The WHIP endpoint and its sessions.
    var sessions: SessionRoutes<PairingRegistry> {
        SessionRoutes(
            server: server, endpoint: service.path + "/whip", sessions: service.pairings, delegate: service.delegate)
    }

    private var events: EventRoutes {
        let service = service
        return EventRoutes(
            server: server, path: service.path + "/events", names: nil, streams: service.eventStreams,
            delegate: service.delegate,
            sessions: { service.pairings.sessions(of: $0) }, begin: { owner, _, _ in service.begin(owner) })
    }
}
