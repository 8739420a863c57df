public import MediaCore

/// The uncompressed data chunk at the start of each VP8 frame: RFC 6386 section 9.1.
public struct VP8FrameHeader: Hashable, Sendable {
    public let isKeyframe: Bool
    /// Profile, 0...3.
    public let version: UInt8
    public let isShown: Bool
    /// The length of the first partition in bytes, 0...524287, as the frame states it.
    public let firstPartitionLength: Int
    /// In pixels, 1...16383 each; key frames only.
    public let size: PixelSize?

    /// Bytes of a key frame before its first partition.
    public static let keyframeLength = 10

    //   byte 0             byte 1        byte 2
    //  +-+-+-+-+-+-+-+-+  +----------+  +-----------+
    //  |size0|H| VER |P|  |  size1   |  |   size2   |   P = 0: key frame
    //  +-+-+-+-+-+-+-+-+  +----------+  +-----------+
    //  first partition length = size0 + 8 x size1 + 2048 x size2
    //  key frames: 9d 01 2a, then width and height, little-endian, 14 bits each and 2 of scale

    /// Parses the start of a frame; the rest of the frame is not needed.
    /// - Parameter data: at least 3 bytes; 10 for a key frame.
    /// - Throws: `.vp8Frame` if there are too few bytes, the version is over 3, the start code is wrong or a side is 0.
    public init(_ data: UnsafeRawBufferPointer) throws(RTPMalformed) {
        guard data.count >= 3 else { throw RTPMalformed(.vp8Frame) }
        let tag = UInt32(data[0]) | UInt32(data[1]) << 8 | UInt32(data[2]) << 16
        isKeyframe = tag & 1 == 0
        version = UInt8(truncatingIfNeeded: tag >> 1 & 7)
        isShown = tag >> 4 & 1 != 0
        firstPartitionLength = Int(tag >> 5)
        guard version <= 3 else { throw RTPMalformed(.vp8Frame) }
        guard isKeyframe else {
            size = nil
            return
        }
        guard data.count >= Self.keyframeLength, data[3] == 0x9D, data[4] == 0x01, data[5] == 0x2A else {
            throw RTPMalformed(.vp8Frame)
        }
        let width = (Int(data[7]) << 8 | Int(data[6])) & 0x3FFF
        let height = (Int(data[9]) << 8 | Int(data[8])) & 0x3FFF
        guard width > 0, height > 0 else { throw RTPMalformed(.vp8Frame) }
        size = PixelSize(width: width, height: height)
    }

    /// Bytes before the first partition.
    public var length: Int { isKeyframe ? Self.keyframeLength : 3 }

    /// Whether a frame of so many bytes has room for its first partition. Check it before a decoder gets the frame.
    public func fits(frameLength: Int) -> Bool { frameLength &- length >= firstPartitionLength }
}
