import MediaCore
import Testing
import VPXCodec

/// An encoder and the decoder that follows it, a thirtieth of a second at a time.
final class Peer {
    let encoder = VP8Encoder()
    let decoder = VP8Decoder()
    var bitrate = Bitrate.kilobits(20_000)
    var byteBudget: Int?
    private(set) var now = MediaInstant(nanoseconds: 5_000_000_000)

    /// What came out of one step; nil if the frame was dropped.
    struct Step {
        var frame: EncodedFrame
        var picture: I420Frame
        /// The frame's bytes, kept beyond the next call.
        var bytes: [UInt8]
        /// Keeps the memory that the picture lies in.
        var owner: Peer
    }

    func step(
        _ canvas: I420Buffer, _ changed: BlockMap, isKeyframe: Bool = false, isRefinement: Bool = false,
        after time: MediaDuration = .milliseconds(33)
    ) throws -> Step? {
        now = now + time
        let request = VideoEncodeRequest(
            bitrate: bitrate, isKeyframeRequested: isKeyframe, isRefinement: isRefinement, byteBudget: byteBudget)
        guard let frame = try encoder.encode(canvas, changed: changed, at: now, request) else { return nil }
        let picture = try #require(try decoder.decode(frame.bytes))
        return Step(frame: frame, picture: picture, bytes: Array(frame.bytes), owner: self)
    }
}

/// The luma and chroma of each 16 x 16 block in turn, to compare pictures block by block.
func blocks(of picture: I420Frame) -> [[UInt8]] {
    let columns = (picture.size.width + 15) / 16
    let rows = (picture.size.height + 15) / 16
    return (0..<rows * columns).map { index in
        let (top, left) = (index / columns * 16, index % columns * 16)
        var bytes: [UInt8] = []
        for row in top..<min(top + 16, picture.size.height) {
            let right = min(left + 16, picture.size.width)
            bytes += UnsafeBufferPointer(start: picture.y + row * picture.strideY + left, count: right - left)
            guard row % 2 == 0 else { continue }
            for plane in [picture.u, picture.v] {
                bytes += UnsafeBufferPointer(
                    start: plane + row / 2 * picture.strideC + left / 2, count: (right - left) / 2)
            }
        }
        return bytes
    }
}
