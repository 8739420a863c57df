import RTPWire

/// Why an offer cannot be answered.
public enum OfferError: Error, Hashable, Sendable {
    case notSDP
    case tooLarge
    /// It has video, but in no codec that we take or send.
    case noCommonVideoCodec
    /// It has neither video nor audio in a direction that suits us.
    case nothingInCommon
    /// Several sections, and they are not in one BUNDLE group.
    case noBundle
    /// RTP and RTCP on different ports.
    case noRTCPMux
    /// No ICE user name fragment and password, or malformed ones.
    case noCredentials
    /// No SHA-256 fingerprint of the offerer's certificate, or one that cannot be read.
    case noFingerprint
    /// Fingerprints of two certificates.
    case severalCertificates
    /// It wants us to start DTLS.
    case wrongDTLSRole
    /// No `a=setup` that says who starts DTLS. RFC 8842 section 5.2.
    case noDTLSRole
    /// It has a BUNDLE group, but its sections have no `a=mid` to be named by. RFC 9143 section 7.
    case noMediaIdentification
}

extension OfferError: RemoteDescriptionError {}

/// Another peer's offer, as the answerer reads it: a viewer's recvonly one by WHEP (draft-ietf-wish-whep), a sender's
/// sendonly one by WHIP (RFC 9725). RFC 9429 section 5.8, RFC 9143.
public struct Offer: RemoteDescription, Hashable {
    public let transport: TransportDescription
    /// In the order of the offer.
    public let video: [VideoSection]
    /// In the order of the offer: a host's application audio takes the first, its microphone the second.
    public let audio: [AudioSection]
    /// The mids of sections that are answered with port 0 in any case.
    public let refused: [String]
    /// What the session is called; from the other side, for nothing but showing.
    public let name: String?
    /// Of the answerer.
    let capabilities: MediaCapabilities
    /// The sections share one transport, and the answer has to say so.
    let isBundled: Bool
    /// One for each m-line, for the answer has to have as many.
    let sections: [Section]

    /// More candidates may follow.
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
        /// What the offer says of that format; nil for a static payload type, or if this is not RTP.
        let mapping: SDPAttribute?
        let mid: String?
        var role: Role
    }

    /// Reads an offer for a peer with these capabilities.
    public init(_ text: String, for capabilities: MediaCapabilities) throws(OfferError) {
        let offer = try SessionDescription.parse(text, failure: OfferError.self)
        guard !offer.media.isEmpty else { throw .nothingInCommon }
        let bundle = BundleGroup(of: offer)
        var reader = SectionReader(offer: offer, bundle: bundle, capabilities: capabilities)
        for media in offer.media { try reader.read(media) }
        guard !reader.video.isEmpty || !reader.hasForeignVideo else { throw .noCommonVideoCodec }
        guard let first = reader.first else { throw reader.lacksMid ? .noMediaIdentification : .nothingInCommon }
        let sections = reader.sections
        guard bundle.exists || sections.count(where: { $0.role != .refused }) == 1 else { throw .noBundle }
        audio = try Self.audio(reader.audio, beside: reader.video)
        do throws(TransportError) {
            transport = try TransportDescription(of: first, bundle: bundle, in: offer)
        } catch {
            throw OfferError(error)
        }
        guard transport.setup == .actpass || transport.setup == .active else { throw .wrongDTLSRole }
        video = reader.video
        name = offer.name
        self.capabilities = capabilities
        self.sections = sections
        isBundled = bundle.exists
        refused = sections.compactMap { $0.role == .refused ? $0.mid : nil }
    }

    /// In a bundle one payload type cannot stand for video and audio, nor one id for two extensions: RFC 9143 section
    /// 9.
    private static func audio(
        _ sections: [AudioSection], beside video: [VideoSection]
    ) throws(OfferError) -> [AudioSection] {
        guard let main = video.first else { return sections }
        let taken = Set(video.flatMap { [$0.payloadType, $0.rtxPayloadType].compactMap { $0 } })
        var result = sections
        for index in result.indices {
            guard !taken.contains(result[index].payloadType) else { throw .notSDP }
            if let red = result[index].redundantPayloadType, taken.contains(red) {
                result[index].redundantPayloadType = nil
            }
            result[index].extensions = result[index].extensions.common(with: main.extensions)
        }
        return result
    }
}

/// Sorts the sections of an offer into those that are accepted and the others. RFC 9429 section 5.3.1.
private struct SectionReader {
    let offer: SessionDescription
    let bundle: BundleGroup
    let capabilities: MediaCapabilities
    var sections: [Offer.Section] = []
    var video: [VideoSection] = []
    var audio: [AudioSection] = []
    var hasForeignVideo = false
    var lacksMid = false
    /// The first one that is accepted.
    var first: MediaDescription?
    private var mids: Set<String> = []

    init(offer: SessionDescription, bundle: BundleGroup, capabilities: MediaCapabilities) {
        self.offer = offer
        self.bundle = bundle
        self.capabilities = capabilities
    }

    mutating func read(_ media: MediaDescription) throws(OfferError) {
        let mid = media.identification
        let isWanted = media.direction.answered(by: capabilities.direction) != .inactive
        if mid == nil, bundle.exists, isWanted { lacksMid = true }
        let isUnique = mid.map { mids.insert($0).inserted } ?? !bundle.exists
        let isUsable =
            isUnique && media.isRTPOverDTLS && isWanted && bundle.isEnabled(media) && bundle.isTogether(media, first)
        let role = isUsable ? accept(media) : .refused
        if role != .refused {
            guard media.attributes.contains("rtcp-mux") else { throw .noRTCPMux }
            first = first ?? media
        }
        sections.append(
            Offer.Section(
                kind: media.kind, transport: media.transport, format: media.formats.first ?? "0",
                mapping: media.firstMapping, mid: mid, role: role))
    }

    private mutating func accept(_ media: MediaDescription) -> Offer.Section.Role {
        switch media.kind {
        case "video" where video.count < capabilities.videoSections:
            guard let section = VideoSection(media, in: offer, capabilities) else {
                hasForeignVideo = true
                return .refused
            }
            video.append(section)
            return .video(video.count - 1)
        case "audio" where audio.count < capabilities.audioSections:
            guard let section = AudioSection(media, in: offer, capabilities) else { return .refused }
            audio.append(section)
            return .audio(audio.count - 1)
        default: return .refused
        }
    }
}
