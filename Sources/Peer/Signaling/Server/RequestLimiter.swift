/// A bucket of tokens that refills with time.
struct TokenBucket: Sendable {
    let burst: Double
    /// Tokens a second.
    let rate: Double
    private var level: Double
    private var last: ContinuousClock.Instant

    init(burst: Double, rate: Double, now: ContinuousClock.Instant) {
        self.burst = burst
        self.rate = rate
        level = burst
        last = now
    }

    mutating func refill(_ now: ContinuousClock.Instant) {
        guard now > last else { return }
        level = min(burst, level + rate * ((now - last) / .seconds(1)))
        last = now
    }

    func isFull() -> Bool { level >= burst }
    func has(_ tokens: Double = 1) -> Bool { level >= tokens }
    mutating func take(_ tokens: Double = 1) { level -= tokens }
    /// Whole seconds until one token is there, at least 1.
    var wait: Int { max(1, Int(((1 - level) / rate).rounded(.up))) }
}

/// What one address, and all together, may ask for. A value without a clock; constant memory.
struct RequestLimiter: Sendable {
    struct Limits: Sendable {
        var connectionBurst = 128.0
        var connectionsPerSecond = 32.0
        var allConnectionBurst = 512.0
        var allConnectionsPerSecond = 128.0
        /// Of one address, up to which a new connection may take from the common rate's last quarter.
        var rareConnectionBurst = 24.0
        var rareConnectionsPerSecond = 2.0
        var requestBurst = 256.0
        var requestsPerSecond = 64.0
        /// Knocks with the right proof.
        var knockBurst = 20.0
        var knocksPerSecond = 2.0
        var allKnockBurst = 60.0
        var allKnocksPerSecond = 20.0
        /// Wrong proofs or tokens of one address.
        var failureBurst = 6.0
        var failuresPerSecond = 0.1
        /// Connections at a time.
        var connectionsPerAddress = 96
        var connections = 512
        /// Of them, for addresses with a valid token alone.
        var reservedConnections = 64
        /// How long an address counts as admitted after its last request with a valid token.
        var admittedFor: Duration = .seconds(600)
        /// Addresses that are remembered.
        var addresses = 4_096
    }

    /// What becomes of a new connection.
    enum Entry: Sendable, Equatable {
        case accepted
        /// One connection of that address, which holds most, has to be closed for it; it is not counted any more.
        case acceptedInsteadOf(AddressKey)
        case refused

        var isAccepted: Bool { self != .refused }
    }

    private struct Visitor {
        var connections: TokenBucket
        var rareConnections: TokenBucket
        var requests: TokenBucket
        var knocks: TokenBucket
        var failures: TokenBucket
        var open = 0
        var admittedUntil: ContinuousClock.Instant?

        func isAdmitted(_ now: ContinuousClock.Instant) -> Bool { admittedUntil.map { $0 > now } ?? false }

        mutating func isForgettable(_ now: ContinuousClock.Instant) -> Bool {
            connections.refill(now)
            rareConnections.refill(now)
            requests.refill(now)
            knocks.refill(now)
            failures.refill(now)
            return open == 0 && !isAdmitted(now) && connections.isFull() && rareConnections.isFull()
                && requests.isFull() && knocks.isFull()
                && failures.isFull()
        }
    }

    let limits: Limits
    private var visitors: [AddressKey: Visitor] = [:]
    private var connections: TokenBucket
    private var knocks: TokenBucket
    private(set) var open = 0
    private var nextSweep: ContinuousClock.Instant

    init(limits: Limits, now: ContinuousClock.Instant) {
        self.limits = limits
        connections = TokenBucket(burst: limits.allConnectionBurst, rate: limits.allConnectionsPerSecond, now: now)
        knocks = TokenBucket(burst: limits.allKnockBurst, rate: limits.allKnocksPerSecond, now: now)
        nextSweep = now + .seconds(10)
    }

    /// Everything but `.refused` needs a `closed` later.
    ///
    /// A stranger's place may be taken by anybody whose address holds fewer connections, an admitted one's only by an
    /// admitted one. Addresses that connect often leave a quarter of the common rate to those that do not.
    mutating func connect(_ address: AddressKey, now: ContinuousClock.Instant) -> Entry {
        guard makeRoom(now) || visitors[address] != nil else { return .refused }
        var visitor = visitor(address, now)
        defer { visitors[address] = visitor }
        visitor.connections.refill(now)
        visitor.rareConnections.refill(now)
        connections.refill(now)
        guard visitor.open < limits.connectionsPerAddress, visitor.connections.has() else { return .refused }
        let isAdmitted = visitor.isAdmitted(now)
        if !isAdmitted {
            let isRare = visitor.rareConnections.has()
            guard connections.has(1 + (isRare ? 0 : limits.allConnectionBurst / 4)) else { return .refused }
            if isRare { visitor.rareConnections.take() }
            connections.take()
        }
        var entry = Entry.accepted
        if open >= limits.connections - (isAdmitted ? 0 : limits.reservedConnections) {
            guard let loser = loser(to: visitor, isAdmitted: isAdmitted, now) else { return .refused }
            visitors[loser]?.open -= 1
            open -= 1
            entry = .acceptedInsteadOf(loser)
        }
        visitor.connections.take()
        visitor.open += 1
        open += 1
        return entry
    }

    /// Who holds most: of the strangers, or if there is none, for an admitted newcomer, of the admitted. Nil if nobody holds
    /// more than the newcomer will.
    private func loser(to visitor: Visitor, isAdmitted: Bool, _ now: ContinuousClock.Instant) -> AddressKey? {
        func most(_ isCandidate: (Visitor) -> Bool) -> (key: AddressKey, value: Visitor)? {
            visitors.filter { $0.value.open > 0 && isCandidate($0.value) }.max { $0.value.open < $1.value.open }
        }
        if let stranger = most({ !$0.isAdmitted(now) }) {
            if isAdmitted || stranger.value.open > visitor.open + 1 { return stranger.key }
        }
        guard isAdmitted, let other = most({ $0.isAdmitted(now) }) else { return nil }
        return other.value.open > visitor.open + 1 ? other.key : nil
    }

    /// A request with a valid token came from this address.
    mutating func admitted(_ address: AddressKey, now: ContinuousClock.Instant) {
        let until = now + limits.admittedFor
        visitors[address]?.admittedUntil = until
    }

    mutating func closed(_ address: AddressKey) {
        guard var visitor = visitors[address], visitor.open > 0 else { return }
        visitor.open -= 1
        open -= 1
        visitors[address] = visitor
    }

    /// Nil if this address may make a request now, else the seconds to wait.
    mutating func requestDelay(_ address: AddressKey, now: ContinuousClock.Instant) -> Int? {
        var visitor = visitor(address, now)
        defer { visitors[address] = visitor }
        visitor.requests.refill(now)
        guard visitor.requests.has() else { return visitor.requests.wait }
        visitor.requests.take()
        return nil
    }

    /// Nil if a knock with the right proof may go on now, else the seconds to wait.
    mutating func knockDelay(_ address: AddressKey, now: ContinuousClock.Instant) -> Int? {
        var visitor = visitor(address, now)
        defer { visitors[address] = visitor }
        visitor.knocks.refill(now)
        guard visitor.knocks.has() else { return visitor.knocks.wait }
        knocks.refill(now)
        guard knocks.has() else { return knocks.wait }
        visitor.knocks.take()
        knocks.take()
        return nil
    }

    /// A wrong proof or token came. Nil the first times; later the seconds for which the address gets no better answer.
    ///
    /// It never shuts out who comes with the right one, from the same address either.
    mutating func failureDelay(_ address: AddressKey, now: ContinuousClock.Instant) -> Int? {
        var visitor = visitor(address, now)
        defer { visitors[address] = visitor }
        visitor.failures.refill(now)
        guard visitor.failures.has() else { return visitor.failures.wait }
        visitor.failures.take()
        return nil
    }

    private func visitor(_ address: AddressKey, _ now: ContinuousClock.Instant) -> Visitor {
        visitors[address]
            ?? Visitor(
                connections: TokenBucket(burst: limits.connectionBurst, rate: limits.connectionsPerSecond, now: now),
                rareConnections: TokenBucket(
                    burst: limits.rareConnectionBurst, rate: limits.rareConnectionsPerSecond, now: now),
                requests: TokenBucket(burst: limits.requestBurst, rate: limits.requestsPerSecond, now: now),
                knocks: TokenBucket(burst: limits.knockBurst, rate: limits.knocksPerSecond, now: now),
                failures: TokenBucket(burst: limits.failureBurst, rate: limits.failuresPerSecond, now: now))
    }

    /// False if the table is full of addresses that cannot be forgotten yet.
    private mutating func makeRoom(_ now: ContinuousClock.Instant) -> Bool {
        if now >= nextSweep {
            nextSweep = now + .seconds(10)
            for (address, var visitor) in visitors where visitor.isForgettable(now) { visitors[address] = nil }
        }
        return visitors.count < limits.addresses
    }
}

/// An address as limits count it: IPv4 whole, IPv6 by its /64.
struct AddressKey: Hashable, Sendable {
    private let bytes: UInt64

    init(ipv4: UInt32) { bytes = UInt64(ipv4) }
    init(ipv6Prefix: UInt64) { bytes = ipv6Prefix | 1 << 63 }
}
