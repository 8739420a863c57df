public import MediaCore
public import RTPWire

/// A section of video in another peer's offer or answer. RFC 8866 section 5.14, RFC 9429 section 5.8.
public struct VideoSection: Hashable, Sendable {
    public let mid: String
    /// What its author does.
    public let direction: MediaDirection
    public let codec: VideoCodec
    public let payloadType: UInt8
    /// Of retransmissions (RFC 4588); nil without.
    public let rtxPayloadType: UInt8?
    /// The codec's `fmtp` line without the payload type.
    public let formatParameters: String?
    /// Nil if the author does not send, or did not announce it: take the first that arrives with the payload type.
    public let ssrc: UInt32?
    public let rtxSSRC: UInt32?
    public let feedback: RTCPFeedback
    public let extensions: HeaderExtensionMap

    /// Nil without one of the codecs.
    init?(_ media: MediaDescription, in description: SessionDescription, _ capabilities: MediaCapabilities) {
        guard let (codec, payloadType, rtx) = media.videoCodec(of: capabilities.videoCodecs) else { return nil }
        mid = media.identification ?? "0"
        direction = media.direction
        self.codec = codec
        self.payloadType = payloadType
        rtxPayloadType = rtx
        formatParameters = media.formatLine(payloadType).map { String($0) }
        (ssrc, rtxSSRC) = media.sources
        feedback = RTCPFeedback(attributes: media.attributes, payloadType: payloadType)
        extensions = HeaderExtensionMap(
            attributes: media.attributes + description.attributes, authorReceives: capabilities.direction.sends)
    }
}

/// A section of Opus audio in another peer's offer or answer. RFC 8866 section 5.14, RFC 7587 section 7.
public struct AudioSection: Hashable, Sendable {
    public let mid: String
    /// What its author does.
    public let direction: MediaDirection
    public let payloadType: UInt8
    /// Of packets that carry older ones again (RFC 2198); nil without.
    public internal(set) var redundantPayloadType: UInt8?
    /// Nil if the author does not send, or did not announce it.
    public let ssrc: UInt32?
    /// By the track's id; nil if it is none of ours.
    public let kind: MediaTrackKind?
    public let usesTransportFeedback: Bool
    /// In an offer only what the video section has under the same id, too.
    public internal(set) var extensions: HeaderExtensionMap
    /// The author prefers to receive stereo; RFC 7587 section 7.
    public let prefersStereo: Bool

    /// Nil without Opus.
    init?(_ media: MediaDescription, in description: SessionDescription, _ capabilities: MediaCapabilities) {
        guard let opus = media.opus else { return nil }
        mid = media.identification ?? "0"
        direction = media.direction
        payloadType = opus
        redundantPayloadType = media.redundancy(of: opus)
        ssrc = media.sources.primary
        kind = media.trackKind
        usesTransportFeedback = RTCPFeedback(attributes: media.attributes, payloadType: opus).contains(.transportWide)
        extensions = HeaderExtensionMap(
            attributes: media.attributes + description.attributes, authorReceives: capabilities.direction.sends)
        prefersStereo = media.formatParameters(opus).contains { $0.name == "stereo" && $0.value == "1" }
    }
}

extension MediaDescription {
    /// The SSRCs of the media and of its retransmissions. RFC 5576.
    fileprivate var sources: (primary: UInt32?, retransmission: UInt32?) {
        func number(_ field: Substring) -> UInt32? {
            field.decimal(upTo: 0xFFFF_FFFF).map { UInt32(truncatingIfNeeded: $0) }
        }
        for line in attributes.values(of: "ssrc-group") {
            let fields = line.text.fields(limit: 4)
            guard fields.count == 3, fields[0] == "FID", let media = number(fields[1]), let rtx = number(fields[2]),
                media != rtx
            else { continue }
            return (media, rtx)
        }
        let first = attributes.values(of: "ssrc").lazy.compactMap { number($0.text.cut(at: UInt8(ascii: " ")).head) }
            .first
        return (first, nil)
    }

    /// By the second word of `msid`, the track's id. RFC 8830 section 2.
    fileprivate var trackKind: MediaTrackKind? {
        guard let fields = self["msid"]?.text.fields(limit: 3), fields.count >= 2 else { return nil }
        return MediaTrackKind(rawValue: String(fields[1]))
    }
}

/// Another peer's offer or answer, as far as both sides can use it.
public protocol RemoteDescription: Sendable {
    var transport: TransportDescription { get }
    var video: [VideoSection] { get }
    var audio: [AudioSection] { get }
}

extension RemoteDescription {
    /// Of both sides' packets: one numbering for all sections of the bundle.
    public var extensions: HeaderExtensionMap {
        var map = video.first?.extensions ?? audio.first?.extensions ?? HeaderExtensionMap()
        // Frames that the author cannot acknowledge are not worth naming.
        if !feedback.contains(.referenceSelection) { map[.frameReferences] = nil }
        return map
    }

    /// Of the first section of video; empty without.
    public var feedback: RTCPFeedback { video.first?.feedback ?? [] }

    public var credentials: ICECredentials { transport.credentials }
    /// Of the author's certificate: SHA-256, and whatever else it gives.
    public var fingerprints: CertificateFingerprints { transport.fingerprints }
    /// SHA-256.
    public var fingerprint: Fingerprint { transport.fingerprints.sha256 }
    public var setup: DTLSSetup { transport.setup }
    public var candidates: CandidateList { transport.candidates }
    public var endsCandidates: Bool { transport.endsCandidates }
}
