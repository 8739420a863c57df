import Admission
import HTTP
import HTTPTypes
import Identifiers

/// The routes of one broadcast, below /ID.
struct BroadcastRoutes: EndpointRoutes {
    let server: SignalingServerState
    let broadcast: BroadcastResource

    var configuration: ServedBroadcastConfiguration { broadcast.configuration }
    var endpoint: Endpoint { broadcast.endpoint }
    var approvals: KnockRegistry { broadcast.knocks }
    var registry: AdmissionRegistry { broadcast.admissions }
    var delegate: any SessionDelegate { broadcast.delegate }

    func route(_ call: RouteRequest) async throws(Refusal) -> RouteResponse {
        let item = call.path.dropFirst(2).first
        switch (call.path.dropFirst().first, call.path.count) {
        case ("knock", 2): return call.method == .post ? try await knock(call) : .methodNotAllowed("POST")
        case ("knock", 3): return try await ticket(call, item)
        case ("whep", 2):
            return try await sessions.endpoint(call) { () async throws(Refusal) in try await offer(call) }
        case ("whep", 3):
            return try await sessions.resource(call, item) { () async throws(Refusal) in try await authorize(call).key }
        case ("whep", 4) where call.path[3] == "layer": return try await layer(call, item)
        case ("events", 2):
            let events = events(names: HostEvent.names) { [broadcast] in broadcast.sendLasting(to: $0, of: $1, on: $2) }
            return try await events.respond(to: call) { () async throws(Refusal) in try await authorize(call).key }
        case ("servers", 2):
            return call.method == .get ? servers(for: try await authorize(call).key) : .methodNotAllowed("GET")
        case ("keys", 2): return call.method == .post ? try await keys(call) : .methodNotAllowed("POST")
        case ("messages", 2): return call.method == .get ? try await messageSocket(call) : try await messages(call)
        default: return .notFound
        }
    }

    /// If the link is in a directory, its secret proves nothing: a viewer whom no person has accepted is a stranger.
    func issuedServers(to owner: TokenHash) -> [ICEServer] {
        let isListed = server.directory?.with { $0[configuration.id.text] != nil } ?? false
        return endpoint.issuedServers(isStranger: isListed && !registry.isProven(owner))
    }

    func authorize(_ call: RouteRequest) async throws(Refusal) -> (key: TokenHash, AdmissionRegistry.Admission) {
        try await server.authorize(call, source: "an accepted knock") { registry.admission(token: $0) }
    }
}
