internal import Crypto
import FoundationEssentials
import SwiftASN1
import X509

/// The challenge that a viewer signs to prove that it owns the identity in its knock (ECDSA P-256 with SHA-256). The
/// signed bytes are
///
///     "share v1 knock" | ID (13 characters) | H (32 bytes) | V (32) | nonce (16)
///
/// H and V are the fingerprints of the host and the viewer. The host chooses the nonce after V is fixed, so a signature
/// is valid for one knock at one host.
package struct KnockChallenge: Sendable {
    package static let nonceLength = 16
    static let signatureLength = 64
    /// The largest certificate that is accepted, in bytes of DER. Certificates of `Identity` have about 400.
    static let certificateLimit = 2_048

    package let id: BroadcastID
    package let host: [UInt8]
    package let identity: ViewerIdentity
    package let nonce: [UInt8]

    package init(id: BroadcastID, host: [UInt8], identity: ViewerIdentity, nonce: [UInt8]) {
        self.id = id
        self.host = host
        self.identity = identity
        self.nonce = nonce
    }

    package var signedBytes: [UInt8] {
        Array("share v1 knock".utf8) + Array(id.text.utf8) + host + identity.fingerprint + nonce
    }

    /// The words that both host and viewer show.
    package var words: ShortAuthenticationString {
        ShortAuthenticationString(viewer: identity.fingerprint, host: host, nonce: nonce)
    }

    /// Returns whether this knock's identity made `signature`.
    /// - Parameter certificate: DER, with the fingerprint V; nil for a browser, which sends none.
    func isSigned(_ signature: [UInt8], certificate: [UInt8]?) -> Bool {
        guard signature.count == Self.signatureLength, let key = key(certificate),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
        else { return false }
        return key.isValidSignature(signature, for: Data(signedBytes))
    }

    private func key(_ certificate: [UInt8]?) -> P256.Signing.PublicKey? {
        if let key = identity.key { return Self.publicKey(key) }
        // The hash is compared first, so that no other certificate is parsed.
        guard let certificate, certificate.count <= Self.certificateLimit,
            Array(SHA256.hash(data: certificate)) == identity.fingerprint,
            let parsed = try? Certificate(derEncoded: certificate)
        else { return nil }
        return P256.Signing.PublicKey(parsed.publicKey)
    }

    /// Returns whether `bytes` are an uncompressed point of P-256.
    package static func isKey(_ bytes: [UInt8]) -> Bool { publicKey(bytes) != nil }

    private static func publicKey(_ bytes: [UInt8]) -> P256.Signing.PublicKey? {
        guard bytes.count == 65 else { return nil }
        return try? P256.Signing.PublicKey(x963Representation: bytes)
    }
}

extension Identity {
    /// Signs with the certificate's key: ECDSA P-256 with SHA-256. Returns 64 bytes, r | s (IEEE P1363).
    package func signature(over bytes: [UInt8]) throws(IdentityError) -> [UInt8] {
        do {
            let key = try P256.Signing.PrivateKey(derRepresentation: privateKeyDER)
            return [UInt8](try key.signature(for: Data(bytes)).rawRepresentation)
        } catch {
            throw IdentityError(.creation, "the identity's key does not sign: \(error)")
        }
    }
}
