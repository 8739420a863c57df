import Testing

@testable import Signaling

@Suite struct DoormanTests {
    private let start = ContinuousClock.now
    private func address(_ number: UInt32) -> AddressKey { AddressKey(ipv4: number) }

    @Test func burstPassesThenTheRateRules() {
        var doorman = Doorman(limits: Doorman.Limits(), now: start)
        var passed = 0
        for _ in 0..<1_000 where doorman.knockDelay(address(1), now: start) == nil { passed += 1 }
        #expect(passed == 20)
        for millisecond in 0..<10_000
        where doorman.knockDelay(address(1), now: start + .milliseconds(millisecond)) == nil {
            passed += 1
        }
        #expect((38...40).contains(passed))
    }

    @Test func manyAddressesShareOneLimit() {
        var doorman = Doorman(limits: Doorman.Limits(), now: start)
        var passed = 0
        for number in 0..<1_000 where doorman.knockDelay(address(UInt32(number)), now: start) == nil { passed += 1 }
        #expect(passed == 60)
    }

    @Test func delayTellsWhenItWorksAgain() {
        var doorman = Doorman(limits: Doorman.Limits(), now: start)
        while doorman.knockDelay(address(1), now: start) == nil {}
        let delay = doorman.knockDelay(address(1), now: start) ?? 0
        let later = doorman.knockDelay(address(1), now: start + .seconds(delay))
        #expect(delay > 0 && later == nil)
    }

    @Test func wrongProofsOfOneAddressAreAnsweredRarely() {
        var doorman = Doorman(limits: Doorman.Limits(), now: start)
        let answered = (0..<100).count { _ in doorman.failureDelay(address(1), now: start) == nil }
        #expect(answered == 6)
        let isGuessing = doorman.isGuessing(address(1), now: start)
        let other = doorman.isGuessing(address(2), now: start)
        let knock = doorman.knockDelay(address(1), now: start)
        let later = doorman.isGuessing(address(1), now: start + .seconds(10))
        #expect(isGuessing && !other && knock == nil && !later)
    }

    @Test func requestsHaveARate() {
        var doorman = Doorman(limits: Doorman.Limits(), now: start)
        let passed = (0..<1_000).count { doorman.requestDelay(address(1), now: start + .milliseconds($0)) == nil }
        #expect((318...320).contains(passed))
    }

    @Test func connectionsAreLimitedPerAddressAndInAll() {
        var doorman = Doorman(limits: Doorman.Limits(), now: start)
        let first = (0..<200).count { _ in doorman.mayConnect(address(1), now: start) }
        #expect(first == 96)
        var all = first
        for number in 2..<100 {
            all += (0..<50).count { _ in doorman.mayConnect(address(UInt32(number)), now: start) }
        }
        #expect(all == 512 && doorman.open == 512)
        for _ in 0..<96 { doorman.closed(address(1)) }
        doorman.closed(address(1))
        #expect(doorman.open == 416)
    }

    @Test func memoryIsBoundedAndStrangersAreForgotten() {
        var limits = Doorman.Limits()
        limits.addresses = 10
        var doorman = Doorman(limits: limits, now: start)
        for number in 0..<10 {
            let mayConnect = doorman.mayConnect(address(UInt32(number)), now: start)
            #expect(mayConnect)
            doorman.closed(address(UInt32(number)))
        }
        let atOnce = doorman.mayConnect(address(10), now: start)
        let later = doorman.mayConnect(address(10), now: start + .seconds(11))
        #expect(!atOnce && later)
    }

    @Test func timeThatJumpsBackIsIgnored() {
        var bucket = TokenBucket(burst: 1, rate: 1, now: start)
        bucket.take()
        bucket.refill(start - .seconds(100))
        #expect(!bucket.has())
        bucket.refill(start + .seconds(1))
        #expect(bucket.has())
    }
}
