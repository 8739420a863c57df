import Admission
import HTTP
import HTTPTypes
import Identifiers
import Identity
import MediaCore
import NIOCore
import SessionDescription

/// The JSON body of a knock.
struct KnockRequest: Codable {
    var name: String?
    /// SHA-256 of the viewer's DTLS certificate, in a form that ``Fingerprint/init(sha256Text:)`` reads, or base64url.
    var fingerprint: String
    /// base64url.
    var proof: String
    /// Browsers only: base64url of the raw uncompressed P-256 point (65 bytes) of the key that will sign.
    var key: String?
    /// The viewer records the broadcast.
    var records: Bool?
    /// base64url of an ``AdmissionPass`` that another server of the broadcast has given.
    var pass: String?
    /// base64url of the nonce of a ``KnockOrigin``.
    var nonce: String?

    /// The fingerprint's 32 bytes; nil if it cannot be read.
    var certificate: [UInt8]? {
        let read =
            Fingerprint(sha256Text: fingerprint) ?? Base64URL.decode(fingerprint).flatMap { Fingerprint(sha256: $0) }
        return read?.bytes
    }
}

/// The response to a knock: the challenge to be signed.
struct ChallengeDocument: Codable {
    /// base64url of 16 bytes.
    var nonce: String
    /// The codec of the broadcast's video, as in SDP; nil if it is not known here.
    var video: String?
}

/// The viewer's answer to the challenge.
struct SignatureRequest: Codable {
    /// base64url of 64 bytes, r | s.
    var signature: String
    /// Native viewers only: base64url of the certificate (DER).
    var certificate: String?
}

/// The response to an accepted knock.
struct AdmissionDocument: Codable {
    var token: String
    var iceServers: [ICEServer]
    /// base64url, for other servers of the broadcast.
    var pass: String?
    /// Where the viewer is to watch.
    var reconnect: SignedRedirect?
}

extension RouteResponse {
    static var unknownKnock: RouteResponse {
        RouteResponse(problem: .notFound, .gone, "this knock is not known any more")
    }
}

extension SignalingService {
    /// Reads the body of a knock; nil if it is malformed.
    func knockRequest(of call: RouteRequest) -> (KnockRequest, fingerprint: [UInt8], proof: [UInt8])? {
        guard let request = document(KnockRequest.self, of: call), let fingerprint = request.certificate,
            let proof = Base64URL.decode(request.proof)
        else { return nil }
        return (request, fingerprint, proof)
    }

    var malformedKnock: RouteResponse {
        malformed("a knock is JSON with name, fingerprint (SHA-256), proof, and a browser's key")
    }

    /// Who knocks; nil if the key is none.
    func knocker(_ request: KnockRequest, _ fingerprint: [UInt8]) -> ViewerIdentity? {
        let key = request.key.map { Base64URL.decode($0) ?? [] }
        guard key.map({ KnockChallenge.isKey($0) }) ?? true else { return nil }
        return ViewerIdentity(fingerprint: fingerprint, key: key)
    }

    var malformedKey: RouteResponse { malformed("a browser's key is a raw uncompressed P-256 point of 65 bytes") }

    /// Reads the answer to a challenge; nil if it is malformed.
    func signature(of call: RouteRequest) -> (signature: [UInt8], certificate: [UInt8]?)? {
        guard let request = document(SignatureRequest.self, of: call),
            let signature = Base64URL.decode(request.signature),
            let certificate = request.certificate.map({ Base64URL.decode($0) }) ?? .some(nil)
        else { return nil }
        return (signature, certificate)
    }

    var malformedSignature: RouteResponse {
        malformed("the answer to a challenge is JSON with signature, and a native viewer's certificate")
    }

    func wrongSignature(_ call: RouteRequest) async -> RouteResponse {
        await wrong(
            call, .wrongSignature, "the signature is not that of the key behind this knock: knock again")
    }

    func wrongSecret(_ call: RouteRequest) async -> RouteResponse {
        await wrong(call, .wrongProof, "the secret in the link is not right: ask for the link again")
    }
}

extension BroadcastRoutes {
    /// Handles POST /ID/knock.
    func knock(_ call: RouteRequest) async -> RouteResponse {
        if broadcast.eventStreams.hasEnded { return hasEnded }
        guard let (request, fingerprint, proof) = server.knockRequest(of: call) else { return server.malformedKnock }
        guard broadcast.proof.isViewer(proof, fingerprint: fingerprint) else { return await server.wrongSecret(call) }
        guard let identity = server.knocker(request, fingerprint) else { return server.malformedKey }
        if let delay = broadcast.knockDelay(call.address.key, server.connections) {
            server.count { $0.knocksLimited += 1 }
            return .limited("too many knocks", delay)
        }
        server.count { $0.knocks += 1 }
        let origin = request.nonce.flatMap { KnockOrigin($0, receivedAt: .now) }
        let challenge = KnockChallenge(
            id: configuration.id, host: server.identity.fingerprint, identity: identity,
            nonce: randomBytes(KnockChallenge.nonceLength))
        let ticket = KnockID.random()
        let opening = broadcast.knocks.open(
            tableRequest(
                request, kind: UntrustedText.kind(userAgent: call.headers[.userAgent]), call.address, challenge, origin),
            ticket: ticket)
        switch opening {
        case .opened:
            let document = ChallengeDocument(
                nonce: Base64URL.encode(challenge.nonce), video: configuration.videoCodec?.rawValue)
            return RouteResponse(.accepted, json: document)
                .with(.location, "/\(configuration.id.text)/knock/\(ticket.text)")
        case .full: return tooManyKnocks
        case .ended: return hasEnded
        }
    }

    private func tableRequest(
        _ request: KnockRequest, kind: String, _ address: PeerAddress, _ challenge: KnockChallenge,
        _ origin: KnockOrigin?
    ) -> KnockTable.Request {
        KnockTable.Request(
            name: UntrustedText.clean(request.name ?? "", fallback: "somebody"), kind: kind, address: address,
            records: request.records ?? false, pass: pass(request.pass, of: challenge.identity), challenge: challenge,
            origin: origin)
    }

    /// Takes in a knock that was made before the broadcast was here.
    /// - Returns: nil if the request with its signature can be answered.
    func take(_ knock: UnfetchedKnocks.Entry, _ ticket: KnockID) async -> RouteResponse? {
        let request = tableRequest(knock.request, kind: knock.kind, knock.address, knock.challenge, knock.origin)
        switch broadcast.knocks.open(request, ticket: ticket) {
        case .opened: return nil
        case .full: return tooManyKnocks
        case .ended: return hasEnded
        }
    }

    /// Handles PUT, GET and DELETE /ID/knock/TICKET.
    func knock(_ call: RouteRequest, _ name: Substring?) async -> RouteResponse {
        guard [.put, .get, .delete].contains(call.method) else { return .methodNotAllowed("PUT, GET, DELETE") }
        // The path is not a valid ticket.
        guard let ticket = name.flatMap({ KnockID($0) }) else { return .notFound }
        switch call.method {
        case .get: return await poll(call, ticket)
        case .put: return await sign(call, ticket)
        default: return broadcast.knocks.withdraw(ticket) ? RouteResponse(.noContent) : .unknownKnock
        }
    }

    private func sign(_ call: RouteRequest, _ ticket: KnockID) async -> RouteResponse {
        guard let (signature, certificate) = server.signature(of: call) else { return server.malformedSignature }
        switch broadcast.knocks.sign(ticket, signature, certificate: certificate) {
        case .accepted: return RouteResponse(.noContent)
        case .wrong:
            return await server.wrongSignature(call)
        case .refusedBefore(let reason, let seconds): return refused(reason, seconds)
        case .full: return tooManyKnocks
        case .crowded: return crowded
        case .unknown: return .unknownKnock
        }
    }

    private func poll(_ call: RouteRequest, _ ticket: KnockID) async -> RouteResponse {
        switch await broadcast.knocks.wait(ticket, closed: call.connection.closed) {
        case .waiting: return RouteResponse(.accepted)
        case .unknown: return .unknownKnock
        case .outcome(.granted(let token)):
            return RouteResponse(
                .ok,
                json: AdmissionDocument(
                    token: token, iceServers: issuedServers(to: TokenHash(of: token)), pass: pass(ofToken: token),
                    reconnect: broadcast.admissions.admission(token: token)?.1.viewer.flatMap(broadcast.redirect)))
        case .outcome(.refused(let reason)):
            return refused(reason, Int(configuration.refusalTimeout / .seconds(1)))
        case .outcome(.busy(let reason)):
            return RouteResponse(problem: .busy, .serviceUnavailable, reason ?? "no viewer is taken at present")
        case .outcome(.unanswered):
            return RouteResponse(problem: .unanswered, .gone, "nobody answered: the host's owner may be away")
        case .outcome(.ended): return hasEnded
        case .outcome(.withdrawn), .outcome(.expired): return .unknownKnock
        case .outcome(.replaced):
            return RouteResponse(
                problem: .replaced, .gone,
                "you asked again from another window or program, which takes this one's place")
        case .outcome(.displaced):
            return RouteResponse(
                problem: .notFound, .gone,
                "too many people wait for an answer, most of them at your address: knock again")
        case .outcome(.crowded): return crowded
        }
    }

    private func pass(_ text: String?, of viewer: ViewerIdentity) -> AdmissionPassKind? {
        guard let key = configuration.passKey, let pass = text.flatMap({ Base64URL.decode($0) }) else { return nil }
        return AdmissionPass(configuration.id, key: key).kind(of: pass, for: viewer)
    }

    private func pass(ofToken token: String) -> String? {
        guard let key = configuration.passKey,
            let viewer = broadcast.admissions.admission(token: token)?.1.viewer, let identity = viewer.identity
        else { return nil }
        let kind: AdmissionPassKind = viewer.isAdmittedByRule ? .ofRule : .ofPerson
        return Base64URL.encode(AdmissionPass(configuration.id, key: key).text(for: identity, kind))
    }

    var hasEnded: RouteResponse { RouteResponse(problem: .ended, .gone, "the broadcast has ended") }

    private var tooManyKnocks: RouteResponse {
        server.count { $0.knocksLimited += 1 }
        return RouteResponse(
            problem: .queueFull, .tooManyRequests,
            "too many people are waiting for an answer, in all or at your address; try again in 5 s", retryAfter: 5)
    }

    private var crowded: RouteResponse {
        RouteResponse(
            problem: .limited, .serviceUnavailable, "too many viewers were let in; try again in 60 s", retryAfter: 60)
    }

    /// The response to a refused viewer: says when it may ask again.
    private func refused(_ reason: String?, _ seconds: Int) -> RouteResponse {
        RouteResponse(
            problem: .refused, .forbidden,
            "\(reason ?? "the host said no"); you can ask again in \(seconds) s", retryAfter: seconds)
    }
}
