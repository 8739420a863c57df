public import MediaCore

/// Which codecs can be recorded.
public enum RecordingFormat {
    /// VP8, VP9 and AV1 become WebM files, H.264 and H.265 Matroska files.
    public static let videoCodecs = Set(VideoCodec.allCases)
}
