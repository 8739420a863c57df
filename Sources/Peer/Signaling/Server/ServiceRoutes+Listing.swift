import Admission
import HTTP
import HTTPTypes

/// Listing: `PUT listing` with the token of a pairing lists its broadcast in the directory, `DELETE listing` takes it
/// out again.
extension ServiceRoutes {
    func listing(_ call: RouteRequest) async -> RouteResponse {
        guard call.method == .put || call.method == .delete else { return .methodNotAllowed("PUT, DELETE") }
        let (owner, admission): (TokenHash, PairingRegistry.Admission)
        switch await authorize(call) {
        case .success(let found): (owner, admission) = found
        case .failure(let refusal): return refusal.reply
        }
        guard server.directory != nil, case .paired(let request, _) = admission else { return .notFound }
        let sessions = service.pairings.sessions(of: owner)
        if call.method == .delete {
            await service.delegate.unlist(sessions)
            return RouteResponse(.noContent)
        }
        guard
            let listing = server.document(ListingDocument.self, of: call, limit: ListingDocument.sizeLimit)?.listing
        else { return server.malformed("a listing is JSON with title, and link for a host with a tunnel") }
        switch await service.delegate.list(listing, of: request.application, by: sessions) {
        case .listed: return RouteResponse(.noContent)
        case .notLive:
            return RouteResponse(problem: .notFound, .notFound, "this pairing has no broadcast that can be watched")
        case .wrongLink: return server.malformed("the link is not that of the broadcast")
        case .full: return RouteResponse(problem: .busy, .serviceUnavailable, "the directory is full", retryAfter: 60)
        }
    }
}

/// What became of a request to be listed.
public enum ListingOutcome: Sendable {
    case listed
    /// The publisher has no broadcast that can be watched.
    case notLive
    /// The link is not that of the publisher's broadcast.
    case wrongLink
    case full
}
