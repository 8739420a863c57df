internal import Cryptography
package import Identifiers
package import Identity

/// The challenge that a viewer signs to prove that it owns the identity in its knock (ECDSA P-256 with SHA-256). The
/// signed bytes are
///
///     "share v1 knock" | ID (13 characters) | H (32 bytes) | V (32) | nonce (16)
///
/// H and V are the fingerprints of the host and the viewer. The host chooses the nonce after V is fixed, so a signature
/// is valid for one knock at one host. With an offer, the knock is of version 2, and ``KnockTranscript`` is signed.
package struct KnockChallenge: Sendable {
    package static let nonceLength = 16

    package let id: BroadcastID
    package let host: [UInt8]
    package let identity: ViewerIdentity
    package let nonce: [UInt8]
    /// What the host has offered in version 2; nil: the knock is of version 1.
    package var offer: KnockOffer?
    /// What the viewer has revealed in version 2; nil until it has signed.
    package var reveal: KnockReveal?

    package init(id: BroadcastID, host: [UInt8], identity: ViewerIdentity, nonce: [UInt8]) {
        self.id = id
        self.host = host
        self.identity = identity
        self.nonce = nonce
    }

    package var signedBytes: [UInt8] {
        transcript?.signedBytes
            ?? Array("share v1 knock".utf8) + Array(id.text.utf8) + host + identity.fingerprint + nonce
    }

    /// The words that both host and viewer show.
    package var words: ShortAuthenticationString {
        transcript?.words ?? ShortAuthenticationString(viewer: identity.fingerprint, host: host, nonce: nonce)
    }

    /// Nil if the knock is of version 1, or not signed yet.
    package var transcript: KnockTranscript? {
        guard let offer, let reveal else { return nil }
        return KnockTranscript(self, offer, reveal)
    }

    /// Takes what the viewer reveals.
    /// - Returns: false unless it is what the viewer has committed itself to, and is there in version 2 alone.
    package mutating func take(_ reveal: KnockReveal?) -> Bool {
        self.reveal = reveal
        guard let offer else { return reveal == nil }
        return reveal.map { Self.isKey($0.key) && $0.commitment == offer.commitment } ?? false
    }

    /// Returns whether this knock's identity made `signature`.
    /// - Parameter certificate: DER, with the fingerprint V; nil for a browser, which sends none.
    package func isSigned(_ signature: [UInt8], certificate: [UInt8]?) -> Bool {
        key(certificate)?.isValid(signature, over: signedBytes) ?? false
    }

    private func key(_ certificate: [UInt8]?) -> P256PublicKey? {
        if let key = identity.key { return P256PublicKey(point: key) }
        return certificate.flatMap { CertificateSignature.key(of: $0, fingerprint: identity.fingerprint) }
    }

    /// Returns whether `bytes` are an uncompressed point of P-256.
    package static func isKey(_ bytes: [UInt8]) -> Bool { P256PublicKey(point: bytes) != nil }
}
