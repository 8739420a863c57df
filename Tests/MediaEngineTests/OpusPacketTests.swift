import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

@Suite struct OpusPacketTests {
    @Test(
        arguments: [
            ([0x48], 960), ([0x40], 480), ([0x78, 0], 960), ([0xF8], 960), ([0xE0], 120),
            ([0xFB, 2], 1_920),
            ([0x1B, 63], 960),
            ([], 960), ([0x19], 5_760),
        ] as [([UInt8], Int)])
    func theFirstByteTellsTheLength(packet: [UInt8], samplesPerChannel: Int) {
        #expect(withBytes(packet) { OpusPacket.samplesPerChannel($0) } == samplesPerChannel)
    }
}
