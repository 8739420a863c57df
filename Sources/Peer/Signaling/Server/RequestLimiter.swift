import Admission
import MediaCore

/// Signalling's instants are those of `ContinuousClock`, with nanoseconds too.
extension TokenBucket {
    init(burst: Double, rate: Double, now: ContinuousClock.Instant) {
        self.init(burst: burst, rate: rate, now: MediaInstant(now))
    }

    mutating func refill(_ now: ContinuousClock.Instant) { refill(MediaInstant(now)) }
}

extension MediaInstant {
    fileprivate init(_ instant: ContinuousClock.Instant) {
        let (seconds, attoseconds) = (instant - ContinuousClock().systemEpoch).components
        self.init(nanoseconds: seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000)
    }
}

/// Limits connections, requests, knocks and failures by token buckets, per address and in all. A value without a clock,
/// in bounded memory. A server has one for all of its broadcasts.
struct RequestLimiter: Sendable {
    /// A flat record, as each limit is set by its own name.
    struct Limits: Sendable {
        var connectionBurst = 128.0
        var connectionsPerSecond = 32.0
        var allConnectionBurst = 512.0
        var allConnectionsPerSecond = 128.0
        /// An address whose new connections stay within this rate may use the last quarter of the common bucket, too.
        var rareConnectionBurst = 12.0
        var rareConnectionsPerSecond = 0.2
        var requestBurst = 256.0
        var requestsPerSecond = 64.0
        /// Knocks with a correct proof, and requests to pair.
        var knockBurst = 20.0
        var knocksPerSecond = 2.0
        /// An address whose knocks stay within this rate may use the last quarter of a broadcast's bucket, too.
        var rareKnockBurst = 2.0
        var rareKnocksPerSecond = 1.0 / 30
        /// Wrong proofs or tokens of one address.
        var failureBurst = 6.0
        var failuresPerSecond = 0.1
        /// Open connections at a time.
        var connectionsPerAddress = 96
        var connections = 512
        /// Places among `connections` that only addresses with a valid token may use.
        var reservedConnections = 64
        /// How long an address counts as admitted after its last request with a valid token.
        var admittedFor: Duration = .seconds(600)
        /// Addresses that are remembered.
        var addresses = 4_096
    }

    /// The decision about a new connection.
    enum Entry: Sendable, Equatable {
        case accepted
        /// The caller has to close one connection of that address, which has the most. It is not counted any more.
        case acceptedInsteadOf(AddressKey)
        case refused

        var isAccepted: Bool { self != .refused }
    }

    private struct AddressState {
        var connections: TokenBucket
        var rareConnections: TokenBucket
        var requests: TokenBucket
        var knocks: TokenBucket
        var rareKnocks: TokenBucket
        var failures: TokenBucket
        var open = 0
        var admittedUntil: ContinuousClock.Instant?

        func isAdmitted(_ now: ContinuousClock.Instant) -> Bool { admittedUntil.map { $0 > now } ?? false }

        mutating func isForgettable(_ now: ContinuousClock.Instant) -> Bool {
            connections.refill(now)
            rareConnections.refill(now)
            requests.refill(now)
            knocks.refill(now)
            rareKnocks.refill(now)
            failures.refill(now)
            return open == 0 && !isAdmitted(now) && connections.isFull() && rareConnections.isFull()
                && requests.isFull() && knocks.isFull() && rareKnocks.isFull() && failures.isFull()
        }
    }

    /// The share of a common bucket that is for addresses which use it rarely.
    static let reserved = 0.25
    /// How long a new address has to wait when no other one can be remembered, in seconds.
    private static let fullDelay = 10

    let limits: Limits
    private var addresses: [AddressKey: AddressState] = [:]
    private var connections: TokenBucket
    private(set) var open = 0
    private var nextSweep: ContinuousClock.Instant

    init(limits: Limits, now: ContinuousClock.Instant) {
        self.limits = limits
        connections = TokenBucket(burst: limits.allConnectionBurst, rate: limits.allConnectionsPerSecond, now: now)
        nextSweep = now + .seconds(10)
    }

    /// Decides about a new connection. Each result but `.refused` has to be followed by `closed`.
    ///
    /// If the limit is reached, a new connection replaces an existing one. An admitted address replaces a connection of
    /// an unadmitted one. Otherwise the other address must have more connections; an unadmitted address never replaces
    /// a connection of an admitted one. Addresses that connect often leave a quarter of the common bucket to those that
    /// do not.
    mutating func connect(_ address: AddressKey, now: ContinuousClock.Instant) -> Entry {
        guard makeRoom(now) || addresses[address] != nil else { return .refused }
        var state = state(of: address, now)
        defer { addresses[address] = state }
        state.connections.refill(now)
        state.rareConnections.refill(now)
        connections.refill(now)
        guard state.open < limits.connectionsPerAddress, state.connections.has() else { return .refused }
        let isAdmitted = state.isAdmitted(now)
        if !isAdmitted {
            let isRare = state.rareConnections.has()
            // A refused attempt counts, too: many addresses would otherwise keep the last quarter for as long as it takes
            // to accept all of their rare connections.
            if isRare { state.rareConnections.take() }
            guard connections.has(beside: isRare ? 0 : Self.reserved) else { return .refused }
            connections.take()
        }
        var entry = Entry.accepted
        if open >= limits.connections - (isAdmitted ? 0 : limits.reservedConnections) {
            guard let loser = loser(to: state, isAdmitted: isAdmitted, now) else { return .refused }
            addresses[loser]?.open -= 1
            open -= 1
            entry = .acceptedInsteadOf(loser)
        }
        state.connections.take()
        state.open += 1
        open += 1
        return entry
    }

    /// Returns the address with the most connections: of those not admitted, or if there are none and the newcomer is
    /// admitted, of the admitted ones. Returns nil if it does not have more than the newcomer would have.
    private func loser(to state: AddressState, isAdmitted: Bool, _ now: ContinuousClock.Instant) -> AddressKey? {
        func most(_ isCandidate: (AddressState) -> Bool) -> (key: AddressKey, value: AddressState)? {
            addresses.filter { $0.value.open > 0 && isCandidate($0.value) }.max { $0.value.open < $1.value.open }
        }
        if let unadmitted = most({ !$0.isAdmitted(now) }) {
            if isAdmitted || unadmitted.value.open > state.open + 1 { return unadmitted.key }
        }
        guard isAdmitted, let other = most({ $0.isAdmitted(now) }) else { return nil }
        return other.value.open > state.open + 1 ? other.key : nil
    }

    /// Notes that a request with a valid token came from this address.
    mutating func admitted(_ address: AddressKey, now: ContinuousClock.Instant) {
        let until = now + limits.admittedFor
        addresses[address]?.admittedUntil = until
    }

    mutating func closed(_ address: AddressKey) {
        guard var state = addresses[address], state.open > 0 else { return }
        state.open -= 1
        open -= 1
        addresses[address] = state
    }

    /// Takes a request's token. Returns nil if the request may proceed, else the seconds to wait.
    mutating func requestDelay(_ address: AddressKey, now: ContinuousClock.Instant) -> Int? {
        delay(\.requests, address, now)
    }

    /// Takes the token of a knock with a correct proof, or of a request to pair, from its address's bucket and from that
    /// of its broadcast or service. Returns nil if it may proceed, else the seconds to wait.
    ///
    /// An address has one bucket for all broadcasts and services. Each of these has a bucket of its own, so that a flood
    /// of knocks at one does not keep viewers out of another. Addresses that knock often leave a quarter of it to those
    /// that do not.
    mutating func knockDelay(
        _ address: AddressKey, of knocks: inout TokenBucket, now: ContinuousClock.Instant
    ) -> Int? {
        guard addresses[address] != nil || makeRoom(now) else { return Self.fullDelay }
        var state = state(of: address, now)
        defer { addresses[address] = state }
        state.knocks.refill(now)
        state.rareKnocks.refill(now)
        guard state.knocks.has() else { return state.knocks.wait }
        knocks.refill(now)
        let isRare = state.rareKnocks.has()
        guard knocks.has(beside: isRare ? 0 : Self.reserved) else { return knocks.wait }
        if isRare { state.rareKnocks.take() }
        state.knocks.take()
        knocks.take()
        return nil
    }

    /// Counts a wrong proof or token. Returns nil for the first ones; later, the seconds during which wrong attempts
    /// from the address are answered with 429.
    ///
    /// A correct proof or token is always accepted, also from this address.
    mutating func failureDelay(_ address: AddressKey, now: ContinuousClock.Instant) -> Int? {
        delay(\.failures, address, now)
    }

    /// Takes a token of one of the address's buckets. Returns nil if there was one, else the seconds until there is.
    private mutating func delay(
        _ bucket: WritableKeyPath<AddressState, TokenBucket>, _ address: AddressKey, _ now: ContinuousClock.Instant
    ) -> Int? {
        // Without a connection of its own, if a relay has forwarded the request.
        guard addresses[address] != nil || makeRoom(now) else { return Self.fullDelay }
        var state = state(of: address, now)
        defer { addresses[address] = state }
        state[keyPath: bucket].refill(now)
        guard state[keyPath: bucket].has() else { return state[keyPath: bucket].wait }
        state[keyPath: bucket].take()
        return nil
    }

    private func state(of address: AddressKey, _ now: ContinuousClock.Instant) -> AddressState {
        addresses[address]
            ?? AddressState(
                connections: TokenBucket(burst: limits.connectionBurst, rate: limits.connectionsPerSecond, now: now),
                rareConnections: TokenBucket(
                    burst: limits.rareConnectionBurst, rate: limits.rareConnectionsPerSecond, now: now),
                requests: TokenBucket(burst: limits.requestBurst, rate: limits.requestsPerSecond, now: now),
                knocks: TokenBucket(burst: limits.knockBurst, rate: limits.knocksPerSecond, now: now),
                rareKnocks: TokenBucket(burst: limits.rareKnockBurst, rate: limits.rareKnocksPerSecond, now: now),
                failures: TokenBucket(burst: limits.failureBurst, rate: limits.failuresPerSecond, now: now))
    }

    /// Returns false if the table is full of addresses that cannot be forgotten yet.
    private mutating func makeRoom(_ now: ContinuousClock.Instant) -> Bool {
        if now >= nextSweep {
            nextSweep = now + .seconds(10)
            for (address, var state) in addresses where state.isForgettable(now) { addresses[address] = nil }
        }
        return addresses.count < limits.addresses
    }
}
