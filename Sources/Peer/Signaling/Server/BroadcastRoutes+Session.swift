import Admission
import HTTPTypes

extension BroadcastRoutes {
    /// Handles /ID/whep/SESSION.
    func session(_ call: RouteRequest, _ name: Substring?) async -> RouteResponse {
        if call.method == .options {
            return crossOrigin(
                RouteResponse(
                    .ok,
                    [
                        Header.acceptPatch: "application/trickle-ice-sdpfrag",
                        .allow: "PATCH, DELETE, GET, HEAD, OPTIONS",
                        .accessControlAllowMethods: "PATCH, DELETE, GET, HEAD, OPTIONS",
                    ]))
        }
        switch await authorize(call) {
        case .failure(let refusal): return crossOrigin(refusal.reply)
        case .success(let (owner, _)):
            // A session of another token is reported as not found.
            guard let id = name.flatMap({ SessionID($0) }), let session = broadcast.admissions.session(id),
                session.token == owner
            else {
                return crossOrigin(RouteResponse(problem: .notFound, .notFound, "there is no such session (any more)"))
            }
            return crossOrigin(await act(call, id, session))
        }
    }

    private func act(_ call: RouteRequest, _ id: SessionID, _ session: AdmissionRegister.Session) async -> RouteResponse
    {
        switch call.method {
        case .get, .head: return RouteResponse(.noContent)
        case .delete:
            broadcast.admissions.remove(id)
            await broadcast.delegate.closeSession(id)
            return RouteResponse(.ok)
        case .patch: break
        default: return .methodNotAllowed("PATCH, DELETE, GET, HEAD, OPTIONS")
        }
        guard call.mediaType == "application/trickle-ice-sdpfrag" else {
            return RouteResponse(
                problem: .mediaType, .unsupportedMediaType, "a PATCH is application/trickle-ice-sdpfrag"
            )
            .with(Header.acceptPatch, "application/trickle-ice-sdpfrag")
        }
        guard let match = call.headers[.ifMatch] else {
            return RouteResponse(
                problem: .precondition, .preconditionRequired, "a PATCH needs If-Match with the session's ETag")
        }
        guard EntityTag.isMatch(match, session.etag) else {
            return RouteResponse(problem: .precondition, .preconditionFailed, "If-Match names another ICE session")
        }
        do {
            guard let restarted = try await broadcast.delegate.applyFragment(call.bodyText, to: id) else {
                return RouteResponse(.noContent)
            }
            broadcast.admissions.setETag(restarted.etag, of: id)
            server.count { $0.restarts += 1 }
            return RouteResponse(.ok, type: "application/trickle-ice-sdpfrag", restarted.fragment)
                .with(.eTag, "\"\(restarted.etag)\"")
        } catch {
            if case .unknownSession = error.code { broadcast.admissions.remove(id) }
            return refusal(error)
        }
    }
}
