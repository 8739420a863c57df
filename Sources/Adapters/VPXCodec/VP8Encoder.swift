internal import CVPX
public import MediaCore

/// VP8 by libvpx for screens: one-pass real-time, no lag, key frames only on request, only the changed blocks.
///
/// Confined to one thread.
public final class VP8Encoder: VideoEncoder {
    public var mood = VideoMood.text
    public private(set) var unrefined: BlockMap?

    private let threads: Int
    private var core: VP8EncoderCore?

    /// - Parameter threads: 1...4; more than one shortens a full picture's time, not its cost.
    public init(threads: Int = 1) { self.threads = min(max(threads, 1), 4) }

    public func encode(
        _ canvas: I420Canvas, changed: BlockMap, at instant: MediaInstant, _ request: VideoEncodeRequest
    ) throws(CodecFailure) -> EncodedFrame? {
        if core?.size != canvas.size {
            core = nil
            core = try VP8EncoderCore(canvas.size, threads: threads)
        }
        guard let core else { return nil }
        let isKeyframe = request.isKeyframeRequested || core.isFresh
        return try core.encode(
            canvas.picture, active: isKeyframe ? nil : changed, at: instant,
            VP8FrameSettings(quantizer: 20, isKeyframe: isKeyframe, mood: mood))
    }
}
