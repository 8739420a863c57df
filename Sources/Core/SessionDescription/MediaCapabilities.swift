public import MediaCore

extension VideoCodec {
    /// By the name in an `rtpmap` line, in either case.
    init?(encoding: Substring) {
        guard let codec = Self.allCases.first(where: { encoding.equalsIgnoringCase($0.rawValue) }) else { return nil }
        self = codec
    }

    /// In an offer of ours; retransmissions have the next number.
    var offeredPayloadType: UInt8 {
        switch self {
        case .vp8: 96
        case .vp9: 98
        case .h264: 100
        case .h265: 102
        case .av1: 104
        }
    }

    /// In an offer of ours.
    var offeredParameters: String? {
        switch self {
        case .h264: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"
        case .vp9: "profile-id=0"
        case .vp8, .h265, .av1: nil
        }
    }
}

/// What a peer is able to do with media, whether it offers or answers: RFC 3264 section 5 and 6.
///
/// Audio is always Opus.
public struct MediaCapabilities: Hashable, Sendable {
    /// At most; a section may be agreed with less.
    public var direction: MediaDirection
    /// Of an offer with several of them the first counts.
    public var videoCodecs: Set<VideoCodec>
    /// Sections beyond these are refused.
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
    /// What a viewer, a recorder or a service takes of a host.
    public static let receiving = MediaCapabilities(direction: .receiveOnly)
}
