import Testing

@testable import Matroska

@Suite struct CueIndexTests {
    private func cue(_ number: Int) -> Cue {
        Cue(time: Int64(number) * 1_000, track: 1, cluster: 20_000 + number * 300_000, relative: 5)
    }

    /// The times of the cues in the element; nil if it is damaged.
    private func times(_ content: [UInt8]) -> [UInt64]? {
        var elements = ElementSequence(content[...])
        var times: [UInt64] = []
        while let element = elements.next() {
            guard element.id == .cuePoint else { continue }
            var children = ElementSequence(element.content)
            guard let time = children.next(), time.id == .cueTime else { return nil }
            times.append(time.content.unsigned ?? 0)
        }
        return elements.isAtEnd ? times : nil
    }

    @Test func eachCueIsThereAtOnceAndLaterEverySecond() {
        var content = Array(CueIndex.empty.dropFirst(CueIndex.headerBytes))
        #expect(times(content) == [])
        var index = CueIndex()
        for number in 0..<2_000 {
            let patch = index.add(cue(number))
            content.replaceSubrange(patch.offset..<patch.offset + patch.bytes.count, with: patch.bytes)
            #expect(content.count == CueIndex.contentBytes)
            let times = times(content) ?? []
            #expect(times == times.sorted() && times.first == 0)
            if !index.isThinned { #expect(times.count == number + 1) }
            #expect(times.count > min(number, 200))
        }
        #expect(index.isThinned)
    }

    @Test func aFullIndexIsReplacedByCuesAtTheEnd() throws {
        var sample = SampleFile(seconds: 900)
        let start = sample.bytes.count
        sample.bytes += Cue.element(sample.cues)
        for patch in sample.header.completion(cues: start, end: sample.bytes.count) { sample.apply(patch) }
        let file = try MatroskaFile(sample.source)
        #expect(file.isComplete)
        #expect(file.header.cues == start - sample.header.segmentStart)
        #expect(file.header.places.cues == nil)
        #expect(file.blocks.count == 18_000)
        // A file that lost its end has room for no index any more, and gets it at the end again.
        sample.bytes.removeLast(Cue.element(sample.cues).count + 1)
        sample.apply(try #require(try MatroskaFile(sample.source).repair()))
        #expect(try MatroskaFile(sample.source).isComplete)
        #expect(try MatroskaFile(sample.source).blocks.count == 17_980)
    }
}
