package import HTTP
package import Identifiers
package import MediaCore

/// The tokens of admitted viewers, as a value without a clock.
///
/// A token that is not used and has no session expires after `lifetime`. When an identity, an address or the table is
/// full, the token that was unused for longest is removed. A token with a session, or whose last session ended less
/// than `protection` ago, is not removed for that; a table full of those refuses new tokens, unless their address has
/// more than others, and nobody was asked about them.
package struct TokenTable: Sendable {
    package typealias Instant = ContinuousClock.Instant
    package typealias Key = TokenHash

    package struct Limits: Sendable {
        /// Longer than an outage (30 s) with the rejoin after it, and than the reload of a page.
        package var lifetime: Duration
        /// The time after the end of its last session in which a token is not removed.
        package var protection: Duration
        package var ofIdentity: Int
        package var ofAddress: Int
        package var all: Int

        package init(
            lifetime: Duration = .seconds(300), protection: Duration = .seconds(90), ofIdentity: Int = 32,
            ofAddress: Int = 128, all: Int = 1_024
        ) {
            self.lifetime = lifetime
            self.protection = protection
            self.ofIdentity = ofIdentity
            self.ofAddress = ofAddress
            self.all = all
        }
    }

    private struct Entry {
        let viewer: Viewer
        let address: AddressKey
        var sessions = 0
        /// When the last session ended; nil if there was none.
        var sessionEnded: Instant?
        var usedAt: Instant
        /// A session with this token has had media.
        var hasMedia = false
        /// The counters of the last messages that were encrypted for this admission.
        var messageCounters: [MessageCarrier: UInt64] = [:]
    }

    private let limits: Limits
    private var entries: [Key: Entry] = [:]

    package init(limits: Limits) { self.limits = limits }

    package var count: Int { entries.count }

    /// Returns whether `admit` would succeed.
    package func hasRoom(for identity: ViewerIdentity?, from address: AddressKey, now: Instant) -> Bool {
        var copy = self
        copy.expire(now)
        return copy.makeRoom(for: identity, from: address, now)
    }

    /// Adds a token.
    /// - Returns: false if there is no room.
    package mutating func admit(_ key: Key, _ viewer: Viewer, from address: AddressKey, now: Instant) -> Bool {
        expire(now)
        guard makeRoom(for: viewer.identity, from: address, now) else { return false }
        entries[key] = Entry(viewer: viewer, address: address, usedAt: now)
        return true
    }

    /// Removes all tokens of an identity, also those with sessions.
    /// - Returns: the removed tokens.
    package mutating func remove(_ identity: ViewerIdentity) -> [Key] {
        let keys = entries.filter { $0.value.viewer.identity == identity }.map(\.key)
        for key in keys { entries[key] = nil }
        return keys
    }

    /// Returns the viewer of a token, and counts this as a use.
    package mutating func use(_ key: Key, now: Instant) -> Viewer? {
        guard var entry = entries[key] else { return nil }
        guard !isExpired(entry, now) else {
            entries[key] = nil
            return nil
        }
        entry.usedAt = now
        entries[key] = entry
        return entry.viewer
    }

    /// Returns the viewer of a token, without a use of it.
    package func viewer(_ key: Key) -> Viewer? { entries[key]?.viewer }

    /// Takes note of an encrypted message.
    /// - Returns: false if it came before, or after a later one of the same carrier.
    package mutating func noteMessage(_ key: Key, counter: UInt64, by carrier: MessageCarrier) -> Bool {
        guard let entry = entries[key], entry.messageCounters[carrier].map({ counter > $0 }) ?? true else {
            return false
        }
        entries[key]?.messageCounters[carrier] = counter
        return true
    }

    /// Counts a session, from its reservation on.
    package mutating func sessionBegan(_ key: Key) { entries[key]?.sessions += 1 }

    /// Uncounts a session that was never opened. It does not protect the token.
    package mutating func sessionFailed(_ key: Key) {
        if let sessions = entries[key]?.sessions, sessions > 0 { entries[key]?.sessions = sessions - 1 }
    }

    package mutating func sessionEnded(_ key: Key, now: Instant) {
        guard var entry = entries[key], entry.sessions > 0 else { return }
        entry.sessions -= 1
        entry.sessionEnded = now
        entry.usedAt = now
        entries[key] = entry
    }

    /// A session with this token has media.
    package mutating func noteMedia(_ key: Key) { entries[key]?.hasMedia = true }

    /// Whether a person has accepted the viewer of a token, or media has reached it.
    package func isProven(_ key: Key) -> Bool {
        entries[key].map { $0.hasMedia || !$0.viewer.isAdmittedByRule } ?? false
    }

    private func isExpired(_ entry: Entry, _ now: Instant) -> Bool {
        entry.sessions == 0 && now - entry.usedAt >= limits.lifetime
    }

    private func isProtected(_ entry: Entry, _ now: Instant) -> Bool {
        entry.sessions > 0 || entry.sessionEnded.map { now - $0 < limits.protection } ?? false
    }

    private mutating func expire(_ now: Instant) { entries = entries.filter { !isExpired($0.value, now) } }

    private mutating func makeRoom(for identity: ViewerIdentity?, from address: AddressKey, _ now: Instant) -> Bool {
        if let identity, entries.values.count(where: { $0.viewer.identity == identity }) >= limits.ofIdentity {
            guard removeOldest(now, where: { $0.viewer.identity == identity }) else { return false }
        }
        let shares = AddressShares(entries.values.map(\.address))
        if !shares.hasRoom(for: address, share: limits.ofAddress, of: limits.all) {
            let full = ([address] + address.networks).first { shares.count(of: $0) >= limits.ofAddress * $0.shares }
            guard removeOldest(now, where: { full?.contains($0.address) ?? false }) else { return false }
        }
        guard entries.count >= limits.all else { return true }
        // The oldest token of the address that has the most removable tokens is removed.
        let idle = AddressShares(entries.values.filter { !isProtected($0, now) }.map(\.address))
        let most = idle.displaceable(idle.addresses, by: address, always: true)
        return removeOldest(now) { most.contains($0.address) } || displace(by: address)
    }

    /// Removes the newest token without a session of the address that has most tokens by a rule, if that is more than
    /// `newcomer` would have.
    private mutating func displace(by newcomer: AddressKey) -> Bool {
        let candidates = entries.filter { $0.value.sessions == 0 && $0.value.viewer.isAdmittedByRule }
        let losers = AddressShares(entries.values.map(\.address))
            .displaceable(candidates.values.map(\.address), by: newcomer)
        let newest = candidates.filter { losers.contains($0.value.address) }
            .max { $0.value.usedAt < $1.value.usedAt }
        guard let newest else { return false }
        entries[newest.key] = nil
        return true
    }

    private mutating func removeOldest(_ now: Instant, where isCandidate: (Entry) -> Bool) -> Bool {
        let candidates = entries.filter { !isProtected($0.value, now) && isCandidate($0.value) }
        guard let oldest = candidates.min(by: { $0.value.usedAt < $1.value.usedAt }) else { return false }
        entries[oldest.key] = nil
        return true
    }
}
