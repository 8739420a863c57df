import Admission
import HTTP
import HTTPTypes
import Identifiers
import LinuxRuntime
import SessionDescription

/// The endpoint and the resources of media sessions, below a broadcast (WHEP) or a service (WHIP, RFC 9725).
///
/// The two protocols differ in who sends media. Their requests, their preconditions and their refusals are the same.
struct SessionRoutes<Registry: SessionRegistry>: Sendable {
    let server: SignalingServerState
    /// The endpoint's path. A session's resource is /SESSION below it.
    let endpoint: String
    let sessions: Registry
    let delegate: any SessionDelegate

    private static var endpointMethods: String { "POST, OPTIONS, GET, HEAD" }
    private static var resourceMethods: String { "PATCH, DELETE, GET, HEAD, OPTIONS" }
    private static var fragmentType: String { "application/trickle-ice-sdpfrag" }

    // MARK: The endpoint

    /// Handles every method of the endpoint.
    /// - Parameter offer: handles POST.
    func endpoint(
        _ call: RouteRequest, _ offer: () async throws(Refusal) -> RouteResponse
    ) async throws(Refusal) -> RouteResponse {
        switch call.method {
        case .post: try await offer()
        case .options:
            RouteResponse(
                .ok,
                [
                    Header.acceptPost: "application/sdp", .allow: Self.endpointMethods,
                    .accessControlAllowMethods: "POST, GET, HEAD, OPTIONS",
                ])
        case .head: RouteResponse(.ok, [.contentType: "application/sdp"])
        case .get: RouteResponse(.noContent)
        default: .methodNotAllowed(Self.endpointMethods)
        }
    }

    /// An offer, and the certificate that it names.
    struct OfferBody: Sendable {
        let sdp: String
        /// SHA-256, 32 bytes.
        let fingerprint: [UInt8]
    }

    /// Reads the body of a POST. It is counted, also if it is malformed.
    func offer(in call: RouteRequest) throws(Refusal) -> OfferBody {
        guard call.mediaType == "application/sdp" else {
            throw Refusal(
                RouteResponse(problem: .mediaType, .unsupportedMediaType, "an offer is application/sdp")
                    .with(Header.acceptPost, "application/sdp"))
        }
        server.count { $0.offers += 1 }
        do throws(OfferRefusal) {
            return OfferBody(sdp: call.bodyText, fingerprint: try certificate(in: call.bodyText))
        } catch {
            server.count { $0.refusals.malformed += 1 }
            throw Refusal(refusal(error))
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

    /// The response to an offer whose certificate is not that of its token.
    var wrongCertificate: RouteResponse {
        server.count { $0.refusals.wrongFingerprints += 1 }
        return RouteResponse(problem: .fingerprint, .forbidden, "this token is for another certificate")
    }

    /// Opens a session within `Timeouts.answer`. One that is opened later, or after the end of the broadcast or
    /// service, is closed. The reservation is held until the delegate has answered.
    /// - Parameters:
    ///   - hasEnded: whether the broadcast or the service has ended meanwhile.
    ///   - answer: asks the delegate.
    func open(
        _ reservation: Registry.Reservation, hasEnded: @escaping @Sendable () -> Bool,
        _ answer: @escaping @Sendable () async throws(OfferRefusal) -> OpenedSession
    ) async throws(Refusal) -> OpenedSession {
        let result = OneShot<Result<OpenedSession, OfferRefusal>>()
        let (delegate, sessions) = (delegate, sessions)
        Task {
            do throws(OfferRefusal) {
                let session = try await answer()
                if !sessions.add(session, reservation) {
                    result.fulfil(.failure(OfferRefusal(.busy, "The session has been ended already.")))
                } else if hasEnded() {
                    result.fulfil(.failure(OfferRefusal(.ended, "The broadcast has ended.")))
                } else if result.tryFulfil(.success(session)) {
                    return
                }
                await delegate.closeSession(session.id)
                sessions.remove(session.id)
            } catch {
                sessions.release(reservation)
                result.fulfil(.failure(error))
            }
        }
        let limit = server.configuration.timeouts.answer
        let deadline = Task {
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            result.fulfil(.failure(OfferRefusal(.busy, "the answer takes too long")))
        }
        defer { deadline.cancel() }
        do throws(OfferRefusal) {
            return try await result.value.get()
        } catch {
            throw Refusal(refusal(error))
        }
    }

    /// The response to an offer that opened a session. It is counted.
    /// - Parameter links: values of `Link` headers.
    func created(_ session: OpenedSession, links: [String]) -> RouteResponse {
        server.count { $0.sessions += 1 }
        var reply = RouteResponse(.created, type: "application/sdp", session.answer)
            .with(.location, "\(endpoint)/\(session.id.text)").with(.eTag, "\"\(session.etag)\"")
            .with(Header.acceptPatch, Self.fragmentType)
        for value in links {
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
        case .unsupportedCodec: return RouteResponse(problem: .codec, .notAcceptable, refusal.detail)
        case .unprocessable: return RouteResponse(problem: .offer, .unprocessableContent, refusal.detail)
        case .ended: return RouteResponse(problem: .ended, .gone, refusal.detail)
        case .busy: return RouteResponse(problem: .offer, .serviceUnavailable, refusal.detail, retryAfter: 5)
        case .elsewhere: return RouteResponse(problem: .offer, .forbidden, refusal.detail)
        case .unknownSession: return RouteResponse(problem: .notFound, .notFound, refusal.detail)
        }
    }

    // MARK: A session

    /// Handles every method of a session's resource.
    /// - Parameter authorize: returns the owner of the request's token.
    func resource(
        _ call: RouteRequest, _ name: Substring?, _ authorize: () async throws(Refusal) -> TokenHash
    ) async throws(Refusal) -> RouteResponse {
        if call.method == .options {
            return RouteResponse(
                .ok,
                [
                    Header.acceptPatch: Self.fragmentType, .allow: Self.resourceMethods,
                    .accessControlAllowMethods: Self.resourceMethods,
                ]
            )
        }
        let (id, session) = try session(name, of: await authorize())
        return await act(call, id, session)
    }

    /// Finds the session of a resource. One of another token is reported as not found.
    func session(
        _ name: Substring?, of owner: TokenHash
    ) throws(Refusal) -> (id: SessionID, session: SessionTable.Session) {
        guard let id = name.flatMap({ SessionID($0) }), let session = sessions.session(id), session.token == owner
        else { throw Refusal(.unknownSession) }
        return (id, session)
    }

    private func act(_ call: RouteRequest, _ id: SessionID, _ session: SessionTable.Session) async -> RouteResponse {
        switch call.method {
        case .get, .head: return RouteResponse(.noContent)
        case .delete:
            sessions.remove(id)
            await delegate.closeSession(id)
            return RouteResponse(.ok)
        case .patch: break
        default: return .methodNotAllowed(Self.resourceMethods)
        }
        guard call.mediaType == Self.fragmentType else {
            return RouteResponse(problem: .mediaType, .unsupportedMediaType, "a PATCH is \(Self.fragmentType)")
                .with(Header.acceptPatch, Self.fragmentType)
        }
        guard let match = call.headers[.ifMatch] else {
            return RouteResponse(
                problem: .precondition, .preconditionRequired, "a PATCH needs If-Match with the session's ETag")
        }
        guard EntityTag.isMatch(match, session.etag) else {
            return RouteResponse(problem: .precondition, .preconditionFailed, "If-Match names another ICE session")
        }
        do {
            guard let restarted = try await delegate.applyFragment(call.bodyText, to: id) else {
                return RouteResponse(.noContent)
            }
            sessions.setETag(restarted.etag, of: id)
            server.count { $0.restarts += 1 }
            return RouteResponse(.ok, type: Self.fragmentType, restarted.fragment)
                .with(.eTag, "\"\(restarted.etag)\"")
        } catch {
            if case .unknownSession = error.code { sessions.remove(id) }
            return refusal(error)
        }
    }
}
