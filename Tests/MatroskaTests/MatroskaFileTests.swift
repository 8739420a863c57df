import MediaCore
import TestSupport
import Testing

@testable import Matroska

@Suite struct MatroskaFileTests {
    @Test func whatWasWrittenIsRead() throws {
        let sample = SampleFile(seconds: 3)
        let file = try MatroskaFile(sample.source)
        #expect(file.header.title == "Anna's screen")
        // OpusHead (RFC 7845 section 5.1): two channels, 312 samples before the first, 48 kHz.
        let head = Array("OpusHead".utf8) + [1, 2, 0x38, 1, 0x80, 0xBB, 0, 0, 0, 0, 0]
        #expect(
            file.header.tracks == [
                .init(number: 1, isVideo: true, codec: "V_VP8", size: PixelSize(width: 320, height: 200)),
                .init(
                    number: 2, isVideo: false, codec: "A_OPUS", name: "Application", size: nil, record: head,
                    channels: 2),
            ])
        #expect(file.header.durationOffset == sample.header.durationOffset)
        #expect(file.blocks.map { Array($0.payload) } == sample.payloads)
        #expect(file.blocks.map(\.time) == file.blocks.map(\.time).sorted())
        #expect(file.blocks.filter { $0.track == 1 && $0.isKeyframe }.map(\.time) == [0, 1_000, 2_000])
        #expect(!file.isComplete)
    }

    @Test func aFinishedFileIsComplete() throws {
        let file = try MatroskaFile(SampleFile(seconds: 3).finished.source)
        #expect(file.isComplete)
        #expect(file.header.duration == 2_901)
        #expect(file.segmentEnd == file.source.length)
    }

    @Test func aFileCutOffAnywhereKeepsItsWholeClusters() throws {
        let sample = SampleFile(seconds: 4)
        for length in sample.clusters[2].lowerBound...sample.bytes.count {
            var cut = sample
            cut.bytes = Array(sample.bytes[..<length])
            let whole = sample.clusters.filter { $0.upperBound <= length }.count
            let file = try MatroskaFile(cut.source)
            #expect(file.blocks.count == whole * 20)
            let repair = try #require(file.repair())
            cut.apply(repair)
            let repaired = try MatroskaFile(cut.source)
            #expect(repaired.isComplete)
            #expect(repaired.blocks.map { Array($0.payload) } == Array(sample.payloads[..<(whole * 20)]))
            #expect(repair.lostBytes == length - sample.clusters[whole - 1].upperBound)
            #expect(repaired.header.duration == Double(whole * 1_000 - 99))
        }
    }

    @Test func damageInTheMiddleCostsItsClusterAlone() throws {
        let sample = SampleFile(seconds: 4)
        var damaged = sample
        // The size of the second cluster, so that it seems to reach beyond the file.
        damaged.bytes[sample.clusters[1].lowerBound + 4] = 0x1F
        damaged.apply(try #require(try MatroskaFile(damaged.source).repair()))
        let repaired = try MatroskaFile(damaged.source)
        #expect(repaired.isComplete)
        #expect(repaired.blocks.count == 60)
        #expect(damaged.bytes.count == sample.bytes.count)
    }

    @Test func aRepairedFileIsTheSameWhenRepairedAgain() throws {
        var sample = SampleFile(seconds: 3)
        sample.apply(try #require(try MatroskaFile(sample.source).repair()))
        let once = sample.bytes
        sample.apply(try #require(try MatroskaFile(sample.source).repair()))
        #expect(sample.bytes == once)
    }

    @Test func aHeaderAloneIsRepaired() throws {
        var sample = SampleFile(seconds: 1)
        // Also where the cues were cut off.
        for length in [sample.header.bytes.count, sample.header.cuesContent.lowerBound - CueIndex.headerBytes] {
            sample.bytes = Array(sample.header.bytes[..<length])
            sample.apply(try #require(try MatroskaFile(sample.source).repair()))
            #expect(try MatroskaFile(sample.source).isComplete)
            #expect(try MatroskaFile(sample.source).blocks.isEmpty)
        }
    }

    @Test func aFileOfAnotherProgramIsNotRepaired() throws {
        var sample = SampleFile(seconds: 1)
        // The Void element behind the SeekHead becomes an unknown one.
        let void = try #require(sample.bytes.firstIndex(of: 0xEC))
        sample.bytes[void] = 0xED
        #expect(try MatroskaFile(sample.source).repair() == nil)
    }

    /// Tracks are found by the SeekHead then, behind damage that a repair would cover, or overlapping it.
    @Test(arguments: [-1, 3]) func aFileWhoseTracksAreBehindDamageIsNotRepaired(change: Int) throws {
        var sample = SampleFile(seconds: 1)
        let tracks = try #require(sample.bytes.firstRange(of: [0x16, 0x54, 0xAE, 0x6B] as [UInt8], after: 200))
        // The Info element becomes shorter or longer, so that no element follows it.
        let info = try #require(sample.bytes.firstRange(of: [0x15, 0x49, 0xA9, 0x66] as [UInt8], after: 140))
        sample.bytes[info.upperBound + 3] = UInt8(Int(sample.bytes[info.upperBound + 3]) + change)
        let file = try MatroskaFile(sample.source)
        #expect(file.header.tracks.count == 2)
        #expect(file.bodyStart != tracks.lowerBound)
        #expect(file.repair() == nil)
    }

    /// A size field of another length leaves no 8 bytes to write the size into.
    @Test func aFileWithAShortSegmentSizeIsNotRepaired() throws {
        var sample = SampleFile(seconds: 1)
        let size = sample.header.segmentStart - 8
        // One byte for an unknown size, behind an EBML header that has the 7 others, and 0x01 where the field began.
        sample.bytes.replaceSubrange(
            size - 4..<size + 8, with: [0xEC, 0x85, 0, 0, 0x01, 0, 0, 0x18, 0x53, 0x80, 0x67, 0xFF])
        sample.bytes[7] += 7
        let file = try MatroskaFile(sample.source)
        #expect(file.segmentStart == sample.header.segmentStart)
        #expect(file.repair() == nil)
    }

    @Test func aHeaderCutOffAnywhereIsRefused() throws {
        let sample = SampleFile(seconds: 1)
        for length in 0..<sample.header.cuesContent.lowerBound - CueIndex.headerBytes {
            #expect(throws: MatroskaFile<ByteArraySource>.Malformed.self) {
                try MatroskaFile(ByteArraySource(Array(sample.bytes[..<length])))
            }
        }
    }

    @Test(arguments: 0..<400) func changedBytesAreReadWithoutATrap(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var sample = seed.isMultiple(of: 2) ? SampleFile(seconds: 2) : SampleFile(seconds: 2).finished
        for _ in 0..<Int.random(in: 1...20, using: &generator) {
            let place = Int.random(in: sample.bytes.indices, using: &generator)
            sample.bytes[place] = UInt8.random(in: 0...255, using: &generator)
        }
        guard let file = try? MatroskaFile(sample.source) else { return }
        #expect(file.blocks.count <= 40)
        guard let repair = file.repair() else { return }
        sample.apply(repair)
        if let repaired = try? MatroskaFile(sample.source) { #expect(repaired.blocks.count <= 40) }
    }

    @Test func falseStartsAreBounded() throws {
        // Each cluster ID begins a cluster that is damaged at its end.
        var bytes = SampleFile(seconds: 1).header.bytes + [0xFF]
        for _ in 0..<20_000 { bytes += [0x1F, 0x43, 0xB6, 0x75, 0x10, 0x02, 0x00, 0x00, 0xE7, 0x81, 0x00] }
        bytes += [UInt8](repeating: 0, count: 1 << 18)
        #expect(try MatroskaFile(ByteArraySource(bytes)).blocks.isEmpty)
    }
}

extension [UInt8] {
    /// Where the bytes are for the first time at or behind a place.
    fileprivate func firstRange(of bytes: [UInt8], after start: Int) -> Range<Int>? {
        (start..<count - bytes.count).first { self[$0..<$0 + bytes.count].elementsEqual(bytes) }
            .map { $0..<$0 + bytes.count }
    }
}
