/// Why an answer cannot be used.
public enum AnswerError: Error, Hashable, Sendable {
    case notSDP
    case tooLarge
    /// Every section was refused, or none has a common codec and direction.
    case nothingAccepted
    case noCredentials
    /// There is no SHA-256 fingerprint, or a malformed one.
    case noFingerprint
    /// There are fingerprints of two certificates.
    case severalCertificates
    /// The role is neither `active` nor `passive`.
    case noDTLSRole
}

extension AnswerError: RemoteDescriptionError {}

/// Another peer's answer, parsed by the offerer: a host's sendonly one in WHEP, an endpoint's recvonly one in WHIP (RFC
/// 9725). RFC 9429 section 5.8.
public struct Answer: RemoteDescription, Hashable {
    public let transport: TransportDescription
    /// The broadcast's name; untrusted, for display only.
    public let name: String?
    public let video: [VideoSection]
    public let audio: [AudioSection]

    /// Parses the answer to an offer with these capabilities.
    public init(_ text: String, to capabilities: MediaCapabilities) throws(AnswerError) {
        let answer = try SessionDescription.parse(text, failure: AnswerError.self)
        let bundle = BundleGroup(of: answer)
        var video: [VideoSection] = []
        var audio: [AudioSection] = []
        var first: MediaDescription?
        for media in answer.media where media.port != 0 && media.isRTPOverDTLS {
            guard media.direction.answered(by: capabilities.direction) != .inactive, bundle.isTogether(media, first)
            else { continue }
            if media.kind == "video", video.count < capabilities.videoSections,
                let section = VideoSection(media, in: answer, capabilities)
            {
                video.append(section)
            } else if media.kind == "audio", audio.count < capabilities.audioSections,
                let section = AudioSection(media, in: answer, capabilities)
            {
                audio.append(section)
            } else {
                continue
            }
            first = first ?? media
        }
        guard let first else { throw .nothingAccepted }
        do throws(TransportError) {
            transport = try TransportDescription(of: first, bundle: bundle, in: answer)
        } catch {
            throw AnswerError(error)
        }
        guard transport.setup == .active || transport.setup == .passive else { throw .noDTLSRole }
        name = answer.name
        self.video = video
        self.audio = audio
    }
}
