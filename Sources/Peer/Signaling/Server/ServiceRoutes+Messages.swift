import Admission
import HTTP
import HTTPTypes
import Identifiers
import MediaCore

/// Messages of a publisher at a relay, with the token of its pairing.
extension ServiceRoutes {
    /// In bytes: an icon in Base64, and the texts.
    private static let applicationLimit = 32_768

    /// Handles `PUT application`, `PUT pause` and `DELETE pause`, `PUT return`, `PUT keys`, `PUT messages`,
    /// `DELETE members/VIEWER` and `PUT viewers/KNOCK`.
    func message(_ call: RouteRequest, _ name: Substring, of item: Substring?) async throws(Refusal) -> RouteResponse {
        let methods: [HTTPRequest.Method] = name == "pause" ? [.put, .delete] : name == "members" ? [.delete] : [.put]
        guard methods.contains(call.method) else {
            return .methodNotAllowed(methods.map(\.rawValue).joined(separator: ", "))
        }
        let sessions = registry.sessions(of: try await paired(call).owner)
        guard let message = try read(call, name, item), await service.delegate.handle(message, by: sessions) else {
            return .notFound
        }
        return RouteResponse(.noContent)
    }

    /// - Returns: nil if the path names no viewer.
    private func read(
        _ call: RouteRequest, _ name: Substring, _ item: Substring?
    ) throws(Refusal) -> PublisherMessage? {
        switch name {
        case "application":
            return .application(
                try server.document(
                    ApplicationInfo.self, of: call, limit: Self.applicationLimit,
                    or: "an application is JSON with id and name, and perhaps an icon"))
        case "pause":
            guard call.method == .put else { return .hold(nil) }
            // Without a body, as of hosts of before, it is a pause.
            return .hold(server.document(HoldDocument.self, of: call, limit: 256)?.known ?? .pause)
        case "return": return .returnViewers
        case "keys":
            let what = "keys are JSON with wraps, 300 at most: base64url by the viewers' certificates"
            let document = try server.document(
                MemberKeysDocument.self, of: call, limit: MemberKeysDocument.sizeLimit, or: what)
            guard let keys = document.keys else { throw Refusal(server.malformed(what)) }
            return .keys(keys)
        case "messages":
            return .sealed(
                try server.document(
                    SealedMessages.self, of: call, limit: SealedMessages.sizeLimit,
                    or: "messages are JSON with frames, 32 at most, droppable ones, 8 at most, and boxes, 64 at most: "
                        + "base64url by the viewers' certificates"))
        case "members": return Base64URL.decode(item, count: 32).map { .removal($0) }
        default:
            let document = try server.document(
                ViewerDecisionDocument.self, of: call, or: "a decision is JSON with decision and reason")
            return item.flatMap { KnockID($0) }.map { .decision(document.value, about: $0) }
        }
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
