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
struct Doorman: Sendable {
    struct Limits: Sendable {
        var connectionBurst = 128.0
        var connectionsPerSecond = 32.0
        var allConnectionBurst = 512.0
        var allConnectionsPerSecond = 128.0
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
        /// Addresses that are remembered.
        var addresses = 4_096
    }

    private struct Visitor {
        var connections: TokenBucket
        var requests: TokenBucket
        var knocks: TokenBucket
        var failures: TokenBucket
        var open = 0

        mutating func isForgettable(_ now: ContinuousClock.Instant) -> Bool {
            connections.refill(now)
            requests.refill(now)
            knocks.refill(now)
            failures.refill(now)
            return open == 0 && connections.isFull() && requests.isFull() && knocks.isFull() && failures.isFull()
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

    /// Every true needs a `closed` later.
    mutating func mayConnect(_ address: AddressKey, now: ContinuousClock.Instant) -> Bool {
        guard open < limits.connections, makeRoom(now) || visitors[address] != nil else { return false }
        var visitor = visitor(address, now)
        defer { visitors[address] = visitor }
        visitor.connections.refill(now)
        connections.refill(now)
        guard visitor.open < limits.connectionsPerAddress, visitor.connections.has(), connections.has() else {
            return false
        }
        visitor.connections.take()
        connections.take()
        visitor.open += 1
        open += 1
        return true
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
    /// It never shuts out who comes with the right one from behind the same address.
    mutating func failureDelay(_ address: AddressKey, now: ContinuousClock.Instant) -> Int? {
        var visitor = visitor(address, now)
        defer { visitors[address] = visitor }
        visitor.failures.refill(now)
        guard visitor.failures.has() else { return visitor.failures.wait }
        visitor.failures.take()
        return nil
    }

    /// Whether this address has been wrong so often that a guess which is right does not count either.
    mutating func isGuessing(_ address: AddressKey, now: ContinuousClock.Instant) -> Bool {
        guard var visitor = visitors[address] else { return false }
        visitor.failures.refill(now)
        visitors[address] = visitor
        return !visitor.failures.has()
    }

    private func visitor(_ address: AddressKey, _ now: ContinuousClock.Instant) -> Visitor {
        visitors[address]
            ?? Visitor(
                connections: TokenBucket(burst: limits.connectionBurst, rate: limits.connectionsPerSecond, now: now),
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
