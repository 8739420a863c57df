public import RTPWire

/// The video section of a viewer's offer.
public struct OfferedVideo: Hashable, Sendable {
    public let mid: String
    /// Of VP8.
    public let payloadType: UInt8
    /// Of VP8's retransmissions; nil if the viewer takes none.
    public let rtxPayloadType: UInt8?
    public let feedback: VideoFeedback
    public let extensions: HeaderExtensionMap
}

/// One audio section of a viewer's offer.
public struct OfferedAudio: Hashable, Sendable {
    public let mid: String
    /// Of Opus.
    public let payloadType: UInt8
    /// Of packets that carry older ones again (RFC 2198); nil if it does not offer them.
    public let redundantPayloadType: UInt8?
    public let hasTransportFeedback: Bool
    /// Only what the video section has under the same id, too.
    public let extensions: HeaderExtensionMap
    /// The viewer prefers stereo; RFC 7587 section 7.
    public let prefersStereo: Bool
}

/// Why a viewer's offer cannot be answered.
public enum OfferError: Error, Hashable, Sendable {
    case notSDP
    case tooLarge
    /// It has video, but not VP8.
    case noVP8
    /// It has neither video nor audio that it wants to receive and that we can send.
    case nothingToReceive
    /// Several sections, and they are not in one BUNDLE group.
    case noBundle
    /// RTP and RTCP on different ports.
    case noRTCPMux
    /// No ICE user name fragment and password, or malformed ones.
    case noCredentials
    /// No SHA-256 fingerprint of the viewer's certificate, or one that cannot be read.
    case noFingerprint
    /// Fingerprints of two certificates.
    case severalCertificates
    /// It wants us to start DTLS.
    case wrongDTLSRole
    /// No `a=setup` that says who starts DTLS. RFC 8842 section 5.2.
    case noDTLSRole
    /// It has a BUNDLE group, but its sections have no `a=mid` to be named by. RFC 8843 section 7.
    case noMediaIdentification
}

/// What a viewer (a browser, `share join`, GStreamer, any WHEP player) offers to receive. RFC 9429, RFC 8843.
public struct ViewerOffer: Hashable, Sendable {
    public let credentials: ICECredentials
    /// Of the viewer's certificate: SHA-256, and whatever else it gives.
    public let fingerprints: CertificateFingerprints
    public let setup: DTLSSetup
    public let candidates: CandidateList
    /// More candidates may follow.
    public let isTrickling: Bool
    public let video: OfferedVideo?
    /// In the order of the offer: the system's sound takes the first, the microphone the second.
    public let audio: [OfferedAudio]
    /// The mids of sections that are answered with port 0 in any case.
    public let others: [String]
    /// SHA-256.
    public var fingerprint: Fingerprint { fingerprints.sha256 }
    /// The sections share one transport, and the answer has to say so.
    let isBundled: Bool
    /// One for each m-line, for the answer has to have as many.
    let sections: [Section]

    struct Section: Hashable {
        enum Role: Hashable {
            case video
            /// Index into ``ViewerOffer/audio``.
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

    /// Sections that hold no audio beyond these are refused.
    static let audioSections = 2

    public init(_ text: String) throws(OfferError) {
        let offer: SessionDescription
        do {
            offer = try SessionDescription.parse(text)
        } catch .tooLarge {
            throw .tooLarge
        } catch {
            throw .notSDP
        }
        guard !offer.media.isEmpty else { throw .nothingToReceive }
        let bundle = BundleGroup(of: offer)

        var sections: [Section] = []
        var video: OfferedVideo?
        var audio: [OfferedAudio] = []
        var hasForeignVideo = false
        var lacksMid = false
        var mids: Set<String> = []
        var first: SDPMedia?
        for media in offer.media {
            let mid = media.mid.flatMap { $0.text.isVisibleASCII && $0.utf8.count <= 64 ? $0 : nil }
            var role = Section.Role.refused
            if mid == nil, bundle.exists, media.direction.receives { lacksMid = true }
            let isUnique = mid.map { mids.insert($0).inserted } ?? !bundle.exists
            if isUnique, media.isRTPOverDTLS, media.direction.receives, bundle.isEnabled(media),
                bundle.isTogether(media, first)
            {
                if media.kind == "video" {
                    if let vp8 = media.vp8, video == nil {
                        video = OfferedVideo(
                            mid: mid ?? "0", payloadType: vp8.payloadType, rtxPayloadType: vp8.rtx,
                            feedback: VideoFeedback(attributes: media.attributes, payloadType: vp8.payloadType),
                            extensions: HeaderExtensionMap(
                                attributes: media.attributes + offer.attributes, authorReceives: true))
                        role = .video
                    } else if video == nil {
                        hasForeignVideo = true
                    }
                } else if media.kind == "audio", audio.count < Self.audioSections, let opus = media.opus {
                    role = .audio(audio.count)
                    audio.append(
                        OfferedAudio(
                            mid: mid ?? "0", payloadType: opus, redundantPayloadType: media.redundancy(of: opus),
                            hasTransportFeedback: VideoFeedback(attributes: media.attributes, payloadType: opus)
                                .contains(.transportWide),
                            extensions: HeaderExtensionMap(
                                attributes: media.attributes + offer.attributes, authorReceives: true),
                            prefersStereo: media.formatParameters(opus).contains {
                                $0.name == "stereo" && $0.value == "1"
                            }))
                }
            }
            if role != .refused {
                guard media.attributes.contains("rtcp-mux") else { throw .noRTCPMux }
                first = first ?? media
            }
            sections.append(
                Section(
                    kind: media.kind, transport: media.transport, format: media.formats.first ?? "0",
                    mapping: media.firstMapping, mid: mid, role: role))
        }
        guard video != nil || !hasForeignVideo else { throw .noVP8 }
        guard let first else { throw lacksMid ? .noMediaIdentification : .nothingToReceive }
        guard bundle.exists || sections.count(where: { $0.role != .refused }) == 1 else { throw .noBundle }
        // In a bundle one payload type cannot stand for video and audio.
        if let video {
            for (index, track) in audio.enumerated() {
                guard track.payloadType != video.payloadType, track.payloadType != video.rtxPayloadType else {
                    throw .notSDP
                }
                let isFree =
                    track.redundantPayloadType != video.payloadType
                    && track.redundantPayloadType != video.rtxPayloadType
                audio[index] = OfferedAudio(
                    mid: track.mid, payloadType: track.payloadType,
                    redundantPayloadType: isFree ? track.redundantPayloadType : nil,
                    hasTransportFeedback: track.hasTransportFeedback,
                    extensions: track.extensions.common(with: video.extensions), prefersStereo: track.prefersStereo)
            }
        }

        let transport = SectionTransport(of: first, bundle: bundle, in: offer)
        guard let credentials = transport.credentials else { throw .noCredentials }
        do throws(FingerprintError) {
            fingerprints = try CertificateFingerprints(of: offer)
        } catch {
            throw error == .ambiguous ? .severalCertificates : .noFingerprint
        }
        guard let setup = transport.setup else { throw .noDTLSRole }
        guard setup == .actpass || setup == .active else { throw .wrongDTLSRole }
        self.credentials = credentials
        self.setup = setup
        candidates = transport.candidates
        isTrickling = !transport.endsCandidates
        self.video = video
        self.audio = audio
        self.sections = sections
        isBundled = bundle.exists
        others = sections.compactMap { $0.role == .refused ? $0.mid : nil }
    }
}
