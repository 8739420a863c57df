internal import Cryptography

/// Computes and checks a host's proof that it has the secret of a service's link. It is bound to one pairing: the
/// certificates and nonces of both sides and, over a relay, the sealed setup. So nobody in between can use it.
///
///     HMAC-SHA256(HKDF-SHA256(secret, info "share v1 publisher"), what the host signs)
///
/// HKDF (RFC 5869) has an empty salt and 32 bytes of output.
package struct LinkSecretProof: Sendable {
    package static let length = 32

    private let key: HMACKey

    package init(secret: [UInt8]) {
        key = HMACKey(HKDF.derive(secret, info: Array("share v1 publisher".utf8), count: Self.length))
    }

    /// - Parameter sealedSetup: what the host sends over a relay (``SealedSetup``).
    /// - Returns: 32 bytes.
    package func proof(of transcript: PairingTranscript, sealedSetup: [UInt8]? = nil) -> [UInt8] {
        key.code(for: transcript.signedBytes(role: .host, sealedSetup: sealedSetup))
    }

    /// Compares in constant time.
    package func isValid(_ proof: [UInt8], of transcript: PairingTranscript, sealedSetup: [UInt8]? = nil) -> Bool {
        key.isValid(proof, for: transcript.signedBytes(role: .host, sealedSetup: sealedSetup))
    }
}

extension LinkSecretProof: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
