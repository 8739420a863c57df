package import Identifiers
package import MediaCore

/// Signalling's instants are those of `ContinuousClock`, with nanoseconds too.
extension TokenBucket {
    package init(burst: Double, rate: Double, now: ContinuousClock.Instant) {
        self.init(burst: burst, rate: rate, now: MediaInstant(now))
    }

    package mutating func refill(_ now: ContinuousClock.Instant) { refill(MediaInstant(now)) }
}

extension MediaInstant {
    fileprivate init(_ instant: ContinuousClock.Instant) {
        let (seconds, attoseconds) = (instant - ContinuousClock().systemEpoch).components
        self.init(nanoseconds: seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000)
    }
}

/// Limits connections, requests, knocks and failures by token buckets, per address and in all. A value without a clock,
/// in bounded memory. A server has one for all of its broadcasts.
///
/// The networks around an IPv6 address have limits, too: a /56 four times and a /48 sixteen times those of an address.
/// They count only while the table of addresses is more than half full or a common bucket is less than half full. A
/// network with that many addresses in a table that is more than half full shares its limits among its further ones.
package struct RequestLimiter: Sendable {
    /// The size of a token bucket, and the tokens that it gets per second.
    package struct Rate: Sendable {
        package var burst: Double
        package var perSecond: Double

        package init(burst: Double, perSecond: Double) { (self.burst, self.perSecond) = (burst, perSecond) }
    }

    package struct Limits: Sendable {
        package init() {}

        var connectionRate = Rate(burst: 128, perSecond: 32)
        package var allConnectionRate = Rate(burst: 512, perSecond: 128)
        /// An address whose new connections stay within this rate may use the last quarter of the common bucket, too.
        var rareConnectionRate = Rate(burst: 12, perSecond: 0.2)
        var requestRate = Rate(burst: 256, perSecond: 64)
        /// Knocks with a correct proof, and requests to pair.
        var knockRate = Rate(burst: 20, perSecond: 2)
        /// An address whose knocks stay within this rate may use the last quarter of a broadcast's bucket, too.
        var rareKnockRate = Rate(burst: 2, perSecond: 1.0 / 30)
        /// Wrong proofs or tokens of one address.
        var failureRate = Rate(burst: 6, perSecond: 0.1)
        /// Open connections at a time.
        package var connectionsPerAddress = 96
        package var connections = 512
        /// Places among `connections` that only addresses with a valid token may use.
        package var reservedConnections = 64
        /// The time for which an address counts as admitted after its last request with a valid token.
        var admittedFor: Duration = .seconds(600)
        /// Addresses that are remembered.
        package var addresses = 4_096
    }

    /// The decision about a new connection.
    enum Entry: Sendable, Equatable {
        case accepted
        /// The caller has to close one connection of that address, which has the most. It is not counted any more.
        case acceptedInsteadOf(AddressKey)
        case refused

        var isAccepted: Bool { self != .refused }
    }

    /// Of an address, or of a network.
    private struct AddressState {
        var connections: TokenBucket
        var rareConnections: TokenBucket
        var requests: TokenBucket
        var knocks: TokenBucket
        var rareKnocks: TokenBucket
        var failures: TokenBucket
        /// The addresses of a network that are in the table.
        var members = 0
        var admittedUntil: ContinuousClock.Instant?

        /// - Parameter shares: how many times the limits of an address it has.
        init(_ limits: Limits, shares: Int, now: ContinuousClock.Instant) {
            func bucket(_ rate: Rate) -> TokenBucket {
                TokenBucket(burst: rate.burst * Double(shares), rate: rate.perSecond * Double(shares), now: now)
            }
            connections = bucket(limits.connectionRate)
            rareConnections = bucket(limits.rareConnectionRate)
            requests = bucket(limits.requestRate)
            knocks = bucket(limits.knockRate)
            rareKnocks = bucket(limits.rareKnockRate)
            failures = bucket(limits.failureRate)
        }

        func isAdmitted(_ now: ContinuousClock.Instant) -> Bool { admittedUntil.map { $0 > now } ?? false }

        mutating func isForgettable(_ now: ContinuousClock.Instant) -> Bool {
            connections.refill(now)
            rareConnections.refill(now)
            requests.refill(now)
            knocks.refill(now)
            rareKnocks.refill(now)
            failures.refill(now)
            return members == 0 && !isAdmitted(now) && connections.isFull() && rareConnections.isFull()
                && requests.isFull() && knocks.isFull() && rareKnocks.isFull() && failures.isFull()
        }
    }

    /// The share of a common bucket that is for addresses which use it rarely.
    package static let reserved = 0.25
    /// The time that a new address has to wait when no other one can be remembered, in seconds.
    private static let fullDelay = 10

    let limits: Limits
    /// Of addresses, and of the networks around them.
    private var states: [AddressKey: AddressState] = [:]
    private var addressCount = 0
    private var connections: TokenBucket
    private var openConnections = AddressShares()
    private var nextSweep: ContinuousClock.Instant

    /// Open connections.
    var open: Int { openConnections.total }

    package init(limits: Limits, now: ContinuousClock.Instant) {
        self.limits = limits
        connections = TokenBucket(
            burst: limits.allConnectionRate.burst, rate: limits.allConnectionRate.perSecond, now: now)
        nextSweep = now + .seconds(10)
    }

    /// Decides about a new connection. Each result but `.refused` has to be followed by `closed`.
    ///
    /// If the limit is reached, a new connection replaces an existing one. An admitted address replaces a connection of
    /// an unadmitted one. Otherwise the other address must have more connections; an unadmitted address never replaces
    /// a connection of an admitted one. Addresses that connect often leave a quarter of the common bucket to those that
    /// do not.
    mutating func connect(_ address: AddressKey, now: ContinuousClock.Instant) -> Entry {
        guard let key = key(for: address, now) else { return .refused }
        connections.refill(now)
        let isCrowded = isCrowded || !connections.has(beside: Self.half)
        guard openConnections.hasRoom(for: address, share: limits.connectionsPerAddress, of: limits.connections),
            delay(\.connections, key, isCrowded, now) == nil
        else { return .refused }
        let isAdmitted = isAdmitted(address, now)
        if !isAdmitted {
            let isRare = delay(\.rareConnections, key, isCrowded, now) == nil
            // A refused attempt counts, too: many addresses would otherwise keep the last quarter for as long as it
            // takes to accept all of their rare connections.
            if isRare { take(\.rareConnections, key) }
            guard connections.has(beside: isRare ? 0 : Self.reserved) else { return .refused }
            connections.take()
        }
        var entry = Entry.accepted
        if open >= limits.connections - (isAdmitted ? 0 : limits.reservedConnections) {
            guard let loser = loser(to: address, isAdmitted: isAdmitted, now) else { return .refused }
            openConnections.remove(loser)
            entry = .acceptedInsteadOf(loser)
        }
        take(\.connections, key)
        openConnections.add(address)
        return entry
    }

    /// Returns the address with the most connections: of those not admitted, or if there are none and the newcomer is
    /// admitted, of the admitted ones. Returns nil if it does not have more than the newcomer would have.
    private func loser(to newcomer: AddressKey, isAdmitted: Bool, _ now: ContinuousClock.Instant) -> AddressKey? {
        func most(_ losers: Set<AddressKey>) -> AddressKey? {
            losers.max { openConnections.count(of: $0) < openConnections.count(of: $1) }
        }
        let addresses = openConnections.addresses
        let unadmitted = addresses.filter { !self.isAdmitted($0, now) }
        let losers = openConnections.displaceable(unadmitted, by: newcomer, always: isAdmitted)
        if let loser = most(losers) { return loser }
        guard isAdmitted else { return nil }
        return most(openConnections.displaceable(addresses.filter { self.isAdmitted($0, now) }, by: newcomer))
    }

    private func isAdmitted(_ address: AddressKey, _ now: ContinuousClock.Instant) -> Bool {
        states[address]?.isAdmitted(now) ?? false
    }

    /// Notes that a request with a valid token came from this address.
    package mutating func admitted(_ address: AddressKey, now: ContinuousClock.Instant) {
        guard states[address] != nil || add(address, now) else { return }
        let until = now + limits.admittedFor
        states[address]?.admittedUntil = until
    }

    mutating func closed(_ address: AddressKey) { openConnections.remove(address) }

    /// Takes a request's token. Returns nil if the request may proceed, else the seconds to wait.
    package mutating func requestDelay(_ address: AddressKey, now: ContinuousClock.Instant) -> Int? {
        delay(\.requests, address, now)
    }

    /// Takes the token of a knock with a correct proof, or of a request to pair, from its address's bucket and from
    /// that of its broadcast or service. Returns nil if it may proceed, else the seconds to wait.
    ///
    /// An address has one bucket for all broadcasts and services. Each of these has a bucket of its own, so that a
    /// flood of knocks at one does not keep viewers out of another. Addresses that knock often leave a quarter of it to
    /// those that do not.
    package mutating func knockDelay(
        _ address: AddressKey, of knocks: inout TokenBucket, now: ContinuousClock.Instant
    ) -> Int? {
        guard let key = key(for: address, now) else { return Self.fullDelay }
        knocks.refill(now)
        let isCrowded = isCrowded || !knocks.has(beside: Self.half)
        if let wait = delay(\.knocks, key, isCrowded, now) { return wait }
        let isRare = delay(\.rareKnocks, key, isCrowded, now) == nil
        guard knocks.has(beside: isRare ? 0 : Self.reserved) else { return knocks.wait }
        if isRare { take(\.rareKnocks, key) }
        take(\.knocks, key)
        knocks.take()
        return nil
    }

    /// Counts a wrong proof or token. Returns nil for the first ones; later, the seconds during which wrong attempts
    /// from the address are answered with 429.
    ///
    /// A correct proof or token is always accepted, also from this address.
    package mutating func failureDelay(_ address: AddressKey, now: ContinuousClock.Instant) -> Int? {
        delay(\.failures, address, now)
    }

    // MARK: Buckets

    private typealias Bucket = WritableKeyPath<AddressState, TokenBucket>

    /// Takes a token of one of the address's buckets. Returns nil if there was one, else the seconds until there is.
    private mutating func delay(_ bucket: Bucket, _ address: AddressKey, _ now: ContinuousClock.Instant) -> Int? {
        // Without a connection of its own, if a relay has forwarded the request.
        guard let key = key(for: address, now) else { return Self.fullDelay }
        if let wait = delay(bucket, key, isCrowded, now) { return wait }
        take(bucket, key)
        return nil
    }

    /// - Parameter isCrowded: the buckets of the networks around count, too.
    /// - Returns: nil if there is a token, else the seconds until there is one.
    private mutating func delay(
        _ bucket: Bucket, _ key: AddressKey, _ isCrowded: Bool, _ now: ContinuousClock.Instant
    ) -> Int? {
        var wait: Int?
        for (place, key) in ([key] + key.networks).enumerated() {
            states[key]?[keyPath: bucket].refill(now)
            guard place == 0 || isCrowded, let own = states[key]?[keyPath: bucket], !own.has() else { continue }
            wait = max(wait ?? 0, own.wait)
        }
        return wait
    }

    /// Takes a token, also of the networks around as long as they have some.
    private mutating func take(_ bucket: Bucket, _ key: AddressKey) {
        for key in [key] + key.networks where states[key]?[keyPath: bucket].has() == true {
            states[key]?[keyPath: bucket].take()
        }
    }

    // MARK: The table

    private static let half = 0.5
    private var isCrowded: Bool { addressCount > limits.addresses / 2 }

    /// Returns the state in which an address counts: its own, or that of a network which has its share of the table.
    /// Returns nil if the table is full of addresses that cannot be forgotten yet.
    private mutating func key(for address: AddressKey, _ now: ContinuousClock.Instant) -> AddressKey? {
        sweep(now)
        guard states[address] == nil else { return address }
        if isCrowded, let network = address.networks.first(where: { states[$0]?.members ?? 0 >= $0.shares }) {
            return network
        }
        return add(address, now) ? address : nil
    }

    /// - Returns: false if the table is full.
    private mutating func add(_ address: AddressKey, _ now: ContinuousClock.Instant) -> Bool {
        guard addressCount < limits.addresses else { return false }
        addressCount += 1
        let limits = limits
        states[address] = AddressState(limits, shares: 1, now: now)
        for network in address.networks {
            states[network, default: AddressState(limits, shares: network.shares, now: now)].members += 1
        }
        return true
    }

    private mutating func sweep(_ now: ContinuousClock.Instant) {
        guard now >= nextSweep else { return }
        nextSweep = now + .seconds(10)
        for (address, var state) in states
        where address.shares == 1 && openConnections.count(of: address) == 0 && state.isForgettable(now) {
            states[address] = nil
            addressCount -= 1
            for network in address.networks { states[network]?.members -= 1 }
        }
        for (network, var state) in states where network.shares > 1 && state.isForgettable(now) {
            states[network] = nil
        }
    }
}
