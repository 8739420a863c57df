import Admission
import HTTP
import HTTPTypes
import Identifiers
import Identity
import MediaCore

extension BroadcastRoutes {
    /// Handles POST /ID/whep.
    func offer(_ call: RouteRequest) async -> RouteResponse {
        let owner: TokenHash
        let admission: AdmissionRegistry.Admission
        switch await authorize(call) {
        case .success(let found): (owner, admission) = found
        case .failure(let refusal): return refusal.reply
        }
        if broadcast.eventStreams.hasEnded { return hasEnded }
        let offer: SessionRoutes<AdmissionRegistry>.OfferBody
        switch sessions.offer(in: call) {
        case .success(let found): offer = found
        case .failure(let refusal): return refusal.reply
        }
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
            return await open(offer.sdp, viewer, owner, reservation)
        }
    }

    private func open(
        _ sdp: String, _ viewer: Viewer, _ owner: TokenHash, _ reservation: SessionTable.Reservation
    ) async -> RouteResponse {
        let (delegate, eventStreams) = (broadcast.delegate, broadcast.eventStreams)
        let opened = await sessions.open(reservation, hasEnded: { eventStreams.hasEnded }) { () throws(OfferRefusal) in
            try await delegate.openSession(offer: sdp, viewer: viewer)
        }
        switch opened {
        case .failure(let reason): return sessions.refusal(reason)
        case .success(let session):
            broadcast.sendLasting(of: session.id)
            return created(session, viewer, owner)
        }
    }

    private func created(_ session: OpenedSession, _ viewer: Viewer, _ owner: TokenHash) -> RouteResponse {
        let stream = "/\(configuration.id.text)/events" + EventSelection.query(session: session.id.text, nil)
        let events =
            "<\(stream)>; rel=\"\(WHEPExtension.events)\"; events=\"\(HostEvent.names.joined(separator: ","))\""
        let layer = "<\(sessions.endpoint)/\(session.id.text)/layer>; rel=\"\(WHEPExtension.layers)\""
        var reply = sessions.created(session, links: [events, layer] + issuedServers(to: owner).flatMap(\.links))
        if viewer.knock != nil {
            let proof = broadcast.proof.host(viewer: viewer.fingerprint, host: server.identity.fingerprint)
            reply.headers[Header.shareProof] = Base64URL.encode(proof)
        }
        return reply
    }

    /// Handles every method of /ID/whep/SESSION/layer (WHEP's layer selection).
    func layer(_ call: RouteRequest, _ name: Substring?) async -> RouteResponse {
        switch call.method {
        case .post: return await select(call, name)
        case .options:
            return RouteResponse(.ok, [.allow: "POST, OPTIONS", .accessControlAllowMethods: "POST, OPTIONS"])
        default: return RouteResponse.methodNotAllowed("POST, OPTIONS")
        }
    }

    private func select(_ call: RouteRequest, _ name: Substring?) async -> RouteResponse {
        let id: SessionID
        switch sessions.session(name, of: await authorize(call).map({ $0.key })) {
        case .success(let found): id = found.id
        case .failure(let refusal): return refusal.reply
        }
        guard call.mediaType == "application/json" else {
            return RouteResponse(
                problem: .mediaType, .unsupportedMediaType, "a selection of layers is application/json")
        }
        guard let selection = server.document(LayerSelection.self, of: call, limit: 1_024) else {
            return server.malformed("that is no selection of layers")
        }
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
