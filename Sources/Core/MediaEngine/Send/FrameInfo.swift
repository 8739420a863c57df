public import MediaCore
import RTPWire

/// The properties that accompany an encoded VP8 frame on its way to the viewers. The header is read once, here.
public struct FrameInfo: Sendable {
    public let isKeyframe: Bool
    /// Of a key frame, in pixels; nil if its header is malformed.
    public let size: PixelSize?
    /// Of a key frame: the version of the bitstream, 0...3 (RFC 6386 section 9.1).
    let version: UInt8
    public let encoding: EncodingID
    /// Temporal layer; 0 is the base.
    public let layer: UInt8
    /// When the pixels were captured; becomes the RTP timestamp.
    public let captured: MediaInstant
    /// When the first of the changes that the frame shows was reported; nil if it shows no new change.
    public let changedSince: MediaInstant?
    /// The frame's use of long-term references.
    public let references: FrameReferences
    /// It shows nothing of the screen, which the host's user has blanked.
    public let isBlank: Bool
    /// About how many bytes the smallest recovery frame would take; nil: not known.
    public let recoveryBytes: Int?

    public init(
        of frame: UnsafeRawBufferPointer, isKeyframe: Bool, encoding: EncodingID = .main, layer: UInt8 = 0,
        captured: MediaInstant, changedSince: MediaInstant? = nil, references: FrameReferences = FrameReferences(),
        isBlank: Bool = false, recoveryBytes: Int? = nil
    ) {
        let header = isKeyframe ? try? VP8FrameHeader(frame) : nil
        self.isKeyframe = isKeyframe
        size = header?.size
        version = header?.version ?? 0
        self.encoding = encoding
        self.layer = layer
        self.captured = captured
        self.changedSince = changedSince
        self.references = references
        self.isBlank = isBlank
        self.recoveryBytes = recoveryBytes
    }
}
