import MediaCore
import Testing

@Suite struct DelayHistogramTests {
    @Test func aDelayIsInTheRangeThatEndsAboveIt() {
        for range in 0..<DelayHistogram.limited {
            var histogram = DelayHistogram()
            let limit = DelayHistogram.limit(range)
            histogram.note(limit - .microseconds(1))
            #expect(histogram.counts[range] == 1, "\(range)")
            histogram.note(limit)
            #expect(histogram.counts[range + 1] == 1, "\(range)")
            #expect(histogram.count == 2 && histogram.sum == limit * 2 - .microseconds(1))
        }
    }

    @Test func delaysOutOfTheRangesAreCounted() {
        var histogram = DelayHistogram()
        histogram.note(.seconds(3_600))
        histogram.note(.zero - .seconds(1))
        #expect(histogram.counts.last == 1 && histogram.counts.first == 1 && histogram.sum == .seconds(3_600))
    }
}
