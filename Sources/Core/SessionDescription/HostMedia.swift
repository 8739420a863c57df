public import MediaCore

/// One audio track that the host sends.
public struct HostAudioTrack: Hashable, Sendable {
    public var ssrc: UInt32
    /// The viewer reads it as the track's id.
    public var kind: MediaTrackKind
    /// Silence is not sent. RFC 7587 section 3.1.3.
    public var hasSilenceSuppression: Bool

    public init(ssrc: UInt32, kind: MediaTrackKind, hasSilenceSuppression: Bool = false) {
        self.ssrc = ssrc
        self.kind = kind
        self.hasSilenceSuppression = hasSilenceSuppression
    }
}

/// What the host puts into its answer to one viewer.
public struct HostMedia: Sendable {
    public var credentials: ICECredentials
    public var fingerprint: Fingerprint
    public var candidates: [ICECandidate]
    /// No candidates will follow the answer; WHEP has no way for a server to send them.
    public var endsCandidates: Bool
    public var videoSSRC: UInt32
    /// Used if the viewer takes retransmissions.
    public var rtxSSRC: UInt32?
    /// The system's sound first, then the microphone.
    public var audio: [HostAudioTrack]
    public var cname: String
    public var streamID: String
    /// Of the `o=` line; below 2^63.
    public var sessionID: UInt64
    /// What the broadcast is called; nil for no name.
    public var name: String?

    public init(
        credentials: ICECredentials, fingerprint: Fingerprint, candidates: [ICECandidate], endsCandidates: Bool = true,
        videoSSRC: UInt32, rtxSSRC: UInt32?, audio: [HostAudioTrack], cname: String, streamID: String,
        sessionID: UInt64, name: String? = nil
    ) {
        self.credentials = credentials
        self.fingerprint = fingerprint
        self.candidates = candidates
        self.endsCandidates = endsCandidates
        self.videoSSRC = videoSSRC
        self.rtxSSRC = rtxSSRC
        self.audio = audio
        self.cname = cname
        self.streamID = streamID
        self.sessionID = sessionID
        self.name = name
    }
}
