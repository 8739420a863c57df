import Admission
import HTTP
import HTTPTypes
import Identifiers
import Identity
import NIOCore

extension ServiceRoutes {
    /// Handles POST /services/ID/pair.
    func pair(_ call: RouteRequest) async throws(Refusal) -> RouteResponse {
        if endpoint.streams.hasEnded { return hasEnded }
        let nonce = randomBytes(PairingTranscript.nonceLength)
        let document = try server.document(
            PairingRequestDocument.self, of: call, limit: PairingRequestDocument.sizeLimit,
            or: "a request to pair is JSON with application (id, name), fingerprint (SHA-256), certificate and nonce")
        // Each request costs a signature, and the parsing of a certificate.
        if let delay = endpoint.delay(call.address.key, server.connections) {
            server.count { $0.pairings.limited += 1 }
            return .limited("too many requests to pair", delay)
        }
        guard
            let request = PairingTable.Request(
                document, service: configuration.description.id, fingerprint: server.identity.fingerprint,
                nonce: nonce, address: call.address, relayed: call.isForwarded ? configuration.description : nil)
        else {
            return server.malformed(
                "the nonce has 32 bytes, and the certificate has a key of P-256 and the fingerprint")
        }
        let signature = server.identity.signature(over: request.transcript.signedBytes(role: .service))
        server.count { $0.pairings.requests += 1 }
        let (opening, ticket) = approvals.open(request)
        switch opening {
        case .opened:
            let offer = PairingOffer(nonce: nonce, signature: signature, service: configuration.description)
            // TLS has shown the relay's certificate to this host.
            let certificate = call.isForwarded ? server.identity.certificateDER : server.certificateToSend
            return RouteResponse(.accepted, json: PairingOfferDocument(offer, certificate: certificate))
                .with(.location, "\(endpoint.path)/pair/\(ticket.text)")
        case .full:
            server.count { $0.pairings.limited += 1 }
            return RouteResponse(
                problem: .queueFull, .tooManyRequests,
                "too many hosts are waiting for an answer, in all or at your address; try again in 5 s", retryAfter: 5)
        case .busy:
            server.count { $0.pairings.limited += 1 }
            return busy(PairingTable.full(configuration.sessionCapacity))
        case .ended: return hasEnded
        }
    }

    func sign(_ call: RouteRequest, _ ticket: KnockID) async throws(Refusal) -> RouteResponse {
        guard
            let document = server.document(
                PairingAcceptanceDocument.self, of: call, limit: PairingAcceptanceDocument.sizeLimit),
            let signature = document.signatureBytes
        else { return server.malformed("an acceptance is JSON with setup and signature") }
        var (setup, sealed) = (document.setup ?? [:], [UInt8]?.none)
        if call.isForwarded {
            guard let transcript = approvals.transcript(of: ticket) else { return unknownTicket }
            guard let bytes = document.sealedBytes,
                let values = SealedSetup.open(bytes, with: server.identity, transcript)
            else { return server.malformed("over a relay the setup is sealed for this service") }
            (setup, sealed) = (values, bytes)
        }
        switch approvals.sign(ticket, signature, setup: setup, sealed: sealed, proof: document.proofBytes) {
        case .accepted: return RouteResponse(.noContent)
        case .wrongSecret:
            return await server.wrong(call, .wrongProof, "the secret in the link is not right: ask for the link again")
        case .wrong:
            return await server.wrong(
                call, .wrongSignature, "the signature is not that of the certificate's key: pair again")
        case .malformed(let error): return server.malformed(error.description)
        case .unknown: return unknownTicket
        }
    }

    func response(to outcome: PairingTable.Outcome) -> RouteResponse {
        switch outcome {
        case .granted(let grant):
            let servers = issuedServers(to: TokenHash(of: grant.token))
            return RouteResponse(.ok, json: PairingGrantDocument(grant, iceServers: servers))
        case .refused(let reason):
            let seconds = Int(configuration.pairingLimits.approvals.refusal / .seconds(1))
            return RouteResponse(
                problem: .refused, .forbidden, reason ?? "the service said no", retryAfter: max(1, seconds))
        case .unanswered: return RouteResponse(problem: .unanswered, .gone, "nobody answered at the service")
        case .busy(let reason): return busy(reason ?? "it says no more; try again later")
        case .crowded: return busy(PairingTable.full(configuration.sessionCapacity))
        case .ended: return hasEnded
        case .withdrawn: return unknownTicket
        case .replaced:
            return RouteResponse(
                problem: .replaced, .gone, "this host pairs again, which takes this one's place")
        case .displaced:
            return RouteResponse(
                problem: .notFound, .gone,
                "too many hosts wait for an answer, most of them at your address: pair again")
        case .expired: return RouteResponse(problem: .notFound, .gone, "the time of this pairing is over")
        }
    }

    var unknownTicket: RouteResponse { RouteResponse(problem: .notFound, .gone, "this pairing is not known any more") }

    private func busy(_ reason: String) -> RouteResponse {
        RouteResponse(problem: .busy, .serviceUnavailable, reason, retryAfter: 10)
    }
}
