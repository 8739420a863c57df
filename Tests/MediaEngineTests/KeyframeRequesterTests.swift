import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

@Suite struct KeyframeRequesterTests {
    @Test func requestsAreThreeHundredMillisecondsApartAndRarerInTheEnd() {
        var requester = KeyframeRequester()
        requester.need(now: .at(0))
        var sent: [MediaInstant] = []
        for time in stride(from: 0, to: 20_000, by: 10) where MediaInstant.at(time) >= requester.deadline {
            requester.noteSent(now: .at(time), roundTrip: .milliseconds(20))
            requester.need(now: .at(time))
            sent.append(.at(time))
        }
        for (a, b) in zip(sent, sent.dropFirst()) { #expect(b - a >= .milliseconds(300)) }
        #expect((20...30).contains(sent.count))
        requester.noteServed()
        #expect(requester.deadline == .distantFuture)
        requester.need(now: .at(20_000))
        #expect(requester.deadline <= .at(20_300))
    }
}
