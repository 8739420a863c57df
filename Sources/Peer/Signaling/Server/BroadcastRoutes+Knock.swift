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
    /// In version 2: base64url of ``KnockOffer/commitment``.
    var commitment: String?

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
    /// Nil: the knock is of version 1.
    var seal: OfferDocument?
}

/// A ``KnockOffer`` without the commitment, with the host's signature. All but `sealed` is base64url.
struct OfferDocument: Codable {
    var key: String
    var run: String
    var sealed: Bool
    /// DER.
    var certificate: String
    /// 64 bytes, r | s.
    var signature: String
}

/// A ``KnockReveal``, in base64url.
struct RevealDocument: Codable {
    var key: String
    var nonce: String
}

/// The viewer's answer to the challenge.
struct KnockSignatureDocument: Codable {
    /// base64url of 64 bytes, r | s.
    var signature: String
    /// Native viewers only: base64url of the certificate (DER).
    var certificate: String?
    /// In version 2.
    var seal: RevealDocument?
}

/// How a viewer proves that the identity of a knock is its own.
struct KnockSignature: Sendable {
    /// 64 bytes, r | s.
    var signature: [UInt8]
    /// DER; nil for a browser.
    var certificate: [UInt8]?
    /// Nil in version 1.
    var reveal: KnockReveal?

    func isValid(for challenge: KnockChallenge) -> Bool {
        var challenge = challenge
        return challenge.take(reveal) && challenge.isSigned(signature, certificate: certificate)
    }
}

/// The response to an accepted knock.
struct AdmissionDocument: Codable {
    var token: String
    var iceServers: [ICEServer]
    /// base64url, for other servers of the broadcast.
    var pass: String?
    /// The server at which the viewer is to watch.
    var reconnect: SignedRedirect?
    /// base64url of what a ``KeyWrap`` has encrypted: the keys of the broadcast's frames.
    var keys: String?
}

extension RouteResponse {
    static var unknownKnock: RouteResponse {
        RouteResponse(problem: .notFound, .gone, "this knock is not known any more")
    }
}

extension SignalingServerState {
    /// Reads the body of a knock, and makes its challenge if its proof is right.
    /// - Parameter announced: the proof of viewers of the local network that do not have the link; nil: they have to
    ///   have it.
    /// - Returns: also its pass, base64url, which only the broadcast's key reads.
    func challenge(
        _ call: RouteRequest, of id: BroadcastID, _ proof: Proof?, announced: Proof? = nil,
        encryption: ServedBroadcastConfiguration.Encryption? = nil
    ) async throws(Refusal) -> (request: KnockTable.Request, pass: String?) {
        guard let request = document(KnockRequest.self, of: call), let fingerprint = request.certificate,
            let shown = Base64URL.decode(request.proof)
        else {
            throw Refusal(malformed("a knock is JSON with name, fingerprint (SHA-256), proof, and a browser's key"))
        }
        let isFromAnnouncement =
            IPAddress(call.address.text)?.isOfLocalNetwork == true
            && announced?.isViewer(shown, fingerprint: fingerprint) == true
        guard isFromAnnouncement || proof?.isViewer(shown, fingerprint: fingerprint) == true else {
            throw Refusal(
                await wrong(call, .wrongProof, "the secret in the link is not right: ask for the link again"))
        }
        let key = request.key.map { Base64URL.decode($0) ?? [] }
        guard key.map({ KnockChallenge.isKey($0) }) ?? true,
            let viewer = ViewerIdentity(fingerprint: fingerprint, key: key)
        else { throw Refusal(malformed("a browser's key is a raw uncompressed P-256 point of 65 bytes")) }
        var challenge = KnockChallenge(
            id: id, host: identity.fingerprint, identity: viewer, nonce: randomBytes(KnockChallenge.nonceLength))
        let commitment = request.commitment.map { Base64URL.decode($0) ?? [] }
        guard commitment.map({ $0.count == KnockOffer.commitmentLength }) ?? true else {
            throw Refusal(malformed("a knock's commitment is SHA-256 in base64url"))
        }
        var hostKey: EphemeralKey?
        if let encryption, let commitment {
            let key = EphemeralKey()
            challenge.offer = KnockOffer(
                commitment: commitment, hostKey: key.publicKey, run: encryption.run, isSealed: encryption.isSealed)
            hostKey = key
        } else if encryption?.isSealed == true {
            throw Refusal(
                RouteResponse(
                    problem: .needsEncryption, .forbidden,
                    "this broadcast is encrypted from end to end, which your version cannot open: update it"))
        }
        var knock = KnockTable.Request(
            name: UntrustedText.clean(request.name ?? "", fallback: "somebody"),
            kind: UntrustedText.kind(userAgent: call.headers[.userAgent]), address: call.address,
            records: request.records ?? false, challenge: challenge,
            origin: request.nonce.flatMap { KnockOrigin($0, receivedAt: .now) })
        (knock.isFromAnnouncement, knock.hostKey) = (isFromAnnouncement, hostKey)
        return (knock, request.pass)
    }

    /// The response to a knock: its challenge, and the resource of its ticket.
    func challenged(_ challenge: KnockChallenge, _ ticket: KnockID, video: VideoCodec? = nil) -> RouteResponse {
        RouteResponse(
            .accepted,
            json: ChallengeDocument(
                nonce: Base64URL.encode(challenge.nonce), video: video?.rawValue, seal: offer(challenge))
        ).with(.location, "/\(challenge.id.text)/knock/\(ticket.text)")
    }

    /// The signed offer of a knock of version 2; nil in version 1.
    private func offer(_ challenge: KnockChallenge) -> OfferDocument? {
        guard let offer = challenge.offer else { return nil }
        let signature = identity.signature(over: offer.signedBytes(challenge))
        return OfferDocument(
            key: Base64URL.encode(offer.hostKey), run: Base64URL.encode(offer.run), sealed: offer.isSealed,
            certificate: Base64URL.encode(identity.certificateDER), signature: Base64URL.encode(signature))
    }

    /// Reads the answer to a challenge.
    func signature(of call: RouteRequest) throws(Refusal) -> KnockSignature {
        guard let request = document(KnockSignatureDocument.self, of: call),
            let signature = Base64URL.decode(request.signature),
            let certificate = request.certificate.map({ Base64URL.decode($0) }) ?? .some(nil),
            let reveal = request.seal.map({ KnockReveal($0) }) ?? .some(nil)
        else {
            throw Refusal(
                malformed(
                    "the answer to a challenge is JSON with signature, a native viewer's certificate, and in version 2 seal"
                ))
        }
        return KnockSignature(signature: signature, certificate: certificate, reveal: reveal)
    }

    func wrongSignature(_ call: RouteRequest) async -> RouteResponse {
        await wrong(
            call, .wrongSignature, "the signature is not that of the key behind this knock: knock again")
    }
}

extension BroadcastRoutes {
    /// Handles POST /ID/knock.
    func knock(_ call: RouteRequest) async throws(Refusal) -> RouteResponse {
        if endpoint.streams.hasEnded { return hasEnded }
        let (request, pass) = try await server.challenge(
            call, of: configuration.id, broadcast.proof, announced: broadcast.announcedProof,
            encryption: configuration.encryption)
        if let delay = endpoint.delay(call.address.key, server.connections) {
            server.count { $0.knocks.limited += 1 }
            return .limited("too many knocks", delay)
        }
        server.count { $0.knocks.requests += 1 }
        let ticket = KnockID.random()
        try take(request, pass: pass, ticket)
        return server.challenged(request.challenge, ticket, video: configuration.videoCodec)
    }

    /// Takes a knock in, also one that was made before the broadcast was here.
    func take(_ request: KnockTable.Request, pass: String?, _ ticket: KnockID) throws(Refusal) {
        var request = request
        request.pass = self.pass(pass, of: request.identity)
        switch approvals.open(request, ticket: ticket) {
        case .opened: return
        case .full: throw Refusal(tooManyKnocks)
        case .ended: throw Refusal(hasEnded)
        }
    }

    func sign(_ call: RouteRequest, _ ticket: KnockID) async throws(Refusal) -> RouteResponse {
        switch approvals.sign(ticket, try server.signature(of: call)) {
        case .accepted: return RouteResponse(.noContent)
        case .wrong: return await server.wrongSignature(call)
        case .refusedBefore(let reason, let seconds): return refused(reason, seconds)
        case .full: return tooManyKnocks
        case .crowded: return crowded
        case .unknown: return .unknownKnock
        }
    }

    func response(to outcome: KnockTable.Outcome) async -> RouteResponse {
        switch outcome {
        case .granted(let token):
            guard await broadcast.delegate.hasPlace() else {
                return RouteResponse(
                    problem: .busy, .serviceUnavailable, "the broadcast is not at its relay at the moment")
            }
            let viewer = registry.admission(token: token)?.1.viewer
            let keys = await frameKeys(for: viewer)
            // It may have been removed meanwhile, and what follows its removal is not for it.
            guard viewer == nil || registry.admission(token: token) != nil else { return .unknownKnock }
            return RouteResponse(
                .ok,
                json: AdmissionDocument(
                    token: token, iceServers: issuedServers(to: TokenHash(of: token)), pass: pass(ofToken: token),
                    reconnect: viewer.flatMap(broadcast.delegate.redirect), keys: keys))
        case .refused(let reason): return refused(reason, Int(configuration.knockLimits.refusal / .seconds(1)))
        case .busy(let reason):
            return RouteResponse(problem: .busy, .serviceUnavailable, reason ?? "no viewer is taken at present")
        case .unanswered:
            return RouteResponse(problem: .unanswered, .gone, "nobody answered: the host's owner may be away")
        case .ended: return hasEnded
        case .withdrawn, .expired: return .unknownKnock
        case .replaced:
            return RouteResponse(
                problem: .replaced, .gone,
                "you asked again from another window or program, which takes this one's place")
        case .displaced:
            return RouteResponse(
                problem: .notFound, .gone,
                "too many people wait for an answer, most of them at your address: knock again")
        case .crowded: return crowded
        }
    }

    var unknownTicket: RouteResponse { .unknownKnock }

    /// Handles POST /ID/keys: a viewer that watches at a relay lacks the keys of what comes.
    func keys(_ call: RouteRequest) async throws(Refusal) -> RouteResponse {
        let viewer = try await authorize(call).1.viewer
        guard let viewer, let keys = await frameKeys(for: viewer, asMember: true) else { return .notFound }
        return RouteResponse(.ok, json: ViewerKeysDocument(keys: keys))
    }

    /// base64url of the keys of the broadcast's frames, which only this viewer reads; nil: it needs none.
    /// - Parameter asMember: it watches at a relay.
    private func frameKeys(for viewer: Viewer?, asMember: Bool = false) async -> String? {
        guard configuration.encryption?.isSealed == true, let wrap = viewer?.keyWrap,
            let keys = await broadcast.delegate.frameKeys(asMember: asMember ? viewer : nil)
        else { return nil }
        return wrap.text(keys)
    }

    private func pass(_ text: String?, of viewer: ViewerIdentity) -> AdmissionPassKind? {
        guard let key = configuration.passKey, let pass = text.flatMap({ Base64URL.decode($0) }) else { return nil }
        return AdmissionPass(configuration.id, key: key).kind(of: pass, for: viewer)
    }

    private func pass(ofToken token: String) -> String? {
        guard let key = configuration.passKey,
            let viewer = registry.admission(token: token)?.1.viewer, let identity = viewer.identity
        else { return nil }
        let kind: AdmissionPassKind = viewer.isAdmittedByRule ? .ofRule : .ofPerson
        return Base64URL.encode(AdmissionPass(configuration.id, key: key).text(for: identity, kind))
    }

    var hasEnded: RouteResponse { RouteResponse(problem: .ended, .gone, "the broadcast has ended") }

    private var tooManyKnocks: RouteResponse {
        server.count { $0.knocks.limited += 1 }
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

extension KnockReveal {
    fileprivate init?(_ document: RevealDocument) {
        guard let key = Base64URL.decode(document.key), let nonce = Base64URL.decode(document.nonce),
            nonce.count == Self.nonceLength
        else { return nil }
        self.init(key: key, nonce: nonce)
    }
}
