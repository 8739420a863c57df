import MediaCore
import Testing

@testable import PulseAudio

struct CaptureChunkerTests {
    @Test func oddPiecesBecomeWholePackets() {
        var chunker = CaptureChunker()
        var packets: [(first: Int16, last: Int16, moment: MediaInstant)] = []
        let samples = (0..<2_880).map { Int16($0 + 1) }
        var given = 0
        for piece in [700, 1_000, 20, 1_160] {
            samples[given..<(given + piece)].withUnsafeBufferPointer { buffer in
                let moment = MediaInstant(nanoseconds: 0) + CaptureChunker.duration(ofSamples: given)
                chunker.append(buffer.baseAddress, count: piece, capturedAt: moment) {
                    packets.append((first: $0[0], last: $0[959], moment: $1))
                }
            }
            given += piece
        }
        #expect(packets.map(\.first) == [1, 961, 1_921])
        #expect(packets.map(\.last) == [960, 1_920, 2_880])
        #expect(packets.map(\.moment.nanoseconds) == [0, 10_000_000, 20_000_000])
    }

    @Test func silenceIsLeftOutAndLeavesAGap() {
        var chunker = CaptureChunker()
        var moments: [Int64] = []
        let loud = [Int16](repeating: 5, count: 960)
        loud.withUnsafeBufferPointer { buffer in
            for packet in 0..<20 {
                let moment = MediaInstant(nanoseconds: Int64(packet) * 10_000_000)
                let isLoud = packet == 0 || packet == 19
                chunker.append(isLoud ? buffer.baseAddress : nil, count: 960, capturedAt: moment) {
                    moments.append($1.nanoseconds)
                }
            }
        }
        #expect(moments == [0, 190_000_000])
    }

    @Test func waveringClockIsSmoothedAndAGapIsNot() {
        var chunker = CaptureChunker()
        var moments: [Int64] = []
        let loud = [Int16](repeating: 5, count: 960)
        loud.withUnsafeBufferPointer { buffer in
            for milliseconds in [0, 18, 20, 30, 1_000] {
                chunker.append(
                    buffer.baseAddress, count: 960,
                    capturedAt: MediaInstant(nanoseconds: Int64(milliseconds) * 1_000_000)
                ) { moments.append($1.nanoseconds) }
            }
        }
        #expect(moments[1] == 10_500_000)
        #expect(moments[2] < 21_000_000)
        #expect(moments[4] == 1_000_000_000)
    }
}
