import Admission
import HTTPTypes
import ICEServers
import MediaCore
import SessionDescription

extension SignalingService {
    /// Handles /ID/whep, the WHEP endpoint.
    func whep(_ call: RouteRequest) async -> RouteResponse {
        let reply: RouteResponse
        switch call.method {
        case .post: reply = await offer(call)
        case .options:
            reply = RouteResponse(
                .ok,
                [
                    Header.acceptPost: "application/sdp", .allow: "POST, OPTIONS, GET, HEAD",
                    .accessControlAllowMethods: "POST, GET, HEAD, OPTIONS",
                ])
        case .head: reply = RouteResponse(.ok, [.contentType: "application/sdp"])
        case .get: reply = RouteResponse(.noContent)
        default: reply = methodNotAllowed("POST, OPTIONS, GET, HEAD")
        }
        return crossOrigin(reply)
    }

    /// Adds CORS headers, because players run on pages of other origins. Without a bearer token they get nothing here.
    func crossOrigin(_ reply: RouteResponse) -> RouteResponse {
        reply.with(.accessControlAllowOrigin, "*")
            .with(.accessControlAllowHeaders, "Authorization, Content-Type, If-Match")
            .with(.accessControlExposeHeaders, "Location, ETag, Link, Accept-Patch, Retry-After, Share-Proof")
    }

    private func offer(_ call: RouteRequest) async -> RouteResponse {
        let owner: AdmissionRegister.TokenHash
        let admission: AdmissionRegister.Admission
        switch await authorize(call) {
        case .success(let found): (owner, admission) = found
        case .failure(let refusal): return refusal.reply
        }
        if eventStreams.hasEnded { return hasEnded }
        guard call.mediaType == "application/sdp" else {
            return RouteResponse(problem: .mediaType, .unsupportedMediaType, "an offer is application/sdp")
                .with(Header.acceptPost, "application/sdp")
        }
        count { $0.offers += 1 }
        let sdp = call.bodyText
        let fingerprint: [UInt8]
        do throws(OfferRefusal) {
            fingerprint = try certificate(in: sdp)
        } catch {
            count { $0.malformed += 1 }
            return refusal(error)
        }
        var viewer: Viewer
        if let known = admission.viewer {
            guard known.fingerprint == fingerprint else {
                count { $0.wrongFingerprints += 1 }
                return RouteResponse(problem: .fingerprint, .forbidden, "this token is for another certificate")
            }
            viewer = known
        } else {
            viewer = Viewer(
                knock: nil, name: "player with the token", kind: PeerText.kind(userAgent: call.headers[.userAgent]),
                address: call.address.text, fingerprint: fingerprint)
        }
        viewer.clientInstance = call.headers[Header.shareVisit].flatMap { ClientInstanceID($0) }
        let place = AdmissionRegister.SessionOwner(
            token: owner, isFixed: admission.isFixed, identity: viewer.identity, fingerprint: fingerprint,
            address: call.address.key)
        // The place is reserved in the same step as the check, because other offers arrive while the host answers this
        // one.
        switch admissions.reserve(place, limits: .init(all: configuration.sessionCapacity)) {
        case .full: return refusal(OfferRefusal(.busy, "there are too many viewers"))
        case .tooManyOfOne:
            return refusal(OfferRefusal(.busy, "there are too many sessions with this token, certificate or address"))
        case .reserved(let reservation, let replaced):
            if let replaced { await delegate.close(replaced) }
            switch await open(sdp, viewer, reservation) {
            case .failure(let reason): return refusal(reason)
            case .success(let session):
                count { $0.sessions += 1 }
                if let late = admissions.late(of: session.id) {
                    _ = eventStreams.send(.candidates(fragment: late), to: owner)
                }
                return created(session, viewer)
            }
        }
    }

    /// Returns the SHA-256 fingerprint of the one certificate that an offer names.
    private func certificate(in offer: String) throws(OfferRefusal) -> [UInt8] {
        guard let description = try? SessionDescription.parse(offer) else {
            throw OfferRefusal(.malformed, "The offer is not SDP.")
        }
        do throws(FingerprintError) {
            return try CertificateFingerprints(of: description).sha256.bytes
        } catch {
            throw OfferRefusal(error)
        }
    }

    /// Asks the delegate for an answer, within `answerTimeout`. A session that is opened later is closed. The reservation
    /// is held until the delegate has answered.
    private func open(
        _ sdp: String, _ viewer: Viewer, _ reservation: AdmissionRegister.Reservation
    ) async -> Result<OpenedSession, OfferRefusal> {
        let result = Promise<Result<OpenedSession, OfferRefusal>>()
        let (delegate, admissions) = (delegate, admissions)
        Task {
            do throws(OfferRefusal) {
                let session = try await delegate.open(offer: sdp, viewer: viewer)
                admissions.add(session, reservation)
                guard !result.fulfil(.success(session)) else { return }
                await delegate.close(session.id)
                admissions.remove(session.id)
            } catch {
                admissions.release(reservation)
                result.fulfil(.failure(error))
            }
        }
        let limit = configuration.answerTimeout
        let deadline = Task {
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            result.fulfil(.failure(OfferRefusal(.busy, "the host is too slow to answer")))
        }
        defer { deadline.cancel() }
        return await result.value
    }

    private func created(_ session: OpenedSession, _ viewer: Viewer) -> RouteResponse {
        let base = "/\(configuration.id.text)"
        var reply = RouteResponse(.created, type: "application/sdp", session.answer)
            .with(.location, "\(base)/whep/\(session.id.text)").with(.eTag, "\"\(session.etag)\"")
            .with(Header.acceptPatch, "application/trickle-ice-sdpfrag")
        if viewer.knock != nil {
            let proof = proof.host(viewer: viewer.fingerprint, host: identity.fingerprint)
            reply.headers[Header.shareProof] = Base64URL.encode(proof)
        }
        reply.headers.append(
            HTTPField(
                name: Header.link,
                value: "<\(base)/events>; rel=\"urn:ietf:params:whep:ext:core:server-sent-events\"; "
                    + "events=\"viewercount,ended\""))
        for value in configuration.iceServers.flatMap(\.links) {
            reply.headers.append(HTTPField(name: Header.link, value: value))
        }
        return reply
    }

    private func refusal(_ refusal: OfferRefusal) -> RouteResponse {
        count { $0.offersRefused += 1 }
        switch refusal.code {
        case .malformed: return RouteResponse(problem: .offer, .badRequest, refusal.detail)
        case .notAcceptable: return RouteResponse(problem: .offer, .notAcceptable, refusal.detail)
        case .unprocessable: return RouteResponse(problem: .offer, .unprocessableContent, refusal.detail)
        case .notLive: return RouteResponse(problem: .offer, .conflict, refusal.detail, retryAfter: 2)
        case .busy: return RouteResponse(problem: .offer, .serviceUnavailable, refusal.detail, retryAfter: 5)
        case .unknownSession: return RouteResponse(problem: .notFound, .notFound, refusal.detail)
        }
    }

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
            guard let id = name.flatMap({ SessionID($0) }), let session = admissions.session(id), session.owner == owner
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
            admissions.remove(id)
            await delegate.close(id)
            return RouteResponse(.ok)
        case .patch: break
        default: return methodNotAllowed("PATCH, DELETE, GET, HEAD, OPTIONS")
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
            guard let restarted = try await delegate.patch(call.bodyText, id) else { return RouteResponse(.noContent) }
            admissions.rename(id, etag: restarted.etag)
            count { $0.restarts += 1 }
            return RouteResponse(.ok, type: "application/trickle-ice-sdpfrag", restarted.fragment)
                .with(.eTag, "\"\(restarted.etag)\"")
        } catch {
            if case .unknownSession = error.code { admissions.remove(id) }
            return refusal(error)
        }
    }
}
