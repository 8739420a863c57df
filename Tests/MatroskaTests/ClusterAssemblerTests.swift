import Testing

@testable import Matroska

@Suite struct ClusterAssemblerTests {
    private func cluster(_ assembler: inout ClusterAssembler, upTo limit: Int64 = .max) -> [RecordedCluster] {
        var clusters: [RecordedCluster] = []
        var earliest: Int64 = 0
        assembler.takeClusters(upTo: limit) { cluster in
            var writer = ElementWriter()
            earliest = cluster.write(to: &writer, earliest: earliest).timestamp
            if let header = ElementHeader(writer.bytes),
                let read = RecordedCluster(Array(writer.bytes.dropFirst(header.length)))
            {
                clusters.append(read)
            }
        }
        return clusters
    }

    private func append(
        _ assembler: inout ClusterAssembler, _ track: UInt8, _ time: Int64, key: Bool = false
    ) {
        [UInt8(truncatingIfNeeded: time)].withUnsafeBytes {
            assembler.append(track: track, time: time, isKeyframe: key || track == 2, $0)
        }
    }

    @Test func blocksThatComeOutOfOrderAreWrittenInOrder() {
        var assembler = ClusterAssembler(videoTrack: 1)
        for (track, time) in [(1, 0), (2, 40), (2, 60), (1, 33), (2, 80)] as [(UInt8, Int64)] {
            append(&assembler, track, time, key: time == 0)
        }
        let clusters = cluster(&assembler)
        #expect(clusters.count == 1)
        #expect(clusters[0].blocks.map(\.time) == [0, 33, 40, 60, 80])
        #expect(assembler.isEmpty)
    }

    @Test func aClusterBeginsWithEachKeyFrameAndSpansASecond() {
        var assembler = ClusterAssembler(videoTrack: 1)
        for time in stride(from: Int64(0), through: 2_400, by: 100) {
            append(&assembler, 1, time, key: time == 0 || time == 500)
        }
        let clusters = cluster(&assembler)
        #expect(clusters.map(\.timestamp) == [0, 500, 1_500])
        #expect(clusters.map { $0.blocks.first?.isKeyframe } == [true, true, false])
    }

    @Test func whatIsNotDueWaits() {
        var assembler = ClusterAssembler(videoTrack: 1)
        for time in stride(from: Int64(0), through: 900, by: 100) { append(&assembler, 1, time, key: time == 0) }
        #expect(cluster(&assembler, upTo: 450)[0].blocks.map(\.time) == [0, 100, 200, 300, 400])
        #expect(cluster(&assembler)[0].blocks.map(\.payload.first) == [244, 88, 188, 32, 132])
    }

    @Test func aLateBlockKeepsItsTime() {
        var assembler = ClusterAssembler(videoTrack: 1)
        append(&assembler, 2, 3_000)
        var writer = ElementWriter()
        assembler.takeClusters(upTo: .max) { _ = $0.write(to: &writer, earliest: 2_000) }
        append(&assembler, 1, 1_200, key: true)
        var late: RecordedCluster?
        assembler.takeClusters(upTo: .max) { cluster in
            var writer = ElementWriter()
            #expect(cluster.write(to: &writer, earliest: 3_000).timestamp == 3_000)
            late = ElementHeader(writer.bytes).flatMap { RecordedCluster(Array(writer.bytes.dropFirst($0.length))) }
        }
        #expect(late?.timestamp == 3_000)
        #expect(late?.blocks.first?.time == 1_200)
    }
}
