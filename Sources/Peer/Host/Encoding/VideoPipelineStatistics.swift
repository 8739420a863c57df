public import MediaCore
import MediaEngine

/// The counters of the video thread, readable from any thread.
public struct VideoPipelineStatistics: Sendable {
    public var frames = 0
    public var refinements = 0
    public var keyframes = 0
    /// Recovery frames, predicted from a long-term reference instead of a key frame.
    public var recoveries = 0
    /// Frames of temporal layer 1, which only viewers with enough bandwidth get.
    public var upperLayerFrames = 0
    /// Frames of the lower encoding.
    public var lowFrames = 0
    public var bytes = 0
    public var encodeNanoseconds: Int64 = 0
    public var readNanoseconds: Int64 = 0
    public var skipped = 0
    public var size = PixelSize(width: 0, height: 0)

    package init() {}

    mutating func note(
        _ frame: EncodedFrame, of encoding: EncodingID, isRefinement: Bool, spent: MediaDuration, size: PixelSize
    ) {
        frames += 1
        refinements += isRefinement ? 1 : 0
        keyframes += frame.isKeyframe ? 1 : 0
        recoveries += frame.references.source != nil ? 1 : 0
        upperLayerFrames += frame.layer > 0 ? 1 : 0
        lowFrames += encoding == .low ? 1 : 0
        bytes += frame.bytes.count
        encodeNanoseconds += spent.nanoseconds
        self.size = size
    }
}
