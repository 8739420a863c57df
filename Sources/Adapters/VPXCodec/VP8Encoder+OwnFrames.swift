import MediaCore
import VideoBitstream

/// Frames that are made without libvpx: copy frames and update frames.
extension VP8Encoder {
    struct OwnFrames {
        var hasCopies = true
        var hasUpdates = true
        /// The present frame may be an update frame.
        fileprivate var isPossible = false
        /// The last frame was an update frame.
        fileprivate(set) var isUpdate = false

        /// libvpx codes more blocks in less time.
        private static let mostBlocks = 480
        /// libvpx takes fewer bytes above it.
        private static let mostQuantizer = 30

        /// - Parameter isRest: of a copy frame, which was not coded along with it: libvpx makes it.
        mutating func begin(_ request: VideoEncodeRequest, isRest: Bool) {
            isUpdate = false
            isPossible = hasUpdates && !isRest && request.layering == nil
        }

        func allows(blocks: Int, quantizer: Int) -> Bool {
            isPossible && blocks <= Self.mostBlocks && quantizer <= Self.mostQuantizer
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

    /// Whether `active` is coded by an update frame. What is stored in a long-term reference is not, as libvpx has to
    /// have it, nor natural video, whose motion libvpx finds.
    func isUpdate(_ core: VP8EncoderCore, _ settings: VP8FrameSettings) -> Bool {
        settings.stored == nil && core.buffersOfLastFrame.isEmpty && settings.search != .near
            && ownFrames.allows(blocks: active.count, quantizer: settings.quantizer)
    }

    /// - Parameter moved: what a copy frame moves first.
    func makeUpdate(
        _ core: VP8EncoderCore, _ input: I420Frame, quantizer: Int, after moved: VP8CopyFrame? = nil
    ) -> EncodedFrame? {
        let frame = try? core.update(input, active, quantizer: quantizer, after: moved)
        // libvpx gives its buffers to nobody: all is coded as before.
        if frame == nil { ownFrames.hasUpdates = false }
        ownFrames.isUpdate = frame != nil
        return frame
    }
}
