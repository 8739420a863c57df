import MediaCore
import Testing

@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

@Suite struct RequestLimiterTests {
    private let start = ContinuousClock.now
    private func address(_ number: UInt32) -> AddressKey { AddressKey(ipv4: number) }
    /// A broadcast's bucket of knocks.
    private var knocks: TokenBucket {
        let rate = ServedBroadcastConfiguration().knockRate
        return TokenBucket(burst: rate.burst, rate: rate.perSecond, now: start)
    }

    @Test func burstPassesThenTheRateRules() {
        var limiter = RequestLimiter(limits: RequestLimiter.Limits(), now: start)
        var knocks = knocks
        var passed = 0
        for _ in 0..<1_000 where limiter.knockDelay(address(1), of: &knocks, now: start) == nil { passed += 1 }
        #expect(passed == 20)
        for millisecond in 0..<10_000
        where limiter.knockDelay(address(1), of: &knocks, now: start + .milliseconds(millisecond)) == nil {
            passed += 1
        }
        #expect((38...40).contains(passed))
    }

    @Test func manyAddressesShareOneLimit() {
        var limiter = RequestLimiter(limits: RequestLimiter.Limits(), now: start)
        var knocks = knocks
        var passed = 0
        for number in 0..<1_000
        where limiter.knockDelay(address(UInt32(number)), of: &knocks, now: start) == nil {
            passed += 1
        }
        #expect(passed == 60)
    }

    /// Addresses that knock all the time do not keep out those that have not knocked yet.
    @Test func addressesThatKnockOftenLeaveRoomForOthers() {
        var limiter = RequestLimiter(limits: RequestLimiter.Limits(), now: start)
        var knocks = knocks
        var (passed, newcomers) = (0, 0)
        for millisecond in 0..<60_000 {
            let now = start + .milliseconds(millisecond)
            let often = limiter.knockDelay(address(UInt32(1 + millisecond % 64)), of: &knocks, now: now)
            if often == nil { passed += 1 }
            // In the first seconds the others are new, too.
            guard millisecond >= 15_000, millisecond % 1_000 == 0 else { continue }
            let newcomer = limiter.knockDelay(address(UInt32(1_000 + millisecond)), of: &knocks, now: now)
            if newcomer == nil { newcomers += 1 }
        }
        // All but those who come just when addresses that knock often may use the last quarter again.
        #expect(newcomers > 40)
        // The common rate is used up all the same.
        #expect(passed > 600)
    }

    /// As many viewers as a broadcast serves may come at once, from a few addresses.
    @Test func theWholeAudienceMayKnockAtOnce() {
        for viewers in [100, 2_000] {
            var configuration = ServedBroadcastConfiguration()
            configuration.serve(viewers: viewers)
            let rate = configuration.knockRate
            var limiter = RequestLimiter(limits: RequestLimiter.Limits(), now: start)
            var knocks = TokenBucket(burst: rate.burst, rate: rate.perSecond, now: start)
            let passed = (0..<viewers).count {
                limiter.knockDelay(address(UInt32($0 / 16)), of: &knocks, now: start) == nil
            }
            #expect(passed == viewers)
        }
    }

    /// 250 addresses with four connections a second each do not keep out those that connect for the first time.
    @Test func addressesThatConnectOftenLeaveRoomForOthers() {
        var limiter = RequestLimiter(limits: RequestLimiter.Limits(), now: start)
        var (accepted, newcomers) = (0, 0)
        func connect(_ number: Int, _ now: ContinuousClock.Instant) -> Bool {
            let isAccepted = limiter.connect(address(UInt32(number)), now: now) == .accepted
            if isAccepted { limiter.closed(address(UInt32(number))) }
            return isAccepted
        }
        for millisecond in 0..<30_000 {
            let now = start + .milliseconds(millisecond)
            if connect(1 + millisecond % 250, now) { accepted += 1 }
            // In the first seconds the others are new, too. A page opens six connections.
            guard millisecond >= 10_000, millisecond % 1_000 == 0 else { continue }
            for _ in 0..<6 where connect(1_000 + millisecond, now) { newcomers += 1 }
        }
        #expect(newcomers == 20 * 6)
        // The common rate is used up all the same.
        #expect(accepted > 3_500)
    }

    @Test func knocksAtOneBroadcastLeaveRoomAtAnother() {
        var limiter = RequestLimiter(limits: RequestLimiter.Limits(), now: start)
        var (flooded, other) = (knocks, knocks)
        for number in 0..<1_000 {
            _ = limiter.knockDelay(address(UInt32(number)), of: &flooded, now: start)
        }
        let stranger = limiter.knockDelay(address(2_000), of: &flooded, now: start)
        let viewer = limiter.knockDelay(address(2_000), of: &other, now: start)
        #expect(stranger != nil && viewer == nil)
    }

    @Test func anAddressHasOneLimitForAllBroadcasts() {
        var limiter = RequestLimiter(limits: RequestLimiter.Limits(), now: start)
        var passed = 0
        for _ in 0..<1_000 {
            var knocks = knocks
            if limiter.knockDelay(address(1), of: &knocks, now: start) == nil { passed += 1 }
        }
        #expect(passed == 20)
    }

    @Test func delayTellsWhenItWorksAgain() {
        var limiter = RequestLimiter(limits: RequestLimiter.Limits(), now: start)
        var knocks = knocks
        while limiter.knockDelay(address(1), of: &knocks, now: start) == nil {}
        let delay = limiter.knockDelay(address(1), of: &knocks, now: start) ?? 0
        let later = limiter.knockDelay(address(1), of: &knocks, now: start + .seconds(delay))
        #expect(delay > 0 && later == nil)
    }

    @Test func wrongProofsOfOneAddressAreAnsweredRarely() {
        var limiter = RequestLimiter(limits: RequestLimiter.Limits(), now: start)
        var knocks = knocks
        let answered = (0..<100).count { _ in limiter.failureDelay(address(1), now: start) == nil }
        #expect(answered == 6)
        let other = limiter.failureDelay(address(2), now: start)
        let knock = limiter.knockDelay(address(1), of: &knocks, now: start)
        let later = limiter.failureDelay(address(1), now: start + .seconds(10))
        #expect(other == nil && knock == nil && later == nil)
    }

    @Test func requestsHaveARate() {
        var limiter = RequestLimiter(limits: RequestLimiter.Limits(), now: start)
        let passed = (0..<1_000).count { limiter.requestDelay(address(1), now: start + .milliseconds($0)) == nil }
        #expect((318...320).contains(passed))
    }

    @Test func connectionsAreLimitedPerAddressAndInAll() {
        var limiter = RequestLimiter(limits: RequestLimiter.Limits(), now: start)
        let first = (0..<200).count { _ in limiter.connect(address(1), now: start).isAccepted }
        #expect(first == 96)
        for number in 2..<100 {
            for _ in 0..<50 { _ = limiter.connect(address(UInt32(number)), now: start) }
        }
        // The other places are reserved for admitted addresses.
        #expect(limiter.open <= 448)
        let before = limiter.open
        limiter.closed(address(99))
        limiter.closed(address(200))
        #expect(limiter.open >= before - 1)
    }

    /// 448 connections of addresses that are not admitted, 64 of each.
    private func full() -> RequestLimiter {
        var limits = RequestLimiter.Limits()
        limits.allConnectionRate.burst = 10_000
        var limiter = RequestLimiter(limits: limits, now: start)
        for number: UInt32 in 1...7 {
            for _ in 0..<64 { _ = limiter.connect(address(number), now: start) }
        }
        return limiter
    }

    @Test func strangersTakePlacesOnlyFromWhoHoldsMore() {
        var limiter = full()
        #expect(limiter.open == 448)
        let attacker = limiter.connect(address(1), now: start)
        let newcomer = limiter.connect(address(8), now: start)
        #expect(attacker == .refused && newcomer.isAccepted && newcomer != .accepted && limiter.open == 448)
    }

    @Test func admittedAddressesHaveAReserveAndThenTheStrangersPlaces() {
        var limiter = full()
        _ = limiter.connect(address(8), now: start)
        limiter.admitted(address(8), now: start)
        let reserve = (0..<64).count { _ in limiter.connect(address(8), now: start) == .accepted }
        #expect(reserve == 64 && limiter.open == 512)
        let next = limiter.connect(address(8), now: start)
        #expect(next.isAccepted && next != .accepted && limiter.open == 512)
        // Addresses that are not admitted cannot displace these connections.
        for _ in 0..<20 {
            guard case .acceptedInsteadOf(let loser) = limiter.connect(address(9), now: start) else { continue }
            #expect(loser != address(8))
        }
        let isForgotten = limiter.connect(address(8), now: start + .seconds(601))
        #expect(isForgotten == .refused)
    }

    @Test func addressesThatConnectOftenLeaveSomeOfTheCommonRate() {
        var limits = RequestLimiter.Limits()
        limits.connections = 10_000
        limits.connectionsPerAddress = 1_000
        var limiter = RequestLimiter(limits: limits, now: start)
        for number: UInt32 in 1...6 {
            for _ in 0..<128 { _ = limiter.connect(address(number), now: start) }
        }
        let again = limiter.connect(address(6), now: start)
        let quiet = (0..<10).count { _ in limiter.connect(address(7), now: start).isAccepted }
        #expect(again == .refused && quiet == 10)
        // This also holds when each address stays within its own rate for a minute.
        var (refused, now) = (0, start)
        for second in 1...60 {
            for tick in 0..<32 {
                now = start + .seconds(second) + .milliseconds(tick * 30)
                for number: UInt32 in 1...6 { _ = limiter.connect(address(number), now: now) }
                for number: UInt32 in 1...6 { limiter.closed(address(number)) }
            }
            if !limiter.connect(address(UInt32(100 + second)), now: now).isAccepted { refused += 1 }
        }
        #expect(refused == 0)
    }

    @Test func memoryIsBoundedAndStrangersAreForgotten() {
        var limits = RequestLimiter.Limits()
        limits.addresses = 10
        var limiter = RequestLimiter(limits: limits, now: start)
        for number in 0..<10 {
            let entry = limiter.connect(address(UInt32(number)), now: start)
            #expect(entry == .accepted)
            limiter.closed(address(UInt32(number)))
        }
        let atOnce = limiter.connect(address(10), now: start)
        let later = limiter.connect(address(10), now: start + .seconds(11))
        #expect(atOnce == .refused && later == .accepted)
    }

    @Test func timeThatJumpsBackIsIgnored() {
        var bucket = TokenBucket(burst: 1, rate: 1, now: start)
        bucket.take()
        bucket.refill(start - .seconds(100))
        #expect(!bucket.has())
        bucket.refill(start + .seconds(1))
        #expect(bucket.has())
    }

    // MARK: IPv6

    /// An address of its own /64 in a site's /48.
    private func six(_ number: Int, site: Int = 0) -> AddressKey {
        PeerAddress("2001:db8:\(String(site, radix: 16)):\(String(number & 0xFFFF, radix: 16))::1").key
    }

    /// A site that connects from another /64 each time, as often as all may, does not keep newcomers out.
    @Test func aSiteThatConnectsFromManyAddressesLeavesRoomForOthers() {
        var limiter = RequestLimiter(limits: RequestLimiter.Limits(), now: start)
        var (accepted, newcomers) = (0, 0)
        func connect(_ address: AddressKey, _ now: ContinuousClock.Instant) -> Bool {
            let isAccepted = limiter.connect(address, now: now) == .accepted
            if isAccepted { limiter.closed(address) }
            return isAccepted
        }
        for millisecond in 0..<60_000 {
            let now = start + .milliseconds(millisecond)
            if millisecond % 5 == 0, connect(six(millisecond / 5), now) { accepted += 1 }
            guard millisecond >= 20_000, millisecond % 1_000 == 0 else { continue }
            for _ in 0..<6 where connect(address(UInt32(1_000 + millisecond)), now) { newcomers += 1 }
        }
        #expect(newcomers == 40 * 6)
        #expect(accepted > 4_000)
    }

    /// The table has room for addresses of others.
    @Test func aSiteDoesNotFillTheTable() {
        var limits = RequestLimiter.Limits()
        limits.addresses = 128
        var limiter = RequestLimiter(limits: limits, now: start)
        for number in 0..<10_000 { _ = limiter.requestDelay(six(number), now: start) }
        #expect(limiter.requestDelay(address(1), now: start) == nil)
        #expect(limiter.connect(address(2), now: start) == .accepted)
        // Those of the site share what is left to it.
        #expect(limiter.requestDelay(six(20_000), now: start) != nil)
        #expect(limiter.requestDelay(six(20_000), now: start + .seconds(1)) == nil)
    }

    /// In a table that is not half full, a campus has as many addresses as it likes.
    @Test func aCampusIsManyAddresses() {
        var limits = RequestLimiter.Limits()
        limits.rareConnectionRate.burst = 1
        var limiter = RequestLimiter(limits: limits, now: start)
        let accepted = (0..<200).count { limiter.connect(six($0), now: start) == .accepted }
        #expect(accepted == 200)
        var knocks = TokenBucket(burst: 1_000, rate: 1, now: start)
        #expect((0..<200).allSatisfy { limiter.knockDelay(six($0), of: &knocks, now: start) == nil })
    }

    /// A site with one connection from each of many addresses loses one to a newcomer.
    @Test func aSiteThatHoldsAllConnectionsMakesRoom() {
        var limits = RequestLimiter.Limits()
        (limits.allConnectionRate.burst, limits.rareConnectionRate.burst) = (10_000, 10_000)
        var limiter = RequestLimiter(limits: limits, now: start)
        for number in 0..<448 { #expect(limiter.connect(six(number), now: start).isAccepted) }
        #expect(limiter.connect(six(0), now: start) == .refused, "an address of the same site")
        guard case .acceptedInsteadOf(let loser) = limiter.connect(address(1), now: start) else {
            Issue.record("a newcomer is kept out")
            return
        }
        #expect((0..<448).contains { six($0) == loser } && limiter.open == 448)
    }

    @Test func networksAreThoseOfTheAddress() {
        let key = PeerAddress("2001:db8:1:2ff::5").key
        #expect(key == PeerAddress("2001:db8:1:2ff:1::").key && key != PeerAddress("2001:db8:1:2fe::5").key)
        #expect(key.networks == PeerAddress("2001:db8:1:200::").key.networks)
        #expect(key.networks.last == PeerAddress("2001:db8:1:ffff::").key.networks.last)
        #expect(key.networks.first != PeerAddress("2001:db8:1:300::").key.networks.first)
        #expect(PeerAddress("192.0.2.1").key.networks.isEmpty && PeerAddress("::ffff:192.0.2.1").key.networks.isEmpty)
    }
}
