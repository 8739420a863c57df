import MediaCore
import RTPWire
import Testing

@Suite struct VP8FrameHeaderTests {
    /// Key frame, version 0, shown, first partition of 0x1234 bytes, 1920 x 1080.
    private let keyframe: [UInt8] = [0x90, 0x46, 0x02, 0x9D, 0x01, 0x2A, 0x80, 0x07, 0x38, 0x04]

    @Test func aKeyFrameSaysItsSize() throws {
        try withBytes(keyframe) { bytes throws in
            let header = try VP8FrameHeader(bytes)
            #expect(header.isKeyframe && header.isShown && header.version == 0)
            #expect(header.firstPartitionLength == 0x1234)
            #expect(header.size == PixelSize(width: 1_920, height: 1_080))
            #expect(header.fits(frameLength: 0x1234 + 10))
            #expect(!header.fits(frameLength: 0x1234 + 9))
        }
    }

    @Test func scaleBitsAreNotPartOfTheSize() throws {
        var bytes = keyframe
        bytes[7] |= 0xC0
        bytes[9] |= 0x40
        try withBytes(bytes) { bytes throws in
            #expect(try VP8FrameHeader(bytes).size == PixelSize(width: 1_920, height: 1_080))
        }
    }

    @Test func anInterFrameHasThreeBytesAndNoSize() throws {
        try withBytes([0x11, 0, 0]) { bytes throws in
            let header = try VP8FrameHeader(bytes)
            #expect(!header.isKeyframe && header.size == nil && header.length == 3 && header.isShown)
            #expect(header.fits(frameLength: 3))
        }
    }

    @Test func everyTruncationAndEveryWrongStartIsMalformed() throws {
        for length in 0..<keyframe.count { try expectMalformed(Array(keyframe.prefix(length))) }
        for index in 3...5 {
            var bytes = keyframe
            bytes[index] ^= 1
            try expectMalformed(bytes)
        }
        try expectMalformed(Array(keyframe[0..<6]) + [0, 0xC0, 1, 0])
        try expectMalformed(Array(keyframe[0..<6]) + [1, 0, 0, 0xC0])
        try expectMalformed([0x09, 0, 0])
    }

    private func expectMalformed(_ bytes: [UInt8]) throws {
        try withBytes(bytes) { bytes throws in
            #expect(throws: RTPMalformed(.vp8Frame)) { try VP8FrameHeader(bytes) }
        }
    }
}
