import Admission
import HTTP
import HTTPTypes
import Identifiers
import MediaCore

/// Messages of a publisher at a relay, with the token of its pairing.
extension ServiceRoutes {
    /// In bytes: an icon in Base64, and the texts.
    private static let applicationLimit = 32_768

    /// Handles `PUT pause` and `DELETE pause`: the broadcast is held back, or goes on.
    func pause(_ call: RouteRequest) async throws(Refusal) -> RouteResponse {
        guard call.method == .put || call.method == .delete else { return .methodNotAllowed("PUT, DELETE") }
        // Without a body, as of hosts of before, it is a pause.
        let hold =
            call.method == .put ? server.document(HoldDocument.self, of: call, limit: 256)?.known ?? .pause : nil
        return try await tell(call) { await service.delegate.note(hold, by: $0) }
    }

    /// Handles `PUT return`: the viewers whom the host has sent here go back to it.
    func returnViewers(_ call: RouteRequest) async throws(Refusal) -> RouteResponse {
        guard call.method == .put else { return .methodNotAllowed("PUT") }
        return try await tell(call) { await service.delegate.returnViewers(by: $0) }
    }

    /// Handles `PUT keys`: they are passed on to viewers of the broadcast.
    func keys(_ call: RouteRequest) async throws(Refusal) -> RouteResponse {
        guard call.method == .put else { return .methodNotAllowed("PUT") }
        let owner = try await paired(call).owner
        let what = "keys are JSON with wraps, 300 at most: base64url by the viewers' certificates"
        let document = try server.document(
            MemberKeysDocument.self, of: call, limit: MemberKeysDocument.sizeLimit, or: what)
        guard let keys = document.keys else { return server.malformed(what) }
        let isPassed = await service.delegate.pass(keys, by: registry.sessions(of: owner))
        return isPassed ? RouteResponse(.noContent) : .notFound
    }

    /// Handles `DELETE members/VIEWER`: the host has removed that viewer.
    func member(_ call: RouteRequest, _ name: Substring?) async throws(Refusal) -> RouteResponse {
        guard call.method == .delete else { return .methodNotAllowed("DELETE") }
        guard let viewer = Base64URL.decode(name, count: 32) else { return .notFound }
        return try await tell(call) { await service.delegate.remove(viewer: viewer, by: $0) }
    }

    /// Handles `PUT application`: what the broadcast shows now, as JSON like that of the pairing.
    func application(_ call: RouteRequest) async throws(Refusal) -> RouteResponse {
        guard call.method == .put else { return .methodNotAllowed("PUT") }
        let application = try server.document(
            ApplicationInfo.self, of: call, limit: Self.applicationLimit,
            or: "an application is JSON with id and name, and perhaps an icon")
        return try await tell(call) { await service.delegate.annotate(application, by: $0) }
    }

    /// - Parameter tell: gets the sessions of the request's pairing, and returns false if no broadcast is among them.
    private func tell(
        _ call: RouteRequest, _ tell: ([SessionID]) async -> Bool
    ) async throws(Refusal) -> RouteResponse {
        let owner = try await paired(call).owner
        return await tell(registry.sessions(of: owner)) ? RouteResponse(.noContent) : .notFound
    }

    /// Handles `PUT listing` and `DELETE listing`: lists the broadcast in the directory, or takes it out.
    func listing(_ call: RouteRequest) async throws(Refusal) -> RouteResponse {
        guard call.method == .put || call.method == .delete else { return .methodNotAllowed("PUT, DELETE") }
        let (owner, request, _) = try await paired(call)
        guard server.directory != nil else { return .notFound }
        let sessions = registry.sessions(of: owner)
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

/// The result of a request to be listed.
public enum ListingOutcome: Sendable {
    case listed
    /// The publisher has no broadcast that can be watched.
    case notLive
    /// The link is not that of the publisher's broadcast.
    case wrongLink
    case full
}
