public import MediaCore

/// A video track that this peer sends.
public struct LocalVideoSSRCs: Hashable, Sendable {
    public var ssrc: UInt32
    /// Used if the other side supports retransmissions.
    public var rtxSSRC: UInt32?

    public init(ssrc: UInt32, rtxSSRC: UInt32? = nil) {
        self.ssrc = ssrc
        self.rtxSSRC = rtxSSRC
    }
}

/// An audio track that this peer sends.
public struct LocalAudioTrack: Hashable, Sendable {
    public var ssrc: UInt32
    /// The kind, which is signalled as the track's id.
    public var kind: MediaTrackKind
    /// Whether silence is not sent (DTX). RFC 7587 section 3.1.3.
    public var hasSilenceSuppression: Bool

    public init(ssrc: UInt32, kind: MediaTrackKind, hasSilenceSuppression: Bool = false) {
        self.ssrc = ssrc
        self.kind = kind
        self.hasSilenceSuppression = hasSilenceSuppression
    }
}

/// The properties of this peer in an offer or an answer. RFC 9429 section 5.2 and 5.3.
///
/// ``offer(_:)`` and ``answer(to:)`` return its text.
public struct LocalDescription: Sendable {
    public var credentials: ICECredentials
    /// This side is an ICE-lite agent: it answers checks, and makes none to find a pair.
    public var isLite: Bool
    public var fingerprint: Fingerprint
    public var candidates: [ICECandidate]
    /// Whether no candidates will follow.
    public var endsCandidates: Bool
    /// The sent video; empty for a peer that only receives.
    public var video: [LocalVideoSSRCs]
    /// The sent audio: application audio first, then the microphone.
    public var audio: [LocalAudioTrack]
    public var cname: String
    public var streamID: String
    /// The session id of the `o=` line; below 2^63.
    public var sessionID: UInt64
    /// The session's name; nil for no name.
    public var name: String?

    public init(
        credentials: ICECredentials, isLite: Bool = false, fingerprint: Fingerprint, candidates: [ICECandidate] = [],
        endsCandidates: Bool = false, video: [LocalVideoSSRCs] = [], audio: [LocalAudioTrack] = [], cname: String = "",
        streamID: String = "share", sessionID: UInt64 = 1, name: String? = nil
    ) {
        self.credentials = credentials
        self.isLite = isLite
        self.fingerprint = fingerprint
        self.candidates = candidates
        self.endsCandidates = endsCandidates
        self.video = video
        self.audio = audio
        self.cname = cname
        self.streamID = streamID
        self.sessionID = sessionID
        self.name = name
    }

    func videoTrack(_ index: Int) -> LocalVideoSSRCs? { video.indices.contains(index) ? video[index] : nil }
    func audioTrack(_ index: Int) -> LocalAudioTrack? { audio.indices.contains(index) ? audio[index] : nil }

    /// RFC 8866 section 5.2.
    func session(version: Int) -> SessionDescription {
        var result = SessionDescription(
            origin: "- \(sessionID & 0x7FFF_FFFF_FFFF_FFFF) \(version) IN IP4 127.0.0.1")
        result.name = name
        // RFC 8839 section 5.3.
        if isLite { result.attributes.append(SDPAttribute("ice-lite")) }
        return result
    }

    var candidateAttributes: [SDPAttribute] {
        candidates.map(\.attribute) + (endsCandidates ? [SDPAttribute("end-of-candidates")] : [])
    }

    /// `a=msid` of a track. RFC 8830.
    func streamAttribute(_ kind: MediaTrackKind) -> SDPAttribute {
        SDPAttribute("msid", "\(streamID.asToken) \(kind.rawValue)")
    }

    /// RFC 5576.
    func sourceAttributes(_ ssrcs: [UInt32]) -> [SDPAttribute] {
        ssrcs.map { SDPAttribute("ssrc", "\($0) cname:\(cname.asToken)") }
    }

    /// RFC 5576 section 4.2, RFC 4588.
    func retransmissionGroup(_ track: LocalVideoSSRCs) -> SDPAttribute? {
        track.rtxSSRC.map { SDPAttribute("ssrc-group", "FID \(track.ssrc) \($0)") }
    }

    /// The format parameters of Opus: RFC 7587 section 7.
    func opusParameters(_ payloadType: UInt8, sends: Bool, _ track: LocalAudioTrack?) -> SDPAttribute {
        let sender = sends ? ";sprop-stereo=1" : ""
        let silence = track?.hasSilenceSuppression == true ? ";usedtx=1" : ""
        return SDPAttribute("fmtp", "\(payloadType) minptime=10;useinbandfec=1;stereo=1\(sender)\(silence)")
    }
}
