import Admission
import HTTP
import HTTPTypes
import Identifiers
import Identity
import MediaCore
import Synchronization

/// Knocks at broadcasts that other relays have, until they are signed: an unsigned one has nothing fetched. A value
/// without a clock.
struct UnfetchedKnocks {
    struct Entry {
        let request: KnockTable.Request
        /// base64url of its ``AdmissionPass``, which only the broadcast's key reads.
        let pass: String?
        let ticket: KnockID
        fileprivate let expires: ContinuousClock.Instant
    }

    /// Overflow: the oldest one of the address, or of all, is forgotten.
    private static let limits = (all: 256, ofAddress: 32)
    private static let lifetime = Duration.seconds(10)
    private var entries: [Entry] = []

    mutating func add(
        _ request: KnockTable.Request, pass: String?, ticket: KnockID, now: ContinuousClock.Instant
    ) {
        entries.removeAll { $0.expires <= now }
        let own = entries.indices.filter { entries[$0].request.address.key == request.address.key }
        if own.count >= Self.limits.ofAddress {
            entries.remove(at: own[0])
        } else if entries.count >= Self.limits.all {
            entries.removeFirst()
        }
        entries.append(Entry(request: request, pass: pass, ticket: ticket, expires: now + Self.lifetime))
    }

    /// Removes a knock; nil if it is not known, or not any more.
    mutating func take(_ ticket: KnockID, of id: BroadcastID, now: ContinuousClock.Instant) -> Entry? {
        guard let index = entries.firstIndex(where: { $0.ticket == ticket && $0.request.challenge.id == id }) else {
            return nil
        }
        let entry = entries.remove(at: index)
        return entry.expires > now ? entry : nil
    }
}

extension SignalingServerState {
    /// Handles POST /ID/knock for a broadcast that another relay has.
    func challenge(
        _ call: RouteRequest, _ id: BroadcastID, from fetcher: any BroadcastFetcher
    ) async throws(Refusal) -> RouteResponse {
        guard call.method == .post else { return .methodNotAllowed("POST") }
        let proof = fetcher.secret(of: id).map { Proof(id: id, secret: $0) }
        let (request, pass) = try await challenge(call, of: id, proof)
        let ticket = KnockID.random()
        unfetchedKnocks.withLock { $0.add(request, pass: pass, ticket: ticket, now: .now) }
        count { $0.knocks.requests += 1 }
        return challenged(request.challenge, ticket)
    }

    /// Handles PUT /ID/knock/TICKET for such a broadcast: has it fetched if the knock is signed, and puts the knock to
    /// it.
    /// - Returns: nil if it is no such knock, or is the broadcast's own now.
    func fetch(_ id: BroadcastID, for call: RouteRequest) async throws(Refusal) -> RouteResponse? {
        guard call.method == .put, call.path.count == 3, call.path[1] == "knock",
            let ticket = call.path.last.flatMap({ KnockID($0) }),
            let knock = unfetchedKnocks.withLock({ $0.take(ticket, of: id, now: .now) })
        else { return nil }
        guard try signature(of: call).isValid(for: knock.request.challenge) else {
            return await wrongSignature(call)
        }
        if broadcasts[id] == nil {
            guard await configuration.fetcher?.fetch(id) == true else {
                return RouteResponse(
                    problem: .busy, .serviceUnavailable, "the broadcast cannot be got now; try again in 2 s",
                    retryAfter: 2)
            }
        }
        guard let broadcast = broadcasts[id] else { return .unknownKnock }
        try BroadcastRoutes(server: self, broadcast: broadcast).take(knock.request, pass: knock.pass, ticket)
        return nil
    }
}
