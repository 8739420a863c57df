import MediaCore
import MediaEngine
import Testing

/// The viewer's knowledge of the path from the host's reports.
@Suite struct ReportedEstimateTests {
    private func call(hasReferences: Bool) -> SimulatedCall {
        var options = SimulatedCall.Options()
        options.hasReferences = hasReferences
        let call = SimulatedCall(
            seed: 11, .init(delay: .milliseconds(25), rate: .kilobits(3_000)),
            plan: .adaptive(perSecond: 30, limit: .kilobits(20_000)), options: options)
        // The clocks need not agree.
        call.receiverAhead = .seconds(7)
        call.run(for: .seconds(12))
        return call
    }

    @Test func ourReceiverGetsTheEstimateWithEachReport() throws {
        let call = call(hasReferences: true)
        let reported = try #require(call.receiver.estimate).bitsPerSecond
        // The value of the last report: the sender's estimate within the last second and the delay.
        let since = call.now - .milliseconds(1_200)
        let before = call.estimates.last { $0.at <= since }?.estimate ?? call.sender.estimate
        let late = [before, call.sender.estimate] + call.estimates.filter { $0.at > since }.map(\.estimate)
        let lowest = try #require(late.map(\.bitsPerSecond).min())
        let highest = try #require(late.map(\.bitsPerSecond).max())
        // A change of the estimate by 2 % is an event.
        #expect(Double(reported) > 0.97 * Double(lowest), "\(reported) of \(lowest)...\(highest)")
        #expect(Double(reported) < 1.03 * Double(highest), "\(reported) of \(lowest)...\(highest)")
        #expect(reported > 1_500_000, "\(reported)")
    }

    /// Without loss, so there was no NACK to measure the round trip by.
    @Test func ourReceiverKnowsTheRoundTripTimeWithoutALoss() throws {
        let call = call(hasReferences: true)
        #expect(call.receiver.statistics.requests.nacks == 0)
        let time = try #require(call.receiver.roundTripTime)
        // With the queue delay of the path.
        #expect(time >= .milliseconds(49) && time < .milliseconds(200), "\(time.inMilliseconds) ms")
    }

    @Test func otherReceiversGetNoEstimate() {
        let call = call(hasReferences: false)
        #expect(call.receiver.estimate == nil)
        #expect(call.receiver.statistics.requests.nacks > 0 || call.receiver.roundTripTime == nil)
    }
}
