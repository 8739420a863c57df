import Matroska
public import MediaCore

/// Which codecs can be recorded.
public enum RecordingFormat {
    public static func canRecord(_ codec: VideoCodec) -> Bool { MatroskaTrack.codecID(codec) != nil }
}
