import FoundationEssentials
import HTTPTypes
import NIOCore

/// The body of a knock.
struct KnockRequest: Codable {
    var name: String?
    /// SHA-256 of the viewer's DTLS certificate, in any form that `FingerprintText` reads.
    var fingerprint: String
    /// base64url.
    var proof: String
}

/// What an accepted knock yields.
struct AdmissionDocument: Codable {
    var token: String
    var iceServers: [ICEServer]
}

extension SignalingService {
    /// POST /ID/knock
    func knock(_ call: Call) async -> Reply {
        if hub.hasEnded { return hasEnded }
        guard call.body.readableBytes <= 4_096,
            let request = try? JSONDecoder().decode(KnockRequest.self, from: Data(call.body.readableBytesView)),
            let fingerprint = FingerprintText.parse(request.fingerprint), let proof = Base64URL.decode(request.proof)
        else {
            count { $0.malformed += 1 }
            return Reply(problem: .malformed, .badRequest, "a knock is JSON with name, fingerprint (SHA-256) and proof")
        }
        guard self.proof.isViewer(proof, fingerprint: fingerprint) else {
            count { $0.wrongProofs += 1 }
            if let delay = connections.withDoorman({ $0.failureDelay(call.address.key, now: $1) }) {
                return limited("too many wrong proofs came from your address", delay)
            }
            await slowDown()
            return Reply(
                problem: .wrongProof, .forbidden, "the secret in the link is not right: ask for the link again")
        }
        if let delay = connections.withDoorman({ $0.knockDelay(call.address.key, now: $1) }) {
            count { $0.knocksLimited += 1 }
            return limited("too many knocks", delay)
        }
        count { $0.knocks += 1 }
        let knock = Knock(
            id: KnockID.random(), name: PeerText.clean(request.name ?? "", fallback: "somebody"),
            kind: PeerText.kind(userAgent: call.headers[.userAgent]), address: call.address.text,
            fingerprint: fingerprint,
            words: FourWords(fingerprint: fingerprint))
        switch await knocks.open(knock) {
        case .opened(let id), .waiting(let id):
            return Reply(.accepted, [.location: "/\(configuration.id.text)/knock/\(id.text)"])
        case .refusedBefore(let reason): return refused(reason)
        case .full:
            count { $0.knocksLimited += 1 }
            return limited("too many people are waiting for an answer", 5)
        case .ended: return hasEnded
        }
    }

    /// GET and DELETE /ID/knock/K
    func knock(_ call: Call, _ name: Substring?) async -> Reply {
        guard let id = name.flatMap({ KnockID($0) }) else { return gone }
        switch call.method {
        case .get: break
        case .delete:
            await knocks.withdraw(id)
            return Reply(.noContent)
        default: return methodNotAllowed("GET, DELETE")
        }
        let knocks = knocks
        let channel = call.channel
        let look = await knocks.wait(id) { waiter in
            channel.closeFuture.whenComplete { _ in Task { await knocks.dropped(id, waiter: waiter) } }
        }
        switch look {
        case .waiting: return Reply(.accepted)
        case .unknown: return gone
        case .outcome(.accepted(let token)):
            return Reply(.ok, json: AdmissionDocument(token: token, iceServers: configuration.iceServers))
        case .outcome(.refused(let reason)): return refused(reason)
        case .outcome(.unanswered):
            return Reply(problem: .unanswered, .gone, "nobody answered: the host's owner may be away")
        case .outcome(.ended): return hasEnded
        case .outcome(.withdrawn): return gone
        }
    }

    var hasEnded: Reply { Reply(problem: .ended, .gone, "the broadcast has ended") }

    private var gone: Reply { Reply(problem: .notFound, .gone, "this knock is not known any more") }

    private func refused(_ reason: String?) -> Reply {
        Reply(problem: .refused, .forbidden, reason ?? "the host said no")
    }
}
