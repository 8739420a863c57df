import RTPWire

/// Why an offer cannot be answered.
public enum OfferError: Error, Hashable, Sendable {
    case notSDP
    case tooLarge
    /// There is video, but no common codec.
    case noCommonVideoCodec
    /// There is neither video nor audio in a suitable direction.
    case nothingInCommon
    /// There are several sections, and they are not in one BUNDLE group.
    case noBundle
    /// RTP and RTCP are on different ports.
    case noRTCPMux
    /// There is no ICE user name fragment and password, or they are malformed.
    case noCredentials
    /// There is no SHA-256 fingerprint of the offerer's certificate, or a malformed one.
    case noFingerprint
    /// There are fingerprints of two certificates.
    case severalCertificates
    /// The offer postpones the connection (`holdconn`, RFC 4145 section 4).
    case postponedDTLS
    /// There is no `a=setup` that determines the DTLS roles. RFC 8842 section 5.2.
    case noDTLSRole
    /// There is a BUNDLE group, but sections without `a=mid`. RFC 9143 section 7.
    case noMediaIdentification
    /// A payload type stands for two codecs, in one section (RFC 8866 section 6.6) or in one BUNDLE group (RFC 9143
    /// section 9.1).
    case ambiguousPayloadType(UInt8, [String])
}

extension OfferError: RemoteDescriptionError {}

/// Another peer's offer, parsed by the answerer: a viewer's recvonly one in WHEP (draft-ietf-wish-whep), a sender's
/// sendonly one in WHIP (RFC 9725). RFC 9429 section 5.8, RFC 9143.
public struct Offer: RemoteDescription, Hashable {
    public let transport: TransportDescription
    /// The video sections in the order of the offer.
    public let video: [VideoSection]
    /// The audio sections in the order of the offer: a host's application audio uses the first, its microphone the
    /// second.
    public let audio: [AudioSection]
    /// The mids of sections that are always answered with port 0.
    public let refused: [String]
    /// Whether the answer refuses audio or video that the offerer wants to send or receive: a further section of its
    /// kind, or one without a codec of the answerer.
    public let isAnsweredInPart: Bool
    /// The session's name; untrusted, for display only.
    public let name: String?
    /// The answerer's capabilities.
    let capabilities: MediaCapabilities
    /// The number of m-lines before that of the first of `video`; nil if there is none.
    public var videoLine: Int? { sections.firstIndex { $0.role == .video(0) } }
    /// Whether the sections share one transport, which the answer has to confirm.
    let isBundled: Bool
    /// One for each m-line, as the answer needs the same number.
    let sections: [Section]

    /// Whether more candidates may follow.
    public var isTrickling: Bool { !endsCandidates }

    struct Section: Hashable {
        enum Role: Hashable {
            /// Index into ``Offer/video``.
            case video(Int)
            /// Index into ``Offer/audio``.
            case audio(Int)
            case refused
        }
        let kind: String
        let transport: String
        let format: String
        /// The format's `rtpmap` line; nil for a static payload type, or without RTP.
        let mapping: SDPAttribute?
        let mid: String?
        var role: Role
    }

    /// Parses an offer for a peer with these capabilities.
    public init(_ text: String, for capabilities: MediaCapabilities) throws(OfferError) {
        let offer = try SessionDescription.parse(text, failure: OfferError.self)
        guard !offer.media.isEmpty else { throw .nothingInCommon }
        let bundle = BundleGroup(of: offer)
        var reader = OfferSectionReader(offer: offer, bundle: bundle, capabilities: capabilities)
        for media in offer.media { try reader.read(media) }
        if capabilities.hasVideo {
            guard !reader.video.isEmpty || !reader.hasForeignVideo else { throw .noCommonVideoCodec }
        } else {
            guard !reader.audio.isEmpty else { throw .nothingInCommon }
        }
        guard let first = reader.first else { throw reader.lacksMid ? .noMediaIdentification : .nothingInCommon }
        let sections = reader.sections
        guard bundle.exists || sections.count(where: { $0.role != .refused }) == 1 else { throw .noBundle }
        try PayloadTypeUse.check(reader.video, reader.audio)
        audio = Self.audio(reader.audio, beside: reader.video)
        do throws(TransportError) {
            transport = try TransportDescription(of: first, bundle: bundle, in: offer)
        } catch {
            throw OfferError(error)
        }
        guard transport.setup != .holdconn else { throw .postponedDTLS }
        video = reader.video
        name = offer.name
        self.capabilities = capabilities
        self.sections = sections
        isBundled = bundle.exists
        isAnsweredInPart = reader.hasRefusedMedia
        refused = sections.compactMap { $0.role == .refused ? $0.mid : nil }
    }

    /// In a bundle, redundant packets cannot have the payload type of another codec, and one id cannot be two
    /// extensions: RFC 9143 section 9.
    private static func audio(_ sections: [AudioSection], beside video: [VideoSection]) -> [AudioSection] {
        let taken = Set(video.flatMap(\.uses).map(\.payloadType) + sections.map(\.payloadType))
        return sections.map { section in
            var result = section
            if let red = section.redundantPayloadType, taken.contains(red) { result.redundantPayloadType = nil }
            if let main = video.first { result.extensions = result.extensions.common(with: main.extensions) }
            return result
        }
    }
}

/// Separates an offer's accepted sections from the others. RFC 9429 section 5.3.1.
private struct OfferSectionReader {
    let offer: SessionDescription
    let bundle: BundleGroup
    let capabilities: MediaCapabilities
    var sections: [Offer.Section] = []
    var video: [VideoSection] = []
    var audio: [AudioSection] = []
    var hasForeignVideo = false
    var hasRefusedMedia = false
    var lacksMid = false
    /// The first accepted section.
    var first: MediaDescription?
    private var mids: Set<String> = []

    init(offer: SessionDescription, bundle: BundleGroup, capabilities: MediaCapabilities) {
        self.offer = offer
        self.bundle = bundle
        self.capabilities = capabilities
    }

    mutating func read(_ media: MediaDescription) throws(OfferError) {
        let mid = media.validMid
        let isWanted = media.direction.answered(by: capabilities.direction) != .inactive
        if mid == nil, bundle.exists, isWanted { lacksMid = true }
        let isUnique = mid.map { mids.insert($0).inserted } ?? !bundle.exists
        let isAsked = isWanted && bundle.isEnabled(media)
        let isUsable = isAsked && isUnique && media.isRTPOverDTLS && bundle.isTogether(media, first)
        let role = isUsable ? try accept(media) : .refused
        if role == .refused, isAsked, ["audio", "video"].contains(media.kind) {
            hasRefusedMedia = true
        }
        if role != .refused {
            guard media.attributes.contains("rtcp-mux") else { throw .noRTCPMux }
            first = first ?? media
        }
        sections.append(
            Offer.Section(
                kind: media.kind, transport: media.transport, format: media.formats.first ?? "0",
                mapping: media.firstMapping, mid: mid, role: role))
    }

    private mutating func accept(_ media: MediaDescription) throws(OfferError) -> Offer.Section.Role {
        switch media.kind {
        case "video" where video.count < capabilities.videoSections:
            guard let section = VideoSection(media, in: offer, capabilities) else {
                hasForeignVideo = true
                return .refused
            }
            try PayloadTypeUse.check(section.uses, in: media)
            video.append(section)
            return .video(video.count - 1)
        case "audio" where audio.count < capabilities.audioSections:
            guard let section = AudioSection(media, in: offer, capabilities) else { return .refused }
            try PayloadTypeUse.check(section.uses, in: media)
            audio.append(section)
            return .audio(audio.count - 1)
        default: return .refused
        }
    }
}
