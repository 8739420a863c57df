/// The sections that share one transport. RFC 9143.
struct BundleGroup {
    /// The mids of each group of the offer or answer.
    private let groups: [[Substring]]

    init(of description: SessionDescription) {
        groups = description.attributes.values(of: "group").compactMap { line in
            let fields = line.text.fields(limit: SDPLimits.mediaSections + 1)
            return fields.first == "BUNDLE" ? Array(fields.dropFirst()) : nil
        }
    }

    var exists: Bool { !groups.isEmpty }

    private func group(of media: MediaDescription) -> [Substring]? {
        guard let mid = media.mid else { return nil }
        return groups.first { $0.contains(mid.text) }
    }

    /// Whether a section is enabled. Port 0 disables a section, unless it uses another section's transport.
    func isEnabled(_ media: MediaDescription) -> Bool {
        media.port != 0 || (media.attributes.contains("bundle-only") && group(of: media) != nil)
    }

    /// Whether a section can share the transport of the first accepted one: it is that section, or both are in one
    /// group, or there is no group.
    func isTogether(_ media: MediaDescription, _ first: MediaDescription?) -> Bool {
        guard let first, exists else { return true }
        guard let group = group(of: first) else { return false }
        return group == self.group(of: media)
    }

    /// Returns the section whose transport attributes apply to the group: its first mid.
    func tagged(for media: MediaDescription, in description: SessionDescription) -> MediaDescription {
        guard let tag = group(of: media)?.first else { return media }
        return description.media.first { $0.mid?.text == tag } ?? media
    }
}

/// Why the transport of a description cannot be used.
enum TransportError: Error {
    case noCredentials, noFingerprint, severalCertificates, noDTLSRole
}

/// The ICE and DTLS parameters of another peer, one transport for all sections: RFC 8839, RFC 8842, RFC 9143.
public struct TransportDescription: Hashable, Sendable {
    public let credentials: ICECredentials
    /// The fingerprints of the author's certificate.
    public let fingerprints: CertificateFingerprints
    /// `passive` is the DTLS server, `active` the client.
    public let setup: DTLSSetup
    public let candidates: CandidateList
    public let endsCandidates: Bool
    /// Whether the author makes no checks of its own, and is therefore always controlled. RFC 8445 section 2.5, RFC
    /// 8839 section 5.3.
    public let isLite: Bool

    /// Each attribute is taken from the section, else from the bundle, else from the session level.
    init(
        of media: MediaDescription, bundle: BundleGroup, in description: SessionDescription
    ) throws(TransportError) {
        let tagged = bundle.tagged(for: media, in: description)
        let levels = [tagged.attributes, media.attributes, description.attributes]
        func first<Value>(_ read: ([SDPAttribute]) -> Value?) -> Value? { levels.lazy.compactMap(read).first }
        let credentials = first { level in
            guard let fragment = level.firstValue(of: "ice-ufrag"), let password = level.firstValue(of: "ice-pwd")
            else { return ICECredentials?.none }
            return ICECredentials(usernameFragment: fragment, password: password)
        }
        guard let credentials else { throw .noCredentials }
        do throws(FingerprintError) {
            fingerprints = try CertificateFingerprints(of: description)
        } catch {
            throw error == .ambiguous ? .severalCertificates : .noFingerprint
        }
        guard let setup = first({ $0.firstValue(of: "setup").flatMap { DTLSSetup(rawValue: $0) } }) else {
            throw .noDTLSRole
        }
        self.credentials = credentials
        self.setup = setup
        var list = CandidateList()
        list.add(from: description.attributes)
        // The ports of the group's other sections are unused in a bundle.
        list.add(from: tagged.attributes)
        if tagged.mid != media.mid { list.add(from: media.attributes) }
        candidates = list
        endsCandidates = levels.contains { $0.contains("end-of-candidates") }
        isLite = description.attributes.contains("ice-lite")
    }
}

extension MediaDescription {
    /// Whether this is a transport profile of DTLS-SRTP; some peers still write the older names.
    var isRTPOverDTLS: Bool {
        ["UDP/TLS/RTP/SAVPF", "UDP/TLS/RTP/SAVP", "TCP/TLS/RTP/SAVPF", "RTP/SAVPF", "RTP/SAVP"].contains(transport)
    }
}
