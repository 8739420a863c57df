public import MediaCore

/// Decides which session without a connection makes room for a newcomer where all places are taken, so that offers
/// without media do not keep viewers out.
public enum HalfOpenDisplacement {
    /// A session whose ICE and DTLS are not complete.
    public struct Session<ID: Sendable, Address: Hashable & Sendable>: Sendable {
        public var id: ID
        /// The address that the offer came from.
        public var address: Address
        /// The time since the offer.
        public var waited: MediaDuration

        public init(id: ID, address: Address, waited: MediaDuration) {
            self.id = id
            self.address = address
            self.waited = waited
        }
    }

    /// How long a session keeps its place in any case; on most networks a connection takes a fraction of this.
    public static let grace = MediaDuration.seconds(3)

    /// - Parameters:
    ///   - sessions: all without a connection.
    ///   - newcomer: the address of the offer that needs a place.
    /// - Returns: the session that has waited longest, for `grace` at least, of the address that has most; nil if no
    ///   address has more than the newcomer's.
    public static func loser<ID, Address>(among sessions: [Session<ID, Address>], newcomer: Address) -> ID? {
        var counts: [Address: Int] = [:]
        for session in sessions { counts[session.address, default: 0] += 1 }
        let own = counts[newcomer] ?? 0
        return sessions.filter { $0.waited >= grace && counts[$0.address] ?? 0 > own }.max { one, other in
            (counts[one.address] ?? 0, one.waited) < (counts[other.address] ?? 0, other.waited)
        }?.id
    }
}
