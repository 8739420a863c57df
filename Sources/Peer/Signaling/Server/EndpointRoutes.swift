import Admission
import HTTP
import HTTPTypes
import Identifiers

/// The STUN and TURN servers of a broadcast or a service, as `GET servers` tells them.
struct ServersDocument: Codable {
    var iceServers: [ICEServer]
}

/// The routes of a broadcast or a service: what both have alike.
protocol EndpointRoutes: Sendable {
    associatedtype Handler: ApprovalHandler
    associatedtype Sessions: SessionRegistry

    var server: SignalingServerState { get }
    var endpoint: Endpoint { get }
    var approvals: ApprovalRegistry<Handler> { get }
    var registry: Sessions { get }
    var delegate: any SessionDelegate { get }

    func route(_ call: RouteRequest) async throws(Refusal) -> RouteResponse
    /// Handles the signature of a request for an approval.
    func sign(_ call: RouteRequest, _ ticket: KnockID) async throws(Refusal) -> RouteResponse
    func response(to outcome: Handler.Table.Outcome) async -> RouteResponse
    /// The response to a request for a ticket that is not known.
    var unknownTicket: RouteResponse { get }
    var hasEnded: RouteResponse { get }
    func issuedServers(to owner: TokenHash) -> [ICEServer]
}

extension EndpointRoutes {
    /// Handles PUT, GET and DELETE of a ticket.
    func ticket(_ call: RouteRequest, _ name: Substring?) async throws(Refusal) -> RouteResponse {
        guard [.put, .get, .delete].contains(call.method) else { return .methodNotAllowed("PUT, GET, DELETE") }
        // The path is not a valid ticket.
        guard let ticket = name.flatMap({ KnockID($0) }) else { return .notFound }
        switch call.method {
        case .put: return try await sign(call, ticket)
        case .delete: return approvals.withdraw(ticket) ? RouteResponse(.noContent) : unknownTicket
        default: break
        }
        switch await approvals.wait(ticket, closed: call.connection.closed) {
        case .waiting: return RouteResponse(.accepted)
        case .unknown: return unknownTicket
        case .outcome(let outcome): return await response(to: outcome)
        }
    }

    /// The response to GET servers: credentials of TURN servers expire before a long session ends.
    func servers(for owner: TokenHash) -> RouteResponse {
        RouteResponse(.ok, json: ServersDocument(iceServers: issuedServers(to: owner)))
    }

    /// Opens a session for an offer, with a place that was reserved for it.
    func open(
        _ reservation: Sessions.Reservation,
        _ answer: @escaping @Sendable () async throws(OfferRefusal) -> OpenedSession
    ) async throws(Refusal) -> OpenedSession {
        let streams = endpoint.streams
        return try await sessions.open(reservation, hasEnded: { streams.hasEnded }, answer)
    }

    /// The WHEP or WHIP endpoint and its sessions.
    var sessions: SessionRoutes<Sessions> {
        SessionRoutes(
            server: server, endpoint: endpoint.path + Sessions.mediaPath, sessions: registry, delegate: delegate)
    }

    /// The event streams.
    /// - Parameters:
    ///   - names: of the events among which a POST may choose; nil: it does not choose.
    ///   - begin: sends the events with which a new stream begins, which has this number. The session is the one that
    ///     it is of; nil: all of its owner.
    func events(
        names: [String]?, begin: @escaping @Sendable (TokenHash, SessionID?, Int) -> Void
    ) -> EventRoutes {
        EventRoutes(
            server: server, path: endpoint.path + "/events", names: names, streams: endpoint.streams,
            delegate: delegate, sessions: { [registry] in registry.sessions(of: $0) }, begin: begin)
    }
}
