import MediaCore
import Testing
import VPXCodec

/// An encoder and its decoder, with a frame interval of 1/30 s.
final class CodecPair {
    let encoder = VP8Encoder()
    let decoder = VP8Decoder()
    var bitrate = Bitrate.kilobits(20_000)
    var byteBudget: Int?
    var separatesRegions = false
    /// Valid until the next step.
    private(set) var last: I420Frame?
    private(set) var now = MediaInstant(nanoseconds: 5_000_000_000)

    /// The result of a step; a step returns nil if the frame was dropped.
    struct Step {
        var frame: EncodedFrame
        var decoded: I420Frame
        /// A copy of the frame's bytes, which outlives the next call.
        var bytes: [UInt8]
        /// Keeps the memory of `decoded` alive.
        var owner: CodecPair
    }

    func step(
        _ canvas: I420Buffer, _ changed: BlockMap, isKeyframe: Bool = false, isRefinement: Bool = false,
        after time: MediaDuration = .milliseconds(33)
    ) throws -> Step? {
        now = now + time
        var request = VideoEncodeRequest(
            bitrate: bitrate, isKeyframeRequested: isKeyframe, isRefinement: isRefinement, byteBudget: byteBudget)
        request.separatesRegions = separatesRegions
        guard let frame = try encoder.encode(canvas, changed: changed, at: now, request) else { return nil }
        let decoded = try #require(try decoder.decode(frame.bytes))
        last = decoded
        return Step(frame: frame, decoded: decoded, bytes: Array(frame.bytes), owner: self)
    }
}

/// The luma and chroma samples of each 16 x 16 block, for comparing frames block by block.
func blocks(of decoded: I420Frame) -> [[UInt8]] {
    let columns = (decoded.size.width + 15) / 16
    let rows = (decoded.size.height + 15) / 16
    return (0..<rows * columns).map { index in
        let (top, left) = (index / columns * 16, index % columns * 16)
        var bytes: [UInt8] = []
        for row in top..<min(top + 16, decoded.size.height) {
            let right = min(left + 16, decoded.size.width)
            bytes += UnsafeBufferPointer(start: decoded.y + row * decoded.strideY + left, count: right - left)
            guard row % 2 == 0 else { continue }
            for plane in [decoded.u, decoded.v] {
                bytes += UnsafeBufferPointer(
                    start: plane + row / 2 * decoded.strideC + left / 2, count: (right - left) / 2)
            }
        }
        return bytes
    }
}
