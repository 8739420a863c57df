import Admission
import HTTP
import HTTPTypes
import Identifiers
import Identity
import MediaCore

extension ServiceRoutes {
    /// Handles POST /services/ID/whip (RFC 9725 section 4.2).
    func offer(_ call: RouteRequest) async throws(Refusal) -> RouteResponse {
        let (owner, admission) = try await authorize(call)
        if endpoint.streams.hasEnded { return hasEnded }
        let offer = try sessions.offer(in: call)
        var (publisher, token) = publisher(call, admission, offer.fingerprint)
        let place = SessionTable.Owner(
            token: owner, isFixed: token == nil, identity: nil, fingerprint: offer.fingerprint,
            address: call.address.key)
        // Of a publisher that has crashed, for example.
        let like = registry.sessions(like: place)
        let silent = like.isEmpty ? [] : await service.delegate.silentSessions(among: like, for: publisher)
        switch registry.reserve(place, token: token, silent: silent.filter(like.contains)) {
        case .reserved(let reservation):
            publisher.replaces = reservation.replaces
            return try await open(offer.sdp, publisher, owner, reservation)
        case .otherCertificate: return sessions.wrongCertificate
        case .taken:
            server.count { $0.offersRefused += 1 }
            return RouteResponse(problem: .sessionExists, .conflict, "this token has a session, and is for one alone")
        case .ended: return hasEnded
        case .full(let what): return sessions.refusal(OfferRefusal(.busy, what.sentence))
        }
    }

    /// - Returns: also the token of its pairing; nil with the fixed token.
    private func publisher(
        _ call: RouteRequest, _ admission: PairingRegistry.Admission, _ fingerprint: [UInt8]
    ) -> (Publisher, token: String?) {
        var request: PairingRequest?
        var pairingToken: String?
        if case .paired(let found, let token) = admission { (request, pairingToken) = (found, token) }
        let publisher = Publisher(
            pairing: request?.id, application: request?.application, setup: request?.setup ?? [:],
            kind: UntrustedText.kind(userAgent: call.headers[.userAgent]), address: call.address.text,
            fingerprint: request?.fingerprint ?? fingerprint,
            decidesOnViewers: request != nil && call.headers[Header.shareAdmission] == "host",
            isEncrypted: request != nil && call.headers[Header.shareEncrypted] == "1",
            resumes: request == nil ? nil : call.headers[Header.shareBroadcast].flatMap { BroadcastID($0) })
        return (publisher, pairingToken)
    }

    private func open(
        _ sdp: String, _ publisher: Publisher, _ owner: TokenHash, _ reservation: PairingRegistry.Reservation
    ) async throws(Refusal) -> RouteResponse {
        let delegate = service.delegate
        let session = try await open(reservation) { () throws(OfferRefusal) in
            try await delegate.openSession(offer: sdp, publisher: publisher)
        }
        if let replaced = publisher.replaces { await delegate.closeSession(replaced) }
        service.sendLasting(of: session.id)
        return sessions.created(session, links: issuedServers(to: owner).flatMap(\.links))
    }
}
