import MediaCore

/// Frames that are made without libvpx: copy frames and update frames.
extension VP8Encoder {
    struct OwnFrames {
        var hasCopies = true
        var hasUpdates = true
        /// The most blocks of the present frame if it is an update frame.
        fileprivate var mostBlocks = 0
        /// The last frame was an update frame.
        fileprivate(set) var isUpdate = false

        /// libvpx codes more blocks in less time.
        private static let mostBlocks = 320
        /// In bit/s. libvpx takes up to 20 bytes less for a block, so that sending more of them takes the time that is
        /// saved.
        private static let bitrateOfBlock = 25_000

        /// - Parameter isRest: of a copy frame: it has moved in part, which libvpx finds.
        mutating func limitUpdates(_ request: VideoEncodeRequest, isRest: Bool) {
            isUpdate = false
            let isPossible = hasUpdates && !isRest && request.layering == nil
            mostBlocks = isPossible ? min(Self.mostBlocks, request.bitrate.bitsPerSecond / Self.bitrateOfBlock) : 0
        }
    }

    /// Content that has moved is moved at the viewers too. Set before the first frame.
    public var usesCopyFrames: Bool {
        get { ownFrames.hasCopies }
        set { ownFrames.hasCopies = newValue }
    }

    /// Small changes are coded by update frames.
    public var usesUpdateFrames: Bool {
        get { ownFrames.hasUpdates }
        set { ownFrames.hasUpdates = newValue }
    }

    /// Whether `active` is coded by an update frame. What is stored in a long-term reference is not, as libvpx has to have it.
    func isUpdate(_ core: VP8EncoderCore, _ settings: VP8FrameSettings) -> Bool {
        settings.stored == nil && core.buffersOfLastFrame.isEmpty && settings.quantizer <= Self.sharpQuantizer
            && active.count <= ownFrames.mostBlocks
    }

    func makeUpdate(_ core: VP8EncoderCore, _ input: I420Frame, quantizer: Int) -> EncodedFrame? {
        let frame = try? core.update(input, active, quantizer: quantizer)
        // libvpx gives its buffers to nobody: all is coded as before.
        if frame == nil { ownFrames.hasUpdates = false }
        ownFrames.isUpdate = frame != nil
        return frame
    }
}
