import MediaCore

@testable import Matroska

/// A file in memory, with clusters of known content.
struct SampleFile {
    var bytes: [UInt8]
    let header: MatroskaHeader
    var cues: [Cue] = []
    /// Where each cluster is.
    var clusters: [Range<Int>] = []
    /// In the order of the file.
    var payloads: [[UInt8]] = []

    /// - Parameter seconds: one cluster each, with a key frame, nine frames and ten packets.
    init(seconds: Int) {
        header = MatroskaHeader(
            tracks: [.video(.vp8, size: PixelSize(width: 320, height: 200)), .opus(name: "Application")],
            title: "Anna's screen", created: 0, application: "test")
        bytes = header.bytes
        var assembler = ClusterAssembler(videoTrack: 1)
        var index = CueIndex()
        for second in 0..<seconds {
            for index in 0..<10 {
                let time = Int64(second * 1_000 + index * 100)
                Self.payload(second * 100 + index, 40 + index).withUnsafeBytes {
                    assembler.append(track: 1, time: time, isKeyframe: index == 0, $0)
                }
                Self.payload(second * 100 + 50 + index, 20).withUnsafeBytes {
                    assembler.append(track: 2, time: time + 1, isKeyframe: true, $0)
                }
            }
        }
        var writer = ElementWriter()
        assembler.takeClusters(upTo: .max) { cluster in
            writer.removeAll()
            let written = cluster.write(to: &writer)
            let start = bytes.count
            bytes += writer.bytes
            clusters.append(start..<bytes.count)
            let cue = Cue(
                time: written.timestamp, track: 1, cluster: start - header.segmentStart, relative: written.firstBlock)
            cues.append(cue)
            let patch = index.add(cue)
            apply(.init(offset: header.cuesContent.lowerBound + patch.offset, bytes: patch.bytes))
            payloads += cluster.blocks.map { Array(cluster.payloads[$0.payload]) }
        }
    }

    static func payload(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number &* 31 &+ $0) }
    }

    var source: ByteArraySource { ByteArraySource(bytes) }

    /// As it is after a clean end.
    var finished: Self {
        var file = self
        file.apply(.init(offset: header.durationOffset, bytes: MatroskaHeader.duration(milliseconds: 2_901)))
        for patch in header.completion(cues: nil, end: file.bytes.count) { file.apply(patch) }
        return file
    }

    /// As `RecordingRepair` changes the file.
    mutating func apply(_ repair: MatroskaRepair) {
        for patch in repair.damage { apply(patch) }
        bytes = Array(bytes[..<repair.end]) + repair.cues
        for patch in repair.header { apply(patch) }
    }

    mutating func apply(_ patch: MatroskaPatch) {
        bytes.replaceSubrange(patch.offset..<patch.offset + patch.bytes.count, with: patch.bytes)
    }
}

extension MatroskaFile {
    /// The blocks of all whole clusters.
    var blocks: [RecordedBlock] {
        var blocks: [RecordedBlock] = []
        forEachPiece { piece in
            if case .cluster(let element) = piece { blocks += cluster(element)?.blocks ?? [] }
            return true
        }
        return blocks
    }
}
