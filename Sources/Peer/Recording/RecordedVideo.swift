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
    /// What another file's header says of how it is shown; empty for this program's own recordings.
    let appearance: [UInt8]

    init(_ codec: VideoCodec, size: PixelSize, record: [UInt8] = [], appearance: [UInt8] = []) {
        self.codec = codec
        self.size = size
        self.record = record
        self.appearance = appearance
    }

    /// - Parameter size: if the session knows it.
    /// - Returns: nil if the frame lacks what a file has to say of the codec.
    init?(_ codec: VideoCodec, keyframe: UnsafeRawBufferPointer, size: PixelSize?) {
        if codec == .vp8, let size {
            self.init(codec, size: size)
        } else {
            guard let configuration = DecoderConfiguration(codec, keyframe: keyframe) else { return nil }
            self.init(codec, size: configuration.size, record: configuration.record)
        }
    }

    var track: MatroskaTrack { .video(codec, size: size, record: record, appearance: appearance) }

    /// The frames of both can be in one file.
    func continues(_ other: RecordedVideo) -> Bool { codec == other.codec && record == other.record }

    /// A frame as files have it: the NAL units of H.264 and H.265 have their lengths before them.
    static func withBlock(
        of codec: VideoCodec, _ frame: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void
    ) {
        guard codec.hasNALUnits else { return body(frame) }
        NALUnits.lengthPrefixed(frame).withUnsafeBytes(body)
    }
}
