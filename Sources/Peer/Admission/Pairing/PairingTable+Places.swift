import HTTP
package import Identifiers
import Identity

/// The places of broadcasts when all of them are taken.
///
/// An address that holds more than its share loses its newest place to one that would hold less: first one that has no
/// session yet. What a person has accepted stays. Otherwise a session that has been idle for longest ends.
extension PairingTable {
    /// Returns whether this request could be granted. A broadcast of the same host does not count, as it is replaced.
    func hasRoom(for request: Request) -> Bool {
        let own = leases.tickets(of: request.fingerprint).count
        return leases.count + otherPlaces.count - own < limits.broadcasts || loser(to: request.address.key) != nil
    }

    /// Ends a grant or session if all places are taken, so that a host of this address gets one.
    package mutating func makeRoom(for address: AddressKey, _ now: Instant) -> [Action] {
        guard isFull, let (ticket, reason) = loser(to: address) else { return [] }
        return endLease(of: ticket, .displaced, because: reason, now)
    }

    /// Says that all places are taken.
    package static func full(_ places: Int) -> String {
        let taken =
            places == 1
            ? "the only place for a broadcast is taken; it" : "all \(places) places for broadcasts are taken; one"
        return "\(taken) is free when a broadcast ends"
    }

    package var isFull: Bool { leases.count + otherPlaces.count >= limits.broadcasts }

    private func loser(to address: AddressKey) -> (ticket: KnockID, SessionEnd)? {
        let leases = leases.all
        let shares = AddressShares(leases.map(\.address) + otherPlaces)
        let exceeding = leases.filter {
            !$0.isAcceptedByPerson && shares.exceeds($0.address, share: limits.broadcastsOfAddress)
        }
        let losers = shares.displaceable(exceeding.map(\.address), by: address)
        let candidates = exceeding.filter { losers.contains($0.address) }
        if let newest = candidates.max(by: { ($0.isUnused ? 1 : 0, $0.number) < ($1.isUnused ? 1 : 0, $1.number) }) {
            return (newest.ticket, .displaced)
        }
        let idle = idleSessions.lazy.compactMap { session in leases.first { $0.state == .open(session) } }
        return idle.first.map { ($0.ticket, .idle) }
    }
}

extension PairingLeases.Lease {
    fileprivate var isUnused: Bool { state == .unused }
}
