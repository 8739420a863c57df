/// The sections that share one transport. RFC 8843.
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

    private func group(of media: SDPMedia) -> [Substring]? {
        guard let mid = media.mid else { return nil }
        return groups.first { $0.contains(mid.text) }
    }

    /// Port 0 disables a section, unless it lives in another one's transport.
    func isEnabled(_ media: SDPMedia) -> Bool {
        media.port != 0 || (media.attributes.contains("bundle-only") && group(of: media) != nil)
    }

    /// A section can go with the first accepted one: it is that, or they are in one group, or there is no group to judge by.
    func isTogether(_ media: SDPMedia, _ first: SDPMedia?) -> Bool {
        guard let first, exists else { return true }
        guard let group = group(of: first) else { return false }
        return group == self.group(of: media)
    }

    /// The section whose transport attributes hold for the group: its first mid.
    func tagged(for media: SDPMedia, in description: SessionDescription) -> SDPMedia {
        guard let tag = group(of: media)?.first else { return media }
        return description.media.first { $0.mid?.text == tag } ?? media
    }
}

/// ICE and DTLS attributes that hold for a section: its own, else the bundle's, else the session's. Fingerprints are read by
/// ``CertificateFingerprints``.
struct SectionTransport {
    let credentials: ICECredentials?
    let setup: DTLSSetup?
    let candidates: CandidateList
    let endsCandidates: Bool

    init(of media: SDPMedia, bundle: BundleGroup, in description: SessionDescription) {
        let tagged = bundle.tagged(for: media, in: description)
        let levels = [tagged.attributes, media.attributes, description.attributes]
        func first<Value>(_ read: ([SDPAttribute]) -> Value?) -> Value? { levels.lazy.compactMap(read).first }
        credentials = first { level in
            guard let fragment = level.firstValue(of: "ice-ufrag"), let password = level.firstValue(of: "ice-pwd")
            else { return nil }
            return ICECredentials(usernameFragment: fragment, password: password)
        }
        setup = first { $0.firstValue(of: "setup").flatMap { DTLSSetup(rawValue: $0) } }
        var list = CandidateList()
        list.add(from: description.attributes)
        // The ports of the group's other sections are given up when bundled.
        list.add(from: tagged.attributes)
        if tagged.mid != media.mid { list.add(from: media.attributes) }
        candidates = list
        endsCandidates = levels.contains { $0.contains("end-of-candidates") }
    }
}

extension SDPMedia {
    /// A transport profile that DTLS-SRTP peers use; some still write the older names.
    var isRTPOverDTLS: Bool {
        ["UDP/TLS/RTP/SAVPF", "UDP/TLS/RTP/SAVP", "TCP/TLS/RTP/SAVPF", "RTP/SAVPF", "RTP/SAVP"].contains(transport)
    }
}
