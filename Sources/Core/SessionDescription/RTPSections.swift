public import MediaCore
public import RTPWire

/// A video section in another peer's offer or answer. RFC 8866 section 5.14, RFC 9429 section 5.8.
public struct VideoSection: Hashable, Sendable {
    public let mid: String
    /// The direction from the author's view.
    public let direction: MediaDirection
    public let codec: VideoCodec
    public let payloadType: UInt8
    /// The payload type of retransmissions (RFC 4588); nil without.
    public let rtxPayloadType: UInt8?
    /// The codec's `fmtp` line without the payload type.
    public let formatParameters: String?
    /// Nil if the author does not send, or did not announce it: use the first SSRC that arrives with the payload type.
    public let ssrc: UInt32?
    public let rtxSSRC: UInt32?
    public let feedback: RTCPFeedback
    public let extensions: HeaderExtensionMap
    /// The author takes and sends both forms of header extensions in one stream: RFC 8285 section 6.
    let mixesExtensionForms: Bool

    /// Returns nil without one of the codecs.
    init?(_ media: MediaDescription, in description: SessionDescription, _ capabilities: MediaCapabilities) {
        guard let (codec, payloadType, rtx) = media.videoCodec(capabilities) else { return nil }
        mid = media.validMid ?? "0"
        direction = media.direction
        self.codec = codec
        self.payloadType = payloadType
        rtxPayloadType = rtx
        formatParameters = media.formatLine(payloadType).map { String($0) }
        (ssrc, rtxSSRC) = media.sources
        var feedback = RTCPFeedback(attributes: media.attributes, payloadType: payloadType)
        var extensions = HeaderExtensionMap(
            attributes: media.attributes + description.attributes, authorReceives: capabilities.direction.sends)
        if !capabilities.usesReferences {
            feedback.remove(.referenceSelection)
            extensions[.frameReferences] = nil
        }
        self.feedback = feedback
        self.extensions = extensions
        mixesExtensionForms = (media.attributes + description.attributes).contains(.mixesExtensionForms)
    }
}

/// An Opus audio section in another peer's offer or answer. RFC 8866 section 5.14, RFC 7587 section 7.
public struct AudioSection: Hashable, Sendable {
    public let mid: String
    /// The direction from the author's view.
    public let direction: MediaDirection
    public let payloadType: UInt8
    /// The payload type of redundant packets (RFC 2198); nil without.
    public internal(set) var redundantPayloadType: UInt8?
    /// Nil if the author does not send, or did not announce it.
    public let ssrc: UInt32?
    /// The kind according to the track's id; nil for an unknown id.
    public let kind: MediaTrackKind?
    public let usesTransportFeedback: Bool
    /// In an offer, only the extensions that the video section has under the same id, too.
    public internal(set) var extensions: HeaderExtensionMap
    /// Whether the author prefers to receive stereo; RFC 7587 section 7.
    public let prefersStereo: Bool

    /// Returns nil without Opus.
    init?(_ media: MediaDescription, in description: SessionDescription, _ capabilities: MediaCapabilities) {
        guard let opus = media.opus else { return nil }
        mid = media.validMid ?? "0"
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

    /// The kind according to the second word of `msid`, the track's id. RFC 8830 section 2.
    fileprivate var trackKind: MediaTrackKind? {
        guard let fields = self["msid"]?.text.fields(limit: 3), fields.count >= 2 else { return nil }
        return MediaTrackKind(rawValue: String(fields[1]))
    }
}

/// The part of another peer's offer or answer that both sides can use.
public protocol RemoteDescription: Sendable {
    var transport: TransportDescription { get }
    var video: [VideoSection] { get }
    var audio: [AudioSection] { get }
}

extension RemoteDescription {
    /// The extensions of both sides' packets, with one numbering for all sections of the bundle.
    public var extensions: HeaderExtensionMap {
        var map = video.first?.extensions ?? audio.first?.extensions ?? HeaderExtensionMap()
        // References are not announced to a peer that cannot acknowledge frames.
        if !feedback.contains(.referenceSelection) { map[.frameReferences] = nil }
        return map
    }

    /// The feedback of the first video section; empty without video.
    public var feedback: RTCPFeedback { video.first?.feedback ?? [] }

    public var credentials: ICECredentials { transport.credentials }
    /// The fingerprints of the author's certificate: SHA-256 and any others.
    public var fingerprints: CertificateFingerprints { transport.fingerprints }
    /// The SHA-256 of the author's certificate.
    public var fingerprint: Fingerprint { transport.fingerprints.sha256 }
    public var setup: DTLSSetup { transport.setup }
    public var candidates: CandidateList { transport.candidates }
    public var endsCandidates: Bool { transport.endsCandidates }
}
