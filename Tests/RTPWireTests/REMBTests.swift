import MediaCore
import RTPWire
import Testing

@Suite struct BitrateEstimateTests {
    private func estimate(_ bytes: [UInt8]) throws -> (bitrate: Int, sources: [UInt32])? {
        try packets(bytes) { found throws in
            guard case .remb(let estimate) = found.first else { return nil }
            return (estimate.bitrate.bitsPerSecond, Array(estimate))
        }
    }

    private let start: [UInt8] = [0x12, 0x34, 0x56, 0x78, 0, 0, 0, 0, 0x52, 0x45, 0x4D, 0x42]

    @Test func theVectorOfLibwebrtcIsRead() throws {
        let found = try estimate(
            [0x8F, 206, 0, 7] + start + [3, 0x07, 0xFB, 0x93]
                + [0x23, 0x45, 0x67, 0x89, 0x23, 0x45, 0x67, 0x8A, 0x23, 0x45, 0x67, 0x8B])
        #expect(found?.bitrate == 522_022)
        #expect(found?.sources == [0x2345_6789, 0x2345_678A, 0x2345_678B])
    }

    @Test(arguments: [0, 1, 0x3_FFFF, 0x4_0000, 1_000_000, 522_022, 1 << 40, Int.max, -1])
    func bitratesAreRoundedDownTo18Bits(bitrate: Int) throws {
        let bytes = try written {
            try REMB.write(
                senderSSRC: 1, mediaSSRC: 2, bitrate: Bitrate(bitsPerSecond: bitrate), into: &$0)
        }
        let found = try #require(try estimate(bytes))
        let expected = min(max(bitrate, 0), 1 << 62)
        #expect(found.bitrate <= expected && found.bitrate >= expected - expected >> 17)
        #expect(found.sources == [2])
    }

    @Test func everyExponentGivesABitrate() throws {
        for exponent in 0...63 {
            let bits = UInt32(exponent) << 18 | 0x3_FFFF
            let fields = [0, UInt8(bits >> 16), UInt8(bits >> 8 & 0xFF), UInt8(bits & 0xFF)]
            let found = try #require(try estimate([0x8F, 206, 0, 4] + start + fields))
            #expect(found.bitrate == (exponent <= 44 ? 0x3_FFFF << exponent : 1 << 62))
        }
    }

    @Test func otherApplicationFeedbackIsNoEstimate() throws {
        try packets([0x8F, 206, 0, 3] + start.dropLast() + [0x43]) { found throws in
            guard case .other(206, 15) = found.first else {
                Issue.record("taken for an estimate")
                return
            }
        }
    }

    @Test func moreSourcesThanBytesAreMalformed() throws {
        try withBytes([0x8F, 206, 0, 5] + start + [2, 0, 0, 1, 0, 0, 0, 1]) { bytes throws in
            var iterator = RTCPIterator(bytes)
            #expect(throws: RTPMalformed(.rtcpCount)) { _ = try iterator.next() }
        }
    }
}
