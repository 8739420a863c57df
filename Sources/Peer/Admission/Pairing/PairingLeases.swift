import HTTP
import Identifiers

/// The grants of a service, each with at most one session, as a value without a clock.
struct PairingLeases: Hashable, Sendable {
    typealias Instant = ContinuousClock.Instant

    enum State: Hashable, Sendable {
        case unused
        /// The offer is being answered.
        case opening
        case open(SessionID)
    }

    struct Lease: Hashable, Sendable {
        let request: PairingRequest
        let address: AddressKey
        let isAcceptedByPerson: Bool
        let ticket: KnockID
        /// Grows with each lease.
        let number: Int
        var state = State.unused
        /// When the grant ends if it has no session by then.
        let leaseEnd: Instant
        /// When the state ends by itself.
        var deadline: Instant
    }

    private var leases: [TokenHash: Lease] = [:]
    private var added = 0

    var count: Int { leases.count }
    var all: [Lease] { Array(leases.values) }
    var tickets: [KnockID] { leases.values.map(\.ticket) }
    var nextDeadline: Instant? { leases.values.map(\.deadline).min() }

    func tickets(of fingerprint: [UInt8]) -> [KnockID] {
        leases.values.filter { $0.request.fingerprint == fingerprint }.map(\.ticket)
    }

    func unusedTickets(of fingerprint: [UInt8]) -> [KnockID] {
        leases.values.filter { $0.request.fingerprint == fingerprint && $0.state == .unused }.map(\.ticket)
    }

    func expired(_ now: Instant) -> [KnockID] { leases.values.filter { now >= $0.deadline }.map(\.ticket) }

    func lease(_ token: String) -> Lease? { leases[TokenHash(of: token)] }

    func ticket(of session: SessionID) -> KnockID? {
        leases.values.first { $0.state == .open(session) }?.ticket
    }

    mutating func add(
        _ request: PairingRequest, at address: AddressKey, isAcceptedByPerson: Bool, ticket: KnockID, token: String,
        until deadline: Instant
    ) {
        added += 1
        leases[TokenHash(of: token)] = Lease(
            request: request, address: address, isAcceptedByPerson: isAcceptedByPerson, ticket: ticket, number: added,
            leaseEnd: deadline, deadline: deadline)
    }

    mutating func set(_ token: String, _ state: State, until deadline: Instant) {
        leases[TokenHash(of: token)]?.state = state
        leases[TokenHash(of: token)]?.deadline = deadline
    }

    mutating func extend(_ session: SessionID, until deadline: Instant) {
        guard let key = leases.first(where: { $0.value.state == .open(session) })?.key else { return }
        leases[key]?.deadline = deadline
    }

    mutating func remove(_ ticket: KnockID) -> Lease? {
        guard let key = leases.first(where: { $0.value.ticket == ticket })?.key else { return nil }
        return leases.removeValue(forKey: key)
    }
}
