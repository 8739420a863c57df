/// How one picture is to be encoded.
public struct VideoEncodeRequest: Equatable, Sendable {
    /// What the encoder may spend on average.
    public var bitrate: Bitrate
    public var isKeyframeRequested: Bool
    /// Sharpen what is already there: spend up to `byteBudget` on the given blocks, at the best quality.
    public var isRefinement: Bool
    /// What this frame may cost; nil leaves it to the rate control.
    public var byteBudget: Int?
    /// Nil: all frames are of the base layer.
    public var layering: Layering?
    /// Some viewer can go on from a kept frame: code so that it can, which costs a few bytes a frame.
    public var isRecoverable = false
    /// Keep this frame, so that one can be made later that refers to it alone.
    public var isStored = false
    /// Refer to the kept frame of this number alone; ignored unless `canRecover(from:)`.
    public var recoversFrom: UInt32?

    public init(
        bitrate: Bitrate, isKeyframeRequested: Bool = false, isRefinement: Bool = false, byteBudget: Int? = nil,
        layering: Layering? = nil
    ) {
        self.bitrate = bitrate
        self.isKeyframeRequested = isKeyframeRequested
        self.isRefinement = isRefinement
        self.byteBudget = byteBudget
        self.layering = layering
    }

    /// Two temporal layers: what the base cannot take becomes a frame of layer 1, which nothing refers to.
    public struct Layering: Equatable, Sendable {
        /// What frames of the base may take; the request's bitrate is for both layers.
        public var baseBitrate: Bitrate
        /// Make no frame of the base now: somebody who gets it has not got all of the last one yet.
        public var isBaseBlocked: Bool

        public init(baseBitrate: Bitrate, isBaseBlocked: Bool = false) {
            self.baseBitrate = baseBitrate
            self.isBaseBlocked = isBaseBlocked
        }
    }
}

/// One encoded frame; `bytes` are the encoder's and valid until its next call.
public struct EncodedFrame {
    public var bytes: UnsafeRawBufferPointer
    public var isKeyframe: Bool
    /// 0 (best) ... 63 (worst), as libvpx reports it.
    public var quantizer: Int
    /// Temporal layer; 0 is the base. Nothing refers to a frame of layer 1, and it refers to the base alone.
    public var layer: UInt8
    public var references: FrameReferences

    public init(
        bytes: UnsafeRawBufferPointer, isKeyframe: Bool, quantizer: Int, layer: UInt8 = 0,
        references: FrameReferences = FrameReferences()
    ) {
        self.bytes = bytes
        self.isKeyframe = isKeyframe
        self.quantizer = quantizer
        self.layer = layer
        self.references = references
    }
}

public struct CodecFailure: Error, Equatable, Sendable {
    public var code: Int
    public var message: String

    public init(code: Int, message: String) {
        self.code = code
        self.message = message
    }
}

/// Sharp first (frames are dropped before sharpness), or smooth first.
public enum ContentHint: Equatable, Sendable { case text, motion }

/// Confined to one thread. Makes a new encoder inside when the canvas has another size.
public protocol VideoEncoder: AnyObject {
    var contentHint: ContentHint { get set }

    /// Encodes the blocks that changed since the last call; all others repeat the last frame.
    /// - Parameters:
    ///   - changed: of the canvas's size. The first frame and key frames take everything.
    ///   - instant: later than at the last call.
    /// - Returns: nil if the rate control dropped the frame: its blocks must be given again.
    func encode(_ canvas: I420Buffer, changed: BlockMap, at instant: MediaInstant, _ request: VideoEncodeRequest)
        throws(CodecFailure) -> EncodedFrame?

    /// The blocks that `encode` with `isRefinement` would make sharper now; empty when the picture is as sharp as the source.
    var unrefined: BlockMap? { get }

    /// The last frame did not bring all that had changed: it was of layer 1, or the first of some slices. `encode` with
    /// `isRefinement` and no changes goes on.
    var isBehind: Bool { get }

    /// A new encoder of the same kind, which has encoded nothing yet.
    func makeAnother() -> any VideoEncoder

    /// The frame of this number is kept, and one can be made from it alone.
    func canRecover(from number: UInt32) -> Bool
}

extension VideoEncoder {
    /// An encoder that keeps no frames.
    public func canRecover(from number: UInt32) -> Bool { false }
}

/// Confined to one thread. Input is hostile.
public protocol VideoDecoder: AnyObject {
    /// - Returns: the picture, borrowed until the next call; nil if the frame shows none.
    /// - Throws: on a corrupt frame; the decoder then waits for a key frame.
    func decode(_ frame: UnsafeRawBufferPointer) throws(CodecFailure) -> I420Frame?
}
