import Admission
import HTTP
import HTTPTypes
import Identifiers

/// The routes of one broadcast, below /ID.
struct BroadcastRoutes: Sendable {
    let server: SignalingService
    let broadcast: BroadcastResource

    var configuration: BroadcastConfiguration { broadcast.configuration }

    func respond(to call: RouteRequest) async -> RouteResponse {
        let item = call.path.dropFirst(2).first
        switch (call.path.dropFirst().first, call.path.count) {
        case ("knock", 2): return await onlyPost(call) { await knock(call) }
        case ("knock", 3): return await knock(call, item)
        case ("whep", 2): return await sessions.endpoint(call) { await offer(call) }
        case ("whep", 3):
            return await sessions.resource(call, item) { await authorize(call).map { $0.key } }
        case ("whep", 4) where call.path[3] == "layer": return await layer(call, item)
        case ("events", 2): return await events.respond(to: call) { await authorize(call).map { $0.key } }
        case ("servers", 2): return await servers(call)
        case ("messages", 2):
            return await onlyPost(call) {
                RouteResponse(problem: .reserved, .notImplemented, "this host takes no messages")
            }
        default: return .notFound
        }
    }

    /// Handles GET /ID/servers: credentials of TURN servers expire before a long session ends.
    private func servers(_ call: RouteRequest) async -> RouteResponse {
        guard call.method == .get else { return .methodNotAllowed("GET") }
        switch await authorize(call) {
        case .success(let (owner, _)):
            return RouteResponse(.ok, json: ServersDocument(iceServers: issuedServers(to: owner)))
        case .failure(let refusal): return refusal.reply
        }
    }

    func issuedServers(to owner: TokenHash) -> [ICEServer] {
        let isListed = server.directory?.with { $0[configuration.id.text] != nil } ?? false
        return broadcast.issuedServers(to: owner, isListed: isListed)
    }

    private func onlyPost(_ call: RouteRequest, _ reply: () async -> RouteResponse) async -> RouteResponse {
        call.method == .post ? await reply() : .methodNotAllowed("POST")
    }

    /// Returns the admission of the request's token, or the response to a request without a valid one.
    func authorize(_ call: RouteRequest) async -> Result<(key: TokenHash, AdmissionRegistry.Admission), Refusal> {
        await server.authorize(call, source: "an accepted knock") { broadcast.admissions.admission(token: $0) }
    }

    /// The WHEP endpoint and its sessions.
    var sessions: SessionRoutes<AdmissionRegistry> {
        SessionRoutes(
            server: server, endpoint: "/\(configuration.id.text)/whep", sessions: broadcast.admissions,
            delegate: broadcast.delegate)
    }

    private var events: EventRoutes {
        let broadcast = broadcast
        return EventRoutes(
            server: server, path: "/\(configuration.id.text)/events", names: HostEvent.names,
            streams: broadcast.eventStreams, delegate: broadcast.delegate,
            sessions: { broadcast.admissions.sessions(of: $0) },
            begin: { broadcast.sendLasting(to: $0, of: $1, on: $2) })
    }
}
