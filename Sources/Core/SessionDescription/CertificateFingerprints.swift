/// Why the fingerprints of a description do not name exactly one certificate.
public enum FingerprintError: Error, Hashable, Sendable {
    /// There is no SHA-256 fingerprint, or a malformed fingerprint.
    case missing
    /// Two fingerprints of the same hash function differ.
    case ambiguous
}

/// The one certificate that a description names in all of its `a=fingerprint` lines, at session and media level.
/// RFC 8122 section 5.
///
/// SHA-256 is required, as tokens and links are bound to it. Other hashes of the SHA family may accompany it and have
/// to match as well. A second value of the same hash function is refused, in any section. RFC 8122 allows several
/// certificates; this project does not.
public struct CertificateFingerprints: Hashable, Sendable {
    public let sha256: Fingerprint
    /// SHA-1, SHA-224, SHA-384 and SHA-512 of the same certificate, one each at most, in the order of the description.
    public let others: [Fingerprint]

    /// Returns the SHA-256 of the one certificate that a description names, 32 bytes; nil if there is none or several,
    /// or the text is not SDP.
    public static func sha256(in description: String) -> [UInt8]? {
        guard let description = try? SessionDescription.parse(description) else { return nil }
        return (try? CertificateFingerprints(of: description))?.sha256.bytes
    }

    /// Lines of unknown hash functions are skipped (RFC 8122 section 5). The attribute's name is matched in either
    /// case, so that no other parser sees a fingerprint that this one has missed.
    public init(of description: SessionDescription) throws(FingerprintError) {
        var found: [Fingerprint] = []
        for attributes in [description.attributes] + description.media.map(\.attributes) {
            for attribute in attributes where attribute.name.text.equalsIgnoringCase("fingerprint") {
                guard let text = attribute.value else { throw .missing }
                guard Fingerprint.isKnownFunction(in: text) else { continue }
                guard let fingerprint = Fingerprint(text) else { throw .missing }
                if let same = found.first(where: { $0.algorithm == fingerprint.algorithm }) {
                    guard same == fingerprint else { throw .ambiguous }
                } else {
                    found.append(fingerprint)
                }
            }
        }
        guard let sha256 = found.first(where: { $0.algorithm == "sha-256" }) else { throw .missing }
        self.sha256 = sha256
        others = found.filter { $0 != sha256 }
    }
}
