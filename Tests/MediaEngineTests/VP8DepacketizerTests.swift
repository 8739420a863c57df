import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

@Suite struct VP8DepacketizerTests {
    private let depacketizer = VideoDepacketizer(.vp8)
    /// The first bytes of a key frame of 64 x 48 pixels.
    private let keyframe: [UInt8] = [0x10, 0, 0, 0x9D, 0x01, 0x2A, 64, 0, 48, 0]

    @Test func theFirstPacketOfAKeyFrameSaysSo() throws {
        // S, partition 0, with a PictureID of 15 bits and temporal layer 1.
        let payload: [UInt8] = [0x90, 0xA0, 0x81, 0x02, 0x40] + keyframe
        try payload.withUnsafeBytes { payload in
            let video = try depacketizer.depacketize(payload)
            #expect(video.isFrameStart && video.isKeyframe && !video.isPadding)
            #expect(video.pictureID == 0x102)
            #expect(video.layer == 1)
            #expect(video.bytes.count == keyframe.count)
        }
    }

    @Test func otherPacketsSayNothingOfKeyFrames() throws {
        // A later packet of partition 0, the start of partition 1, and the start of an interframe.
        let cases: [([UInt8], Bool)] = [
            ([0x00] + keyframe, false), ([0x11] + keyframe, false), ([0x10, 0x11, 0, 0], true),
        ]
        for (payload, isStart) in cases {
            try payload.withUnsafeBytes { payload in
                let video = try depacketizer.depacketize(payload)
                #expect(video.isFrameStart == isStart && !video.isKeyframe)
            }
        }
    }

    @Test func anEmptyPayloadIsPadding() throws {
        let video = try depacketizer.depacketize(UnsafeRawBufferPointer(start: nil, count: 0))
        #expect(video.isPadding && !video.isFrameStart && video.bytes.isEmpty)
    }

    @Test func aDescriptorWithoutDataIsMalformed() {
        _ = [UInt8]([0x90, 0x80, 0x81]).withUnsafeBytes { payload in
            #expect(throws: RTPMalformed.self) { try depacketizer.depacketize(payload) }
        }
    }

    @Test func onlyAKeyFrameHasASize() {
        keyframe.withUnsafeBytes { frame in
            #expect(depacketizer.size(of: EncodedFrameBytes(frame)) == PixelSize(width: 64, height: 48))
            // Its header is in three packets.
            let segments = [0..<2, 2..<7, 7..<frame.count].map { UnsafeRawBufferPointer(rebasing: frame[$0]) }
            segments.withUnsafeBufferPointer { segments in
                let size = depacketizer.size(of: EncodedFrameBytes(segments: segments))
                #expect(size == PixelSize(width: 64, height: 48))
            }
        }
        [UInt8]([0x11, 0, 0]).withUnsafeBytes { #expect(depacketizer.size(of: EncodedFrameBytes($0)) == nil) }
    }
}
