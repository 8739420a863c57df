import Matroska
import MediaCore
import VideoBitstream

/// The video track of a recording.
struct RecordedVideo: Equatable {
    let codec: VideoCodec
    /// Of the first frame, in pixels.
    let size: PixelSize
    /// The decoder configuration record; empty for VP8 and VP9.
    let record: [UInt8]
    /// Further elements of the Video element: what another file's header says of how it is shown, or the colours.
    let appearance: [UInt8]

    init(_ codec: VideoCodec, size: PixelSize, record: [UInt8] = [], appearance: [UInt8] = []) {
        self.codec = codec
        self.size = size
        self.record = record
        self.appearance = appearance
    }

    /// - Parameters:
    ///   - size: if the session knows it.
    ///   - colorSpace: what is told beside the stream.
    /// - Returns: nil if the frame lacks what a file has to say of the codec.
    init?(_ codec: VideoCodec, keyframe: UnsafeRawBufferPointer, size: PixelSize?, colorSpace: ColorSpace? = nil) {
        let appearance = colorSpace?.colourElement ?? []
        if codec == .vp8, let size {
            self.init(codec, size: size, appearance: appearance)
        } else {
            guard let configuration = DecoderConfiguration(codec, keyframe: keyframe) else { return nil }
            self.init(
                codec, size: configuration.size, record: configuration.record, appearance: appearance)
        }
    }

    /// The colours according to the file; nil if it has none.
    var colorSpace: ColorSpace? { ColorSpace(appearance: appearance) }

    var track: MatroskaTrack { .video(codec, size: size, record: record, appearance: appearance) }

    /// The same with other colours.
    func with(_ colorSpace: ColorSpace?) -> RecordedVideo {
        RecordedVideo(codec, size: size, record: record, appearance: colorSpace?.colourElement ?? [])
    }

    /// The frames of both can be in one file, if their colours are the same.
    func continues(_ other: RecordedVideo) -> Bool { codec == other.codec && record == other.record }

    /// A frame as files have it: the NAL units of H.264 and H.265 have their lengths before them.
    static func withBlock(
        of codec: VideoCodec, _ frame: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void
    ) {
        guard codec.hasNALUnits else { return body(frame) }
        NALUnits.lengthPrefixed(frame).withUnsafeBytes(body)
    }
}
