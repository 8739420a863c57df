import HTTP
import Identifiers
import Synchronization

/// The tunnels of a server, by what they lead to and by the sessions that stand for them. Safe from any thread.
///
/// Bounded by the places of the service's registry, of which each tunnel holds one. Whose an identifier was is
/// remembered after the end of its tunnel, so that nobody else gets the requests that are meant for its owner. Who has
/// most identifiers loses some first: a certificate its own beyond a few, then the address with most.
final class TunnelTable: Sendable {
    enum Adding: Equatable {
        case added
        /// There is a tunnel with this identifier.
        case exists
        /// There was one of another owner.
        case isAnothers
    }

    private struct Owner {
        /// SHA-256 of the owner's certificate.
        let fingerprint: [UInt8]
        /// The address from which it came first.
        let address: AddressKey
        /// When there was a tunnel last; greater is later.
        var used: Int
    }

    private struct State {
        var tunnels: [TunnelID: ReverseTunnel] = [:]
        var ids: [SessionID: TunnelID] = [:]
        var owners: [TunnelID: Owner] = [:]
        /// The number of identifiers of each certificate.
        var ofCertificate: [[UInt8]: Int] = [:]
        var ofAddress = AddressShares()
        var uses = 0

        mutating func insert(_ id: TunnelID, _ fingerprint: [UInt8], _ address: AddressKey) {
            owners[id] = Owner(fingerprint: fingerprint, address: address, used: uses)
            ofCertificate[fingerprint, default: 0] += 1
            ofAddress.add(address)
        }

        mutating func touch(_ id: TunnelID) {
            uses += 1
            owners[id]?.used = uses
        }

        /// Forgets the identifier that has had no tunnel for longest, of those that fit.
        /// - Returns: false if there is none.
        @discardableResult
        mutating func forgetOldest(where isMeant: (Owner) -> Bool) -> Bool {
            let candidates = owners.filter { tunnels[$0.key] == nil && isMeant($0.value) }
            guard let (id, owner) = candidates.min(by: { $0.value.used < $1.value.used }) else { return false }
            owners[id] = nil
            let rest = (ofCertificate[owner.fingerprint] ?? 1) - 1
            ofCertificate[owner.fingerprint] = rest > 0 ? rest : nil
            ofAddress.remove(owner.address)
            return true
        }

        /// Forgets one of the address that has most, and of all if that one's have tunnels now.
        mutating func makeRoom(for address: AddressKey) {
            let most = ofAddress.displaceable(ofAddress.addresses, by: address, always: true)
            if !forgetOldest(where: { most.contains($0.address) }) { forgetOldest { _ in true } }
        }
    }

    private let ownerLimit: Int
    private let certificateLimit: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - ownerLimit: identifiers that are remembered.
    ///   - certificateLimit: those of one certificate.
    init(ownerLimit: Int = 4_096, certificateLimit: Int = 16) {
        self.ownerLimit = ownerLimit
        self.certificateLimit = certificateLimit
    }

    subscript(id: TunnelID) -> ReverseTunnel? { state.withLock { $0.tunnels[id] } }

    /// Whether the identifier's tunnel is, or was, this certificate's, or nobody's.
    func isOwner(_ fingerprint: [UInt8], of id: TunnelID) -> Bool {
        state.withLock { $0.owners[id].map { $0.fingerprint == fingerprint } ?? true }
    }

    /// - Parameters:
    ///   - fingerprint: SHA-256 of the owner's certificate.
    ///   - address: the owner's.
    func add(_ tunnel: ReverseTunnel, of fingerprint: [UInt8], at address: AddressKey) -> Adding {
        state.withLock { state in
            guard state.owners[tunnel.id].map({ $0.fingerprint == fingerprint }) ?? true else { return .isAnothers }
            guard state.tunnels[tunnel.id] == nil else { return .exists }
            if state.owners[tunnel.id] == nil {
                if state.ofCertificate[fingerprint] ?? 0 >= certificateLimit {
                    state.forgetOldest { $0.fingerprint == fingerprint }
                }
                if state.owners.count >= ownerLimit { state.makeRoom(for: address) }
                state.insert(tunnel.id, fingerprint, address)
            }
            state.touch(tunnel.id)
            state.tunnels[tunnel.id] = tunnel
            state.ids[tunnel.session] = tunnel.id
            return .added
        }
    }

    /// The sessions of tunnels at which nobody was since `limit`; the longest idle one is first.
    func idle(since limit: ContinuousClock.Instant) -> [SessionID] {
        state.withLock { Array($0.tunnels.values) }
            .compactMap { tunnel in tunnel.idleSince.map { (session: tunnel.session, since: $0) } }
            .filter { $0.since <= limit }.sorted { $0.since < $1.since }.map(\.session)
    }

    /// Whether a session stands for a tunnel.
    func has(_ session: SessionID) -> Bool { state.withLock { $0.ids[session] != nil } }

    /// Ends the tunnel of a session, if it is one's.
    func end(_ session: SessionID, reason: String, _ end: TunnelEnd = .unwanted) {
        let tunnel = state.withLock { state -> ReverseTunnel? in
            guard let id = state.ids.removeValue(forKey: session) else { return nil }
            state.touch(id)
            return state.tunnels.removeValue(forKey: id)
        }
        tunnel?.end(reason: reason, end)
    }
}
