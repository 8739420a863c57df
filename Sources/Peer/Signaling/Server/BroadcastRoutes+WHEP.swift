import Admission
import HTTP
import HTTPTypes
import Identifiers
import Identity
import MediaCore

extension BroadcastRoutes {
    /// Handles POST /ID/whep.
    func offer(_ call: RouteRequest) async throws(Refusal) -> RouteResponse {
        if configuration.isEncryptedByHost, call.bearer == nil {
            return RouteResponse(
                problem: .needsEncryption, .forbidden,
                "this broadcast is encrypted from end to end: open the host's own link in a browser or with share join")
        }
        let (owner, admission) = try await authorize(call)
        if endpoint.streams.hasEnded { return hasEnded }
        let offer = try sessions.offer(in: call)
        var viewer: Viewer
        if let known = admission.viewer {
            guard known.fingerprint == offer.fingerprint else { return sessions.wrongCertificate }
            viewer = known
        } else {
            guard !broadcast.admissions.hasRemoved(certificate: offer.fingerprint) else {
                return RouteResponse(problem: .refused, .forbidden, "the host removed you")
            }
            viewer = Viewer(
                knock: nil, name: "player with the token",
                kind: UntrustedText.kind(userAgent: call.headers[.userAgent]),
                address: call.address.text, fingerprint: offer.fingerprint)
            viewer.isAdmittedByRule = true
        }
        viewer.clientInstance = call.headers[Header.shareVisit].flatMap { ClientInstanceID($0) }
        let place = SessionTable.Owner(
            token: owner, isFixed: admission.isFixed, identity: viewer.identity, fingerprint: offer.fingerprint,
            address: call.address.key)
        // The place is reserved in the same step as the check, because other offers arrive while the host answers this
        // one.
        switch broadcast.admissions.reserve(place, limits: .init(all: configuration.sessionCapacity)) {
        case .full: return sessions.refusal(OfferRefusal(.busy, "there are too many viewers"))
        case .tooManyOfOne:
            return sessions.refusal(
                OfferRefusal(.busy, "there are too many sessions with this token, certificate or address"))
        case .reserved(let reservation, let replaced):
            if let replaced { await broadcast.delegate.closeSession(replaced) }
            let (delegate, sdp, admitted) = (broadcast.delegate, offer.sdp, viewer)
            let session = try await open(reservation) { () throws(OfferRefusal) in
                try await delegate.openSession(offer: sdp, viewer: admitted)
            }
            broadcast.sendLasting(of: session.id)
            return created(session, viewer, owner)
        }
    }

    private func created(_ session: OpenedSession, _ viewer: Viewer, _ owner: TokenHash) -> RouteResponse {
        let stream = endpoint.path + "/events" + EventSelection.query(session: session.id.text, nil)
        let events =
            "<\(stream)>; rel=\"\(WHEPExtension.events)\"; events=\"\(HostEvent.names.joined(separator: ","))\""
        let layer = "<\(sessions.endpoint)/\(session.id.text)/layer>; rel=\"\(WHEPExtension.layers)\""
        var reply = sessions.created(session, links: [events, layer] + issuedServers(to: owner).flatMap(\.links))
        if viewer.knock != nil {
            let known = viewer.isFromAnnouncement ? broadcast.announcedProof : nil
            let proof = (known ?? broadcast.proof).host(viewer: viewer.fingerprint, host: server.identity.fingerprint)
            reply.headers[Header.shareProof] = Base64URL.encode(proof)
        }
        return reply
    }

    /// Handles every method of /ID/whep/SESSION/layer (WHEP's layer selection).
    func layer(_ call: RouteRequest, _ name: Substring?) async throws(Refusal) -> RouteResponse {
        switch call.method {
        case .post: return try await select(call, name)
        case .options:
            return RouteResponse(.ok, [.allow: "POST, OPTIONS", .accessControlAllowMethods: "POST, OPTIONS"])
        default: return RouteResponse.methodNotAllowed("POST, OPTIONS")
        }
    }

    private func select(_ call: RouteRequest, _ name: Substring?) async throws(Refusal) -> RouteResponse {
        let id = try sessions.session(name, of: await authorize(call).key).id
        guard call.mediaType == "application/json" else {
            return RouteResponse(
                problem: .mediaType, .unsupportedMediaType, "a selection of layers is application/json")
        }
        let selection = try server.document(
            LayerSelection.self, of: call, limit: 1_024, or: "that is no selection of layers")
        do throws(OfferRefusal) {
            try await broadcast.delegate.select(selection, for: id)
            return RouteResponse(.ok)
        } catch {
            if case .unknownSession = error.code { broadcast.admissions.remove(id) }
            switch error.code {
            case .unprocessable: return RouteResponse(problem: .layers, .unprocessableContent, error.detail)
            case .ended: return hasEnded
            default: return RouteResponse(problem: .notFound, .notFound, error.detail)
            }
        }
    }
}
