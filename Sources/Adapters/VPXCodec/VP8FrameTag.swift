internal import MediaCore

/// The uncompressed data chunk at the start of a VP8 frame (RFC 6386 section 9.1), checked against the frame's length.
///
///      0                   1                   2
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     |P| ver |S|     length of the first partition     |     P: 0 for a key frame; S: shown (little endian)
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///
/// In a key frame the start code 9D 01 2A follows, then width and height, each in 14 bits with 2 bits of scale.
struct VP8FrameTag: Equatable {
    let version: Int
    let isShown: Bool
    /// nil for an inter frame.
    let size: PixelSize?

    /// - Throws: `CodecFailure` if the frame is too short, the start code is wrong, a side is 0, or the first partition
    ///   exceeds the frame.
    init(_ frame: UnsafeRawBufferPointer) throws(CodecFailure) {
        guard frame.count >= 3, frame.count <= Int(Int32.max) else {
            throw Self.malformed("its length is \(frame.count)")
        }
        let tag = Int(frame[0]) | Int(frame[1]) << 8 | Int(frame[2]) << 16
        let isKeyframe = tag & 1 == 0
        version = tag >> 1 & 7
        isShown = tag >> 4 & 1 != 0
        let firstPartition = tag >> 5
        guard version <= 3 else { throw Self.malformed("its version is \(version)") }
        let header = isKeyframe ? 10 : 3
        guard frame.count > header, firstPartition > 0, firstPartition <= frame.count - header else {
            throw Self.malformed("its first partition of \(firstPartition) bytes does not fit into \(frame.count)")
        }
        guard isKeyframe else {
            size = nil
            return
        }
        guard frame[3] == 0x9D, frame[4] == 0x01, frame[5] == 0x2A else {
            throw Self.malformed("its start code is wrong")
        }
        let width = (Int(frame[6]) | Int(frame[7]) << 8) & 0x3FFF
        let height = (Int(frame[8]) | Int(frame[9]) << 8) & 0x3FFF
        guard width > 0, height > 0 else { throw Self.malformed("it is \(width) x \(height)") }
        // A macroblock of a key frame takes at least two bits (RFC 6386 section 11.2: its modes have fixed
        // probabilities); half a bit is required here. Otherwise a few bytes could claim a huge frame, which costs the
        // receiver far more than the sender.
        let blocks = ((width + 15) / 16) * ((height + 15) / 16)
        guard firstPartition >= blocks / 16 else {
            throw Self.malformed("\(firstPartition) bytes cannot hold \(width) x \(height) pixels")
        }
        size = PixelSize(width: width, height: height)
    }

    private static func malformed(_ why: String) -> CodecFailure {
        CodecFailure(code: -1, message: "not a VP8 frame: \(why)")
    }
}
