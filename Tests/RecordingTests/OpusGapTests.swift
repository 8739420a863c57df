import MediaCore
import OpusCodec
import Testing

@testable import Recording

@Suite struct OpusGapTests {
    /// Configurations of 10, 20 and 60 ms, SILK, hybrid and CELT, mono and stereo.
    @Test(
        arguments: [0x08, 0x1C, 0x60, 0x6C, 0xF8, 0xFC, 0xF4, 0xE0, 0x18] as [UInt8],
        [960, 4_800, 5_760, 48_000, 50_000])
    func packetsFillTheGapWithWholeFrames(_ toc: UInt8, _ samples: Int) throws {
        let decoder = try OpusFrameDecoder()
        let output = UnsafeMutableBufferPointer<Int16>.allocate(capacity: 5_760 * 2)
        defer { output.deallocate() }
        var filled = 0
        while let packet = OpusGap.packet(like: toc, samples: samples - filled) {
            let decoded = try packet.bytes.withUnsafeBytes {
                try decoder.decode($0, useFEC: false, samplesPerChannel: 5_760, into: output)
            }
            #expect(decoded == packet.samples)
            filled += packet.samples
        }
        #expect(filled <= samples)
        #expect(samples - filled < 2_880)
    }

    @Test func aGapShorterThanAFrameRemains() { #expect(OpusGap.packet(like: 0xFC, samples: 959) == nil) }
}
