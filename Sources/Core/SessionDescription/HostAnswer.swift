public import MediaCore
public import RTPWire

/// The video section of a host's answer.
public struct AnsweredVideo: Hashable, Sendable {
    public let mid: String
    /// Of VP8.
    public let payloadType: UInt8
    public let rtxPayloadType: UInt8?
    /// Nil if the host did not announce it: take the first that arrives with the payload type.
    public let ssrc: UInt32?
    public let rtxSSRC: UInt32?
    public let feedback: VideoFeedback
    public let extensions: HeaderExtensionMap
}

/// One audio section of a host's answer.
public struct AnsweredAudio: Hashable, Sendable {
    public let mid: String
    /// Of Opus.
    public let payloadType: UInt8
    /// Of packets that carry older ones again (RFC 2198); nil if that was not agreed.
    public let redundantPayloadType: UInt8?
    public let ssrc: UInt32?
    /// By the track's id; nil if it is none of ours.
    public let kind: MediaTrackKind?
    public let extensions: HeaderExtensionMap
}

/// Why an answer cannot be used.
public enum AnswerError: Error, Hashable, Sendable {
    case notSDP
    case tooLarge
    /// Every section was refused, or none holds VP8 or Opus that is sent to us.
    case nothingSent
    case noCredentials
    /// No SHA-256 fingerprint, or one that cannot be read.
    case noFingerprint
    /// Fingerprints of two certificates.
    case severalCertificates
    /// Neither `active` nor `passive`.
    case noDTLSRole
}

/// A host's answer, as the viewer reads it. RFC 9429.
public struct HostAnswer: Hashable, Sendable {
    public let credentials: ICECredentials
    /// Of the host's certificate. The viewer compares SHA-256 with the link's before anything else.
    public let fingerprints: CertificateFingerprints
    /// The host's role: `passive` is the DTLS server, `active` the client.
    public let setup: DTLSSetup
    public let candidates: CandidateList
    public let endsCandidates: Bool
    /// What the broadcast is called; from the other side, for nothing but showing.
    public let name: String?
    public let video: AnsweredVideo?
    public let audio: [AnsweredAudio]

    /// SHA-256.
    public var fingerprint: Fingerprint { fingerprints.sha256 }

    public init(_ text: String) throws(AnswerError) {
        let answer: SessionDescription
        do {
            answer = try SessionDescription.parse(text)
        } catch .tooLarge {
            throw .tooLarge
        } catch {
            throw .notSDP
        }
        let bundle = BundleGroup(of: answer)
        var video: AnsweredVideo?
        var audio: [AnsweredAudio] = []
        var first: SDPMedia?
        for media in answer.media where media.port != 0 && media.isRTPOverDTLS && media.direction.sends {
            guard bundle.isTogether(media, first) else { continue }
            let extensions = HeaderExtensionMap(attributes: media.attributes + answer.attributes, authorReceives: false)
            let sources = media.sources
            if media.kind == "video", video == nil, let vp8 = media.vp8 {
                video = AnsweredVideo(
                    mid: media.mid ?? "0", payloadType: vp8.payloadType, rtxPayloadType: vp8.rtx, ssrc: sources.primary,
                    rtxSSRC: sources.retransmission,
                    feedback: VideoFeedback(attributes: media.attributes, payloadType: vp8.payloadType),
                    extensions: extensions)
            } else if media.kind == "audio", audio.count < ViewerOffer.audioSections, let opus = media.opus {
                audio.append(
                    AnsweredAudio(
                        mid: media.mid ?? "0", payloadType: opus, redundantPayloadType: media.redundancy(of: opus),
                        ssrc: sources.primary, kind: media.trackKind, extensions: extensions))
            } else {
                continue
            }
            first = first ?? media
        }
        guard let first else { throw .nothingSent }
        let transport = SectionTransport(of: first, bundle: bundle, in: answer)
        guard let credentials = transport.credentials else { throw .noCredentials }
        do throws(FingerprintError) {
            fingerprints = try CertificateFingerprints(of: answer)
        } catch {
            throw error == .ambiguous ? .severalCertificates : .noFingerprint
        }
        guard let setup = transport.setup, setup == .active || setup == .passive else { throw .noDTLSRole }
        self.credentials = credentials
        self.setup = setup
        candidates = transport.candidates
        endsCandidates = transport.endsCandidates
        name = answer.name
        self.video = video
        self.audio = audio
    }
}

extension SDPMedia {
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
