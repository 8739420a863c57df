package import Identifiers
package import Identity

/// A host's order to one of its viewers to watch at another server, where the host publishes the same broadcast. The
/// host signs with the key of its certificate (ECDSA P-256 with SHA-256)
///
///     "share v1 redirect" | ID (13 characters) | H (32 bytes) | V (32) | nonce (16) | age (decimal digits) | " " |
///     link
///
/// H and V are the fingerprints of the host and the viewer, ID is the broadcast that the viewer knows, the nonce is
/// that of the viewer's knock (``KnockOrigin``), and the age is the milliseconds between that knock and the order. A
/// server between host and viewer can neither make such an order, nor give it to another viewer, nor keep it for later.
public struct SignedRedirect: Codable, Sendable, Equatable {
    /// The link at the other server.
    public var link: String
    /// Milliseconds between the viewer's knock and this order, by the host's clock.
    public var age: Int
    /// The host's certificate: base64url of DER.
    public var certificate: String
    /// base64url of 64 bytes, r | s.
    public var signature: String
    /// base64url of what a ``KeyWrap`` has encrypted for the viewer: the keys of the broadcast's frames as of now. It
    /// is not signed, as the viewer reads what its host has encrypted alone.
    package var keys: String?
    /// The host itself sends to no viewer. It is not signed: a server in between that changes it can keep the viewer
    /// out without that, too.
    package var only: Bool?

    /// The most characters that a link may have.
    private static let lengthLimit = 512
    /// The lifetime of an order, in milliseconds.
    static let lifetime = 30_000
    /// Both clocks may differ by a thousandth of the time since the knock.
    private static let driftDivisor = 1_000

    /// - Parameters:
    ///   - broadcast: the one that the viewer knows.
    ///   - viewer: the fingerprint of the viewer's certificate.
    ///   - knock: the viewer's, as the host has received it.
    package init(
        to link: Link, of broadcast: BroadcastID, viewer: [UInt8], knock: KnockOrigin,
        now: ContinuousClock.Instant, signedBy host: Identity
    ) {
        self.link = link.text
        age = knock.age(at: now)
        certificate = Base64URL.encode(host.certificateDER)
        signature = Base64URL.encode(
            host.signature(
                over: Self.signedBytes(
                    link.text, broadcast, host: host.fingerprint, viewer: viewer, nonce: knock.nonce, age)))
    }

    /// Returns where the viewer is to watch; nil if the host of `known` has not signed that for this viewer a short
    /// while ago.
    /// - Parameters:
    ///   - known: the link that the viewer has.
    ///   - viewer: the fingerprint of the viewer's certificate.
    ///   - knock: the viewer's last one, as it has sent it.
    ///   - last: the age of the last order that it has followed since; nil: none.
    package func destination(
        from known: Link, viewer: [UInt8], knock: KnockOrigin, after last: Int? = nil,
        now: ContinuousClock.Instant
    ) -> Link? {
        isCurrent(knock, after: last, now) ? signedLink(from: known, viewer: viewer, nonce: knock.nonce) : nil
    }

    /// Returns where the order sends a viewer, however old it is; nil if the host of `known` has not signed it for that
    /// viewer.
    /// - Parameter nonce: of the viewer's knock.
    package func signedLink(from known: Link, viewer: [UInt8], nonce: [UInt8]) -> Link? {
        guard link.utf8.count <= Self.lengthLimit, let certificate = Base64URL.decode(certificate),
            let signature = Base64URL.decode(signature),
            CertificateSignature.isValid(
                signature,
                over: Self.signedBytes(link, known.id, host: known.fingerprint, viewer: viewer, nonce: nonce, age),
                certificate: certificate, fingerprint: known.fingerprint)
        else { return nil }
        return try? Link(parsing: link)
    }

    private func isCurrent(_ knock: KnockOrigin, after last: Int?, _ now: ContinuousClock.Instant) -> Bool {
        let elapsed = knock.age(at: now)
        guard age >= 0, last.map({ age > $0 }) ?? true else { return false }
        return elapsed &- age <= Self.lifetime + elapsed / Self.driftDivisor
    }

    private static func signedBytes(
        _ link: String, _ id: BroadcastID, host: [UInt8], viewer: [UInt8], nonce: [UInt8], _ age: Int
    ) -> [UInt8] {
        var bytes = Array("share v1 redirect".utf8)
        bytes += Array(id.text.utf8) + host + viewer + nonce
        return bytes + Array("\(age) \(link)".utf8)
    }
}
