import Admission
import HTTPTypes
import ICEServers
import MediaCore
import SessionDescription

extension BroadcastRoutes {
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
        default: reply = .methodNotAllowed("POST, OPTIONS, GET, HEAD")
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
        if broadcast.eventStreams.hasEnded { return hasEnded }
        guard call.mediaType == "application/sdp" else {
            return RouteResponse(problem: .mediaType, .unsupportedMediaType, "an offer is application/sdp")
                .with(Header.acceptPost, "application/sdp")
        }
        server.count { $0.offers += 1 }
        let sdp = call.bodyText
        let fingerprint: [UInt8]
        do throws(OfferRefusal) {
            fingerprint = try certificate(in: sdp)
        } catch {
            server.count { $0.malformed += 1 }
            return refusal(error)
        }
        var viewer: Viewer
        if let known = admission.viewer {
            guard known.fingerprint == fingerprint else {
                server.count { $0.wrongFingerprints += 1 }
                return RouteResponse(problem: .fingerprint, .forbidden, "this token is for another certificate")
            }
            viewer = known
        } else {
            guard !broadcast.admissions.hasRemoved(certificate: fingerprint) else {
                return RouteResponse(problem: .refused, .forbidden, "the host removed you")
            }
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
        switch broadcast.admissions.reserve(place, limits: .init(all: configuration.sessionCapacity)) {
        case .full: return refusal(OfferRefusal(.busy, "there are too many viewers"))
        case .tooManyOfOne:
            return refusal(OfferRefusal(.busy, "there are too many sessions with this token, certificate or address"))
        case .reserved(let reservation, let replaced):
            if let replaced { await broadcast.delegate.closeSession(replaced) }
            switch await open(sdp, viewer, reservation) {
            case .failure(let reason): return refusal(reason)
            case .success(let session):
                server.count { $0.sessions += 1 }
                if let late = broadcast.admissions.late(of: session.id) {
                    _ = broadcast.eventStreams.send(.candidates(fragment: late), to: owner)
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

    /// Asks the delegate for an answer, within `answerTimeout`. A session that is opened later, or after the end of the
    /// broadcast, is closed. The reservation is held until the delegate has answered.
    private func open(
        _ sdp: String, _ viewer: Viewer, _ reservation: AdmissionRegister.Reservation
    ) async -> Result<OpenedSession, OfferRefusal> {
        let result = Promise<Result<OpenedSession, OfferRefusal>>()
        let (delegate, admissions) = (broadcast.delegate, broadcast.admissions)
        let eventStreams = broadcast.eventStreams
        Task {
            do throws(OfferRefusal) {
                let session = try await delegate.openSession(offer: sdp, viewer: viewer)
                if !admissions.add(session, reservation) {
                    result.fulfil(.failure(OfferRefusal(.busy, "The host has ended this session already.")))
                } else if eventStreams.hasEnded {
                    result.fulfil(.failure(OfferRefusal(.ended, "The broadcast has ended.")))
                } else if result.fulfil(.success(session)) {
                    return
                }
                await delegate.closeSession(session.id)
                admissions.remove(session.id)
            } catch {
                admissions.release(reservation)
                result.fulfil(.failure(error))
            }
        }
        let limit = server.configuration.answerTimeout
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
            let proof = broadcast.proof.host(viewer: viewer.fingerprint, host: server.identity.fingerprint)
            reply.headers[Header.shareProof] = Base64URL.encode(proof)
        }
        reply.headers.append(
            HTTPField(
                name: Header.link,
                value: "<\(base)/events>; rel=\"urn:ietf:params:whep:ext:core:server-sent-events\"; "
                    + "events=\"viewercount,paused,resumed,ended\""))
        for value in configuration.iceServers.flatMap(\.links) {
            reply.headers.append(HTTPField(name: Header.link, value: value))
        }
        return reply
    }

    /// The response to a refused offer or fragment. It is counted.
    func refusal(_ refusal: OfferRefusal) -> RouteResponse {
        server.count { $0.offersRefused += 1 }
        switch refusal.code {
        case .malformed: return RouteResponse(problem: .offer, .badRequest, refusal.detail)
        case .notAcceptable: return RouteResponse(problem: .offer, .notAcceptable, refusal.detail)
        case .unprocessable: return RouteResponse(problem: .offer, .unprocessableContent, refusal.detail)
        case .ended: return RouteResponse(problem: .ended, .gone, refusal.detail)
        case .busy: return RouteResponse(problem: .offer, .serviceUnavailable, refusal.detail, retryAfter: 5)
        case .unknownSession: return RouteResponse(problem: .notFound, .notFound, refusal.detail)
        }
    }
}
