/// A video codec with an RTP payload format. The raw value is its name in SDP (`rtpmap`).
public enum VideoCodec: String, CaseIterable, Hashable, Sendable {
    /// RFC 7741.
    case vp8 = "VP8"
    /// RFC 9628.
    case vp9 = "VP9"
    /// RFC 6184.
    case h264 = "H264"
    /// RFC 7798.
    case h265 = "H265"
    /// The RTP payload format of the Alliance for Open Media.
    case av1 = "AV1"

    /// The properties of a codec in session descriptions and files.
    public struct Properties: Sendable {
        /// A format parameter (`fmtp`) that both sides must have alike.
        public struct FormatParameter: Sendable {
            public let name: String
            /// The value of a description without the parameter.
            public let usual: String
            /// The number of characters of the value that are compared.
            public let length: Int

            init(_ name: String, usual: String, length: Int = .max) {
                (self.name, self.usual, self.length) = (name, usual, length)
            }
        }

        /// The payload type in an offer; retransmissions have the next number.
        public let payloadType: UInt8
        /// The format parameters in an offer.
        public var offeredParameters: String?
        public var comparedParameters: [FormatParameter] = []
        /// The codec ID of Matroska (RFC 9559 section 5.1.4.1.21; the Matroska codec specifications).
        public let matroskaID: String
        /// WebM has a part of Matroska's codecs.
        public var isInWebM = true
    }

    /// The row of the codec. A codec is added by a case and a row; `Docs/internals/architecture.md` lists the other
    /// places ("What a change touches").
    public var properties: Properties {
        switch self {
        case .vp8: Properties(payloadType: 96, matroskaID: "V_VP8")
        // RFC 9628 section 6.
        case .vp9:
            Properties(
                payloadType: 98, offeredParameters: "profile-id=0",
                comparedParameters: [.init("profile-id", usual: "0")], matroskaID: "V_VP9")
        // RFC 6184 section 8.2.2: without the level.
        case .h264:
            Properties(
                payloadType: 100,
                offeredParameters: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
                comparedParameters: [
                    .init("packetization-mode", usual: "0"),
                    .init("profile-level-id", usual: "420010", length: 4),
                ], matroskaID: "V_MPEG4/ISO/AVC", isInWebM: false)
        // RFC 7798 section 7.2.2.
        case .h265:
            Properties(
                payloadType: 102, comparedParameters: [.init("profile-id", usual: "1")],
                matroskaID: "V_MPEGH/ISO/HEVC", isInWebM: false)
        // Section 7.2 of the payload format.
        case .av1:
            Properties(payloadType: 104, comparedParameters: [.init("profile", usual: "0")], matroskaID: "V_AV1")
        }
    }
}

/// How to encode one frame.
public struct VideoEncodeRequest: Equatable, Sendable {
    /// The average bitrate for the encoder.
    public var bitrate: Bitrate
    public var isKeyframeRequested: Bool
    /// Refine what was already encoded: spend up to `byteBudget` on the given blocks, at the best quality.
    public var isRefinement: Bool
    /// The byte budget of this frame; nil leaves its size to the encoder's rate control.
    public var byteBudget: Int?
    /// nil: all frames are of the base layer.
    public var layering: Layering?
    /// Natural video that plays and the text beside it get quantizers of their own: text is sharp first.
    public var separatesRegions = false
    /// Some viewer can recover from a long-term reference. The encoder then makes that possible, which costs a few
    /// bytes a frame.
    public var allowsRecoveryFrames = false
    /// Store this frame as a long-term reference, from which a recovery frame can be predicted later.
    public var storesLongTermReference = false
    /// Predict this frame from the long-term reference of this number alone (a recovery frame); ignored unless
    /// `canRecover(from:)`.
    public var recoveryReference: UInt32?

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

    /// Two temporal layers. What exceeds the base layer's bitrate becomes a frame of layer 1, which no frame refers to.
    public struct Layering: Equatable, Sendable {
        /// The bitrate of the base layer; the request's bitrate is for both layers.
        public var baseBitrate: Bitrate
        /// No base layer frame is to be made now, as the last one still waits to be sent to some viewer.
        public var isBaseBlocked: Bool

        public init(baseBitrate: Bitrate, isBaseBlocked: Bool = false) {
            self.baseBitrate = baseBitrate
            self.isBaseBlocked = isBaseBlocked
        }
    }
}

/// One encoded frame; `bytes` belong to the encoder and are valid until its next call.
public struct EncodedFrame {
    public var bytes: UnsafeRawBufferPointer
    public var isKeyframe: Bool
    /// 0 (best) ... 63 (worst), as libvpx reports it.
    public var quantizer: Int
    /// Temporal layer; 0 is the base. No frame refers to one of layer 1, which itself refers to the base alone.
    public var layer: UInt8
    public var references: FrameReferences
    /// About how many bytes the smallest recovery frame would take; nil: not known.
    public var recoveryBytes: Int?

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

/// An error of a codec library: its error code and message.
public struct CodecFailure: Error, Equatable, Sendable {
    public var code: Int
    public var message: String

    public init(code: Int, message: String) {
        self.code = code
        self.message = message
    }
}

/// The trade-off of the encoder, as `contentHint` of W3C's mst-content-hint: `text` drops frames to stay sharp,
/// `motion` loses sharpness to stay smooth.
public enum ContentHint: Equatable, Sendable { case text, motion }

/// Encodes video. Confined to one thread. When the canvas has another size, a new codec instance is made inside.
public protocol VideoEncoder: AnyObject {
    /// May be changed between frames.
    var contentHint: ContentHint { get set }

    /// Allocates in advance what frames of this size need. A failure is that of the first frame, too.
    func prepare(_ size: PixelSize) throws(CodecFailure)

    /// Encodes the blocks that changed since the last call; all others repeat the last frame.
    /// - Parameters:
    ///   - changed: for the canvas's size. The first frame and key frames encode all blocks.
    ///   - instant: later than at the last call.
    /// - Returns: nil if the rate control dropped the frame; its blocks must be given again.
    func encode(_ canvas: I420Buffer, changed: BlockMap, at instant: MediaInstant, _ request: VideoEncodeRequest)
        throws(CodecFailure) -> EncodedFrame?

    /// The blocks that `encode` with `isRefinement` would improve now; empty when the frame is as sharp as the source.
    var unrefined: BlockMap? { get }

    /// The last frame did not contain all changes, as it was of layer 1 or the first of several bands. `encode` with
    /// `isRefinement` and without changes continues.
    var hasUncodedChanges: Bool { get }

    /// The last frame was made to be followed at once: `encode` with `isRefinement` and without changes, from the same
    /// canvas, makes the rest of it.
    var continuesAtOnce: Bool { get }

    /// Makes a new encoder of the same kind, which has encoded nothing yet.
    func makeAnother() -> any VideoEncoder

    /// The frame of this number is stored as a long-term reference, and a recovery frame can be predicted from it.
    func canRecover(from number: UInt32) -> Bool
}

extension VideoEncoder {
    /// For encoders that need nothing.
    public func prepare(_ size: PixelSize) throws(CodecFailure) {}

    /// For encoders whose frames stand alone.
    public var continuesAtOnce: Bool { false }

    /// For encoders without long-term references.
    public func canRecover(from number: UInt32) -> Bool { false }
}

/// Decodes video. Confined to one thread. Input is hostile.
public protocol VideoDecoder: AnyObject {
    /// Decodes one frame, and converts it to BT.601 in limited range.
    /// - Parameter colorSpace: what is told beside the stream; valid before what the stream says.
    /// - Returns: the decoded frame, borrowed until the next call; nil if the frame is not to be shown.
    /// - Throws: on a corrupt frame; the decoder then needs a key frame.
    func decode(_ frame: UnsafeRawBufferPointer, colorSpace: ColorSpace?) throws(CodecFailure) -> I420Frame?
}

extension VideoDecoder {
    /// Decodes one frame, of which nothing is told beside the stream.
    public func decode(_ frame: UnsafeRawBufferPointer) throws(CodecFailure) -> I420Frame? {
        try decode(frame, colorSpace: nil)
    }
}

/// The counters of a ``VideoDecoder`` of hostile streams.
public struct VideoDecoderStatistics: Equatable, Sendable {
    public var frames = 0
    /// Frames that could not be decoded, for any reason, `unusable` included.
    public var corrupt = 0
    /// Inter frames that arrived while a key frame was needed.
    public var unusable = 0

    public init() {}
}
