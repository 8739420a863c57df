import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

/// Payload formats other than VP8's.
@Suite struct VideoDepacketizerTests {
    private func depacketize(
        _ codec: VideoCodec, _ payload: [UInt8]
    ) throws -> (bytes: [UInt8], video: DepacketizedVideo) {
        try payload.withUnsafeBytes { payload in
            let depacketizer = VideoDepacketizer(codec)
            return try withExtendedLifetime(depacketizer) {
                let video = try depacketizer.depacketize(payload)
                return (Array(video.bytes), video)
            }
        }
    }

    // MARK: VP9

    @Test func aPacketOfVP9SaysWhatItBegins() throws {
        // I, B, E, with a PictureID of 15 bits: a key frame in one packet.
        let key = try depacketize(.vp9, [0x8C, 0x81, 0x02, 0x82, 0x49, 0x83])
        #expect(key.video.isFrameStart && key.video.isKeyframe)
        #expect(key.video.pictureID == 0x102)
        #expect(key.bytes == [0x82, 0x49, 0x83])
        // Some senders do not set P, so the frame itself is asked.
        #expect(try !depacketize(.vp9, [0x08, 0x86, 0x49]).video.isKeyframe)
        // I, P, L, F, B with a PictureID of 7 bits, layers and two references.
        let inter = try depacketize(.vp9, [0xF8, 0x05, 0x40, 0x03, 0x04, 0x86])
        #expect(inter.video.isFrameStart && !inter.video.isKeyframe)
        #expect(inter.video.layer == 2 && inter.video.layerSwitch == .none)
        #expect(try depacketize(.vp9, [0xF8, 0x05, 0x50, 0x03, 0x04, 0x86]).video.layerSwitch == .higher)
        #expect(inter.bytes == [0x86])
        // V: a scalability structure with a size and a picture group.
        let scalable = try depacketize(.vp9, [0x0A, 0x18, 1, 64, 0, 48, 1, 0x04, 1, 0x82])
        #expect(scalable.bytes == [0x82])
    }

    @Test func theSecondSpatialLayerIsNoStart() throws {
        let video = try depacketize(.vp9, [0x28, 0x02, 7, 0x82]).video
        #expect(!video.isFrameStart && !video.isKeyframe)
    }

    @Test(arguments: [[0x8C, 0x81], [0x0C], [0x58, 1, 1, 1, 1, 9], [0x0A, 0xF8, 0]] as [[UInt8]])
    func aDescriptorOfVP9WithoutDataIsMalformed(_ payload: [UInt8]) {
        #expect(throws: RTPMalformed(.payloadFormat)) { try depacketize(.vp9, payload) }
    }

    // MARK: H.264

    @Test func unitsOfH264GetStartCodes() throws {
        #expect(try depacketize(.h264, [0x41, 9, 8]).bytes == [0, 0, 0, 1, 0x41, 9, 8])
        // STAP-A with a sequence and a picture parameter set.
        let sets = try depacketize(.h264, [0x78, 0, 2, 0x67, 1, 0, 2, 0x68, 2])
        #expect(sets.video.isKeyframe)
        #expect(sets.bytes == [0, 0, 0, 1, 0x67, 1, 0, 0, 0, 1, 0x68, 2])
        // FU-A: the first and the last fragment of an IDR picture.
        #expect(try depacketize(.h264, [0x7C, 0x85, 1, 2]).bytes == [0, 0, 0, 1, 0x65, 1, 2])
        #expect(try depacketize(.h264, [0x7C, 0x45, 3]).bytes == [3])
    }

    @Test(arguments: [[0x78], [0x78, 0, 9, 1], [0x78, 0, 0], [0x7C, 0x85], [0x19, 1, 2], [0x00, 1]] as [[UInt8]])
    func otherPacketsOfH264AreMalformed(_ payload: [UInt8]) {
        #expect(throws: RTPMalformed(.payloadFormat)) { try depacketize(.h264, payload) }
    }

    @Test func anAggregateThatGrowsBeyondThePacketIsMalformed() {
        let payload: [UInt8] = [0x78] + Array(repeatElement([0, 1, 0x41], count: 500).joined())
        #expect(throws: RTPMalformed(.payloadFormat)) { try depacketize(.h264, payload) }
    }

    // MARK: H.265

    @Test func unitsOfH265GetStartCodes() throws {
        #expect(try depacketize(.h265, [0x02, 1, 7]).bytes == [0, 0, 0, 1, 0x02, 1, 7])
        let sets = try depacketize(.h265, [0x60, 1, 0, 3, 0x40, 1, 5, 0, 3, 0x42, 1, 6])
        #expect(sets.video.isKeyframe)
        #expect(sets.bytes == [0, 0, 0, 1, 0x40, 1, 5, 0, 0, 0, 1, 0x42, 1, 6])
        #expect(try depacketize(.h265, [0x62, 1, 0x93, 4]).bytes == [0, 0, 0, 1, 0x26, 1, 4])
        #expect(try depacketize(.h265, [0x62, 1, 0x53, 5]).bytes == [5])
        for payload in [[0x60, 1], [0x62, 1, 0x93], [0x64, 1, 2, 3], [1, 2]] as [[UInt8]] {
            #expect(throws: RTPMalformed(.payloadFormat)) { try depacketize(.h265, payload) }
        }
    }

    // MARK: Before a picture

    /// What may stand before the first slice or tile, and what may not.
    @Test func aPacketSaysWhetherItHoldsAPartOfThePicture() throws {
        let none: [(VideoCodec, [UInt8])] = [
            (.h264, [0x09, 0x10]), (.h264, [0x06, 5]), (.h264, [0x67, 1]), (.h264, [0x68, 1]), (.h264, [0x0C, 1]),
            (.h264, [0x78, 0, 2, 0x09, 0x10, 0, 2, 0x06, 5]), (.h264, [0x7C, 0x06, 1]), (.h265, [0x46, 1, 0x50]),
            (.h265, [0x4E, 1, 5]), (.h265, [0x60, 1, 0, 3, 0x40, 1, 5, 0, 3, 0x42, 1, 6]), (.h265, [0x62, 1, 0x27, 4]),
            (.av1, [0x10, 0x10]), (.av1, [0x20, 1, 0x10, 0x28]), (.av1, [0x18, 0x08]), (.av1, [0x10, 0x78]),
        ]
        for (codec, payload) in none { #expect(try depacketize(codec, payload).video.isNonVCL, "\(payload)") }
        let parts: [(VideoCodec, [UInt8])] = [
            (.h264, [0x41, 9]), (.h264, [0x65, 1]), (.h264, [0x7C, 0x45, 3]),
            (.h264, [0x78, 0, 2, 0x67, 1, 0, 1, 0x65]),
            (.h265, [0x26, 1, 1]), (.h265, [0x02, 1, 1]), (.h265, [0x62, 1, 0x93, 4]),
            (.av1, [0x10, 0x30]), (.av1, [0x20, 1, 0x10, 0x30]), (.av1, [0x90, 0x10]), (.vp8, [0x10, 0x11, 1, 1]),
            (.vp9, [0x08, 0x86, 0x49]),
        ]
        for (codec, payload) in parts { #expect(try !depacketize(codec, payload).video.isNonVCL, "\(payload)") }
    }

    // MARK: AV1

    /// A sequence header and the two parts of a frame, with a temporal delimiter in front.
    private let packets: [[UInt8]] = [
        // N, Y, any number of elements: each has its length.
        [0x48, 1, 0x10, 3, 0x08, 0xAA, 0xBB, 3, 0x30, 1, 2],
        // Z, Y, one element.
        [0xD0, 3, 4],
        // Z, one element.
        [0x90, 5],
    ]

    private func frame(_ packets: [[UInt8]]) -> [UInt8]? {
        let bytes = packets.flatMap { $0 }
        return bytes.withUnsafeBytes { all in
            var start = 0
            let segments = packets.map { packet in
                defer { start += packet.count }
                return UnsafeRawBufferPointer(rebasing: all[start..<(start + packet.count)])
            }
            return segments.withUnsafeBufferPointer { segments in
                let depacketizer = VideoDepacketizer(.av1)
                defer { withExtendedLifetime(depacketizer) {} }
                return depacketizer.frame(EncodedFrameBytes(segments: segments)).map { frame in
                    [UInt8](unsafeUninitializedCapacity: frame.count) { buffer, count in
                        count = frame.copy(to: UnsafeMutableRawBufferPointer(buffer))
                    }
                }
            }
        }
    }

    @Test func unitsOfAV1AreJoinedAndGetTheirLength() {
        #expect(frame(packets) == [0x0A, 2, 0xAA, 0xBB, 0x32, 5, 1, 2, 3, 4, 5])
    }

    @Test func packetsOfAV1ThatDoNotFitAreRefused() {
        // The end or the start of a unit is missing, more elements than announced, a length beyond the packet.
        for broken in [
            Array(packets[..<2]), Array(packets[1...]), [packets[0], packets[0]], [[0x10]], [[0x20, 1, 0x30]],
            [[0x00, 9, 0x30]], [[0x00, 0x80, 0x80, 0x80, 0x80, 0x80, 1]], [[0x10, 0xB0]], [[0x10, 0x32, 9, 1]],
        ] {
            #expect(frame(broken) == nil)
        }
    }

    @Test func aKeyFrameOfAV1BeginsWithN() throws {
        #expect(try depacketize(.av1, packets[0]).video.isKeyframe)
        #expect(try !depacketize(.av1, packets[1]).video.isKeyframe)
        #expect(throws: RTPMalformed(.payloadFormat)) { try depacketize(.av1, [0x88, 1]) }
        #expect(throws: RTPMalformed(.payloadFormat)) { try depacketize(.av1, [0x10]) }
    }
}
