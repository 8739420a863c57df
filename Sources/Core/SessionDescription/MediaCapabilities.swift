public import MediaCore

extension VideoCodec {
    /// Finds a codec by the name in an `rtpmap` line, in either case.
    init?(encoding: Substring) {
        guard let codec = Self.allCases.first(where: { encoding.equalsIgnoringCase($0.rawValue) }) else { return nil }
        self = codec
    }
}

/// The media capabilities of an offerer or answerer: RFC 3264 section 5 and 6.
///
/// Audio is always Opus.
public struct MediaCapabilities: Hashable, Sendable {
    /// The widest direction; a section may be negotiated with less.
    public var direction: MediaDirection
    /// The first of these codecs in an offer is used.
    public var videoCodecs: Set<VideoCodec>
    /// The format parameters of the video that is sent. Of several payload types of its codec the one that they fit is
    /// used.
    public var formatParameters: String?
    /// False for a sender of audio alone: the sections of video are inactive, whatever their codecs.
    public var hasVideo = true
    /// Long-term references are negotiated, if the other side offers them.
    public var usesReferences = true
    /// This side tells the sender how much it may send at most, by REMB.
    public var limitsBitrate = false
    /// The limit of video sections; further ones are refused.
    public var videoSections: Int
    public var audioSections: Int

    public init(
        direction: MediaDirection, videoCodecs: Set<VideoCodec> = [.vp8], videoSections: Int = 1, audioSections: Int = 2
    ) {
        self.direction = direction
        self.videoCodecs = videoCodecs
        self.videoSections = videoSections
        self.audioSections = audioSections
    }

    /// One screen with the audio of applications and of a microphone: what a host sends.
    public static let sending = MediaCapabilities(direction: .sendOnly)
    /// What a relay sends: video in this codec, or audio alone.
    public static func forwarding(_ codec: VideoCodec?, formatParameters: String?) -> MediaCapabilities {
        let codecs = codec.map { Set([$0]) } ?? Set(VideoCodec.allCases)
        var result = MediaCapabilities(direction: .sendOnly, videoCodecs: codecs)
        result.hasVideo = codec != nil
        result.formatParameters = formatParameters
        result.usesReferences = false
        return result
    }
    /// The capabilities of a viewer, a recorder or a service.
    public static func receiving(_ videoCodecs: Set<VideoCodec> = [.vp8]) -> MediaCapabilities {
        MediaCapabilities(direction: .receiveOnly, videoCodecs: videoCodecs)
    }
}
