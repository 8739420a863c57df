import MediaCore
import MediaEngine
import Testing

/// A relay forwards packets: every viewer gets the publisher's frames, whatever the others' networks are like.
@Suite struct ForwardingTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func withoutLossEveryFrameArrivesAndNothingIsAdded(seed: UInt64) {
        let relay = SimulatedRelay(seed: seed)
        let viewers = (0..<3).map { relay.join(seed: seed * 10 + $0) }
        relay.run(for: .seconds(10))
        for viewer in viewers {
            #expect(viewer.shown.map(\.number) == Array(0..<viewer.shown.count))
            #expect(viewer.shown.count >= relay.made.count - 3)
            #expect(viewer.damaged == 0 && viewer.protectedTwice == 0)
            // Both links take 25 ms each.
            let longest = viewer.shown.dropFirst(30).map { $0.at - relay.made[$0.number] }.max()
            #expect(longest ?? .seconds(9) <= .milliseconds(51))
        }
        #expect(relay.keyframesMade == 1)
        #expect(relay.bursts > relay.made.count * 3)
    }

    @Test(arguments: [4, 5, 6] as [UInt64])
    func aViewersLossIsRepairedByTheRelayAlone(seed: UInt64) {
        let relay = SimulatedRelay(seed: seed)
        let lossy = relay.join(seed: seed * 10, .init(delay: .milliseconds(25), lossPercent: 5))
        let clean = relay.join(seed: seed * 10 + 1)
        relay.run(for: .seconds(30))
        #expect(lossy.shown.count >= relay.made.count - 5 && lossy.damaged == 0 && lossy.protectedTwice == 0)
        #expect(lossy.sender.statistics.retransmission.packets > 20)
        #expect(clean.shown.count >= relay.made.count - 3)
        #expect(relay.publisher.statistics.retransmission.nackedPackets == 0, "the publisher's link lost nothing")
        #expect(relay.keyframesMade <= 2)
    }

    @Test func aViewerWithoutRTXGetsTheVeryBytesAgain() {
        let relay = SimulatedRelay(seed: 7)
        let viewer = relay.join(seed: 70, .init(delay: .milliseconds(25), lossPercent: 5), hasRTX: false)
        relay.run(for: .seconds(20))
        #expect(viewer.shown.count >= relay.made.count - 5 && viewer.damaged == 0 && viewer.protectedTwice == 0)
    }

    @Test(arguments: [8, 9] as [UInt64])
    func thePublishersLossIsRepairedBeforeItIsForwarded(seed: UInt64) {
        let relay = SimulatedRelay(seed: seed, .init(delay: .milliseconds(15), lossPercent: 5))
        let viewer = relay.join(seed: seed * 10)
        relay.run(for: .seconds(30))
        #expect(viewer.shown.count >= relay.made.count - 5 && viewer.damaged == 0)
        // The viewer sees no gap, and asks for nothing.
        #expect(viewer.sender.statistics.retransmission.nackedPackets == 0)
        #expect(zip(viewer.shown, viewer.shown.dropFirst()).allSatisfy { $0.number < $1.number })
    }

    @Test func aSlowViewerIsLeftBehindAndNobodyElseNoticesIt() {
        let relay = SimulatedRelay(seed: 10)
        relay.frameBytes = 8_000
        let slow = relay.join(seed: 100, .init(delay: .milliseconds(25), rate: .kilobits(600)))
        let fast = relay.join(seed: 101)
        relay.run(for: .seconds(30))
        #expect(fast.shown.count >= relay.made.count - 3)
        let longest = fast.shown.dropFirst(30).map { $0.at - relay.made[$0.number] }.max()
        #expect(longest ?? .seconds(9) <= .milliseconds(80))
        // It still gets pictures now and then, and they are whole.
        #expect(slow.shown.count >= 20 && slow.damaged == 0)
        // Each key frame costs the others bitrate: its requests become fewer and fewer.
        #expect(relay.keyframesMade <= 8)
    }

    @Test func aViewerThatCannotTakeAllGetsTheBaseLayer() {
        let relay = SimulatedRelay(seed: 11)
        relay.hasLayers = true
        relay.frameBytes = 5_000
        let slow = relay.join(seed: 110, .init(delay: .milliseconds(25), rate: .kilobits(900)))
        let fast = relay.join(seed: 111)
        relay.run(for: .seconds(30))
        let late = slow.shown.filter { $0.at > SimulatedRelay.start + .seconds(15) }
        #expect(late.count { $0.layer == 0 } >= 200, "15 base frames a second")
        #expect(late.count { $0.layer == 1 } <= 120)
        #expect(slow.damaged == 0 && fast.shown.count >= relay.made.count - 3)
        #expect(relay.keyframesMade <= 5)
    }

    /// Where all viewers are slow, nothing is gained by more than they can get.
    @Test(arguments: [21, 22, 23] as [UInt64], [600, 1_500, 4_000])
    func thePublisherSendsWhatTheFastestViewerCanGet(seed: UInt64, kilobits: Int) {
        let relay = SimulatedRelay(seed: seed)
        relay.adaptsFrames = true
        relay.limitsPublisher = true
        let viewers = [kilobits, kilobits / 2].map {
            relay.join(seed: seed * 10 + UInt64($0), .init(delay: .milliseconds(25), rate: .kilobits($0)))
        }
        relay.run(for: .seconds(60))
        let from = SimulatedRelay.start + .seconds(20)
        let shown = viewers[0].shown.filter { $0.at > from }
        let delays = shown.map { $0.at - relay.made[$0.number] }.sorted()
        let estimate = relay.publisher.estimate.kilobitsPerSecond
        print("relay", seed, kilobits, estimate, shown.count, delays[delays.count * 95 / 100], relay.keyframesMade)
        #expect(shown.count >= 30 * 40 * 9 / 10 && viewers[0].damaged == 0)
        #expect(delays[delays.count * 95 / 100] < .milliseconds(300))
        #expect((kilobits / 2...kilobits * 11 / 10).contains(estimate))
    }

    /// The publisher is told how slow the slow viewer is, so its base layer fits.
    @Test(arguments: [21, 22, 23] as [UInt64], [600, 1_500, 4_000])
    func theSlowViewerFollowsTheBaseLayer(seed: UInt64, kilobits: Int) {
        let relay = SimulatedRelay(seed: seed)
        relay.adaptsFrames = true
        relay.limitsPublisher = true
        relay.layersByAudience = true
        let viewers = [kilobits, kilobits / 2].map {
            relay.join(seed: seed * 10 + UInt64($0), .init(delay: .milliseconds(25), rate: .kilobits($0)))
        }
        relay.run(for: .seconds(60))
        let from = SimulatedRelay.start + .seconds(20)
        let shown = viewers.map { $0.shown.filter { $0.at > from } }
        let delays = shown.map { $0.map { $0.at - relay.made[$0.number] }.sorted() }
        let gaps = shown.map { zip($0, $0.dropFirst()).map { $1.at - $0.at }.max() ?? .seconds(40) }
        print(
            "layers", seed, kilobits, relay.publisher.estimate.kilobitsPerSecond, shown.map(\.count),
            delays.map { $0.isEmpty ? .seconds(40) : $0[$0.count * 95 / 100] }, gaps, relay.keyframesMade,
            shown[1].count { $0.layer == 0 })
        #expect(shown[0].count >= 30 * 40 * 9 / 10 && viewers.allSatisfy { $0.damaged == 0 })
        #expect(shown[1].count { $0.layer == 0 } >= 15 * 40 * 9 / 10)
        // With 300 kbit/s it is cut off once, and goes on with a key frame after a pause of a second.
        #expect(gaps[0] < .milliseconds(300) && gaps[1] < (kilobits == 600 ? .seconds(2) : .milliseconds(300)))
        #expect(delays.allSatisfy { $0[$0.count * 95 / 100] < .milliseconds(400) })
        #expect(relay.keyframesMade <= 4)
    }

    /// A viewer with less than a third of the fastest one's bandwidth does not count.
    @Test func aHopelessViewerLeavesTheBaseLayerToTheOthers() {
        let relay = SimulatedRelay(seed: 25)
        relay.adaptsFrames = true
        relay.limitsPublisher = true
        relay.layersByAudience = true
        let viewers = [4_000, 2_000, 300].map {
            relay.join(seed: 250 + UInt64($0), .init(delay: .milliseconds(25), rate: .kilobits($0)))
        }
        relay.run(for: .seconds(60))
        let from = SimulatedRelay.start + .seconds(20)
        let shown = viewers.map { $0.shown.filter { $0.at > from } }
        print("hopeless", relay.publisher.estimate.kilobitsPerSecond, shown.map(\.count), relay.keyframesMade)
        #expect(shown[0].count >= 30 * 40 * 9 / 10)
        #expect(shown[1].count { $0.layer == 0 } >= 15 * 40 * 9 / 10)
        #expect(relay.lowestBase ?? .kilobits(0) > .kilobits(600))
        #expect(viewers.allSatisfy { $0.damaged == 0 })
    }

    @Test func theLimitOfAPublisherEndsWithItsViewers() {
        let relay = SimulatedRelay(seed: 24)
        relay.adaptsFrames = true
        relay.limitsPublisher = true
        _ = relay.join(seed: 240, .init(delay: .milliseconds(25), rate: .kilobits(600)))
        relay.run(for: .seconds(20))
        #expect(relay.publisher.estimate < .kilobits(700))
        relay.limitsPublisher = false
        relay.receiver.limitBitrate(nil)
        relay.run(for: .seconds(20))
        #expect(relay.publisher.estimate > .kilobits(1_500))
    }

    @Test func whoJoinsLateIsServedWithoutAKeyFrameAtTheHost() {
        let relay = SimulatedRelay(seed: 12)
        relay.frameBytes = 400
        _ = relay.join(seed: 120)
        relay.run(for: .seconds(3))
        relay.isStill = true
        relay.run(for: .seconds(1))
        let keyframes = relay.keyframesMade
        let late = relay.join(seed: 121)
        relay.run(for: .milliseconds(200))
        #expect(late.shown.last?.number == relay.made.count - 1)
        #expect(relay.keyframesMade == keyframes)
        relay.isStill = false
        relay.run(for: .seconds(3))
        #expect(late.shown.last?.number ?? 0 >= relay.made.count - 3 && late.damaged == 0)
        #expect(relay.keyframesMade == keyframes)
    }

    @Test func aViewerOfABigStreamWaitsForOneKeyFrameThatAllShare() {
        let relay = SimulatedRelay(seed: 13)
        relay.frameBytes = 12_000
        _ = relay.join(seed: 130)
        relay.run(for: .seconds(5))
        let demands = relay.demands
        let late = (0..<5).map { relay.join(seed: 131 + $0) }
        relay.run(for: .seconds(2))
        #expect(late.allSatisfy { !$0.shown.isEmpty && $0.damaged == 0 })
        #expect(relay.demands - demands <= 2)
    }
}
