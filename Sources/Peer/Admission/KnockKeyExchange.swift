internal import Cryptography
import Identifiers
package import Identity

/// An ephemeral key of P-256, new for each knock.
package struct EphemeralKey: Sendable {
    private let privateKey = P256PrivateKey()

    package init() {}

    /// The raw uncompressed point, 65 bytes.
    package var publicKey: [UInt8] { privateKey.publicKey.point }

    /// The x coordinate of the shared point, 32 bytes; nil if `other` is no point of the curve.
    fileprivate func agreement(with other: [UInt8]) -> [UInt8]? {
        P256PublicKey(point: other).map(privateKey.agreement)
    }
}

/// What the host answers to a knock of version 2. It signs
///
///     "share v2 knock host" | ID (13 characters) | H (32 bytes) | V (32) | commitment (32) | host's key (65) |
///     nonce (16) | run (16) | sealed (1)
///
/// The viewer has committed itself to its key before, so neither side, and no server in between, can search for keys
/// that give the same words as others.
package struct KnockOffer: Equatable, Sendable {
    package static let commitmentLength = 32
    package static let runLength = 16

    /// SHA-256 of the viewer's key and nonce.
    package let commitment: [UInt8]
    /// The raw uncompressed point of the host's ephemeral key, 65 bytes.
    package let hostKey: [UInt8]
    /// 16 random bytes of one run of the host.
    package let run: [UInt8]
    /// What the host publishes to a relay is encrypted for its viewers.
    package let isSealed: Bool

    package init(commitment: [UInt8], hostKey: [UInt8], run: [UInt8], isSealed: Bool) {
        (self.commitment, self.hostKey, self.run, self.isSealed) = (commitment, hostKey, run, isSealed)
    }

    fileprivate func fields(_ challenge: KnockChallenge) -> [UInt8] {
        Array(challenge.id.text.utf8) + challenge.host + challenge.identity.fingerprint + commitment + hostKey
            + challenge.nonce + run + [isSealed ? 1 : 0]
    }

    package func signedBytes(_ challenge: KnockChallenge) -> [UInt8] {
        Array("share v2 knock host".utf8) + fields(challenge)
    }
}

/// What the viewer reveals with its signature.
package struct KnockReveal: Equatable, Sendable {
    package static let nonceLength = 16

    /// The raw uncompressed point of the viewer's ephemeral key, 65 bytes.
    package let key: [UInt8]
    package let nonce: [UInt8]

    package init(key: [UInt8], nonce: [UInt8]) { (self.key, self.nonce) = (key, nonce) }

    package var commitment: [UInt8] { SHA256Hash(of: key + nonce).bytes }
}

/// All that both sides have said in a knock of version 2, as SHA-256 of
///
///     "share v2 knock" | the fields that the host has signed | viewer's key (65 bytes) | viewer's nonce (16)
///
/// The viewer signs "share v2 knock viewer" and that hash.
package struct KnockTranscript: Equatable, Sendable {
    package let hash: [UInt8]

    package init(_ challenge: KnockChallenge, _ offer: KnockOffer, _ reveal: KnockReveal) {
        let fields = offer.fields(challenge)
        hash = SHA256Hash(of: Array("share v2 knock".utf8) + fields + reveal.key + reveal.nonce).bytes
    }

    package var signedBytes: [UInt8] { Array("share v2 knock viewer".utf8) + hash }

    package var words: ShortAuthenticationString { ShortAuthenticationString(transcript: hash) }
}

/// Encrypts what the host hands to one admitted viewer, such as the keys of a broadcast: AES-128-GCM under
///
///     HKDF-SHA256(ECDH of both ephemeral keys, salt: the link's secret, info: "share v2 keys" | transcript)
///
/// as `nonce (12 random bytes) | ciphertext | tag (16)`.
package struct KeyWrap: Sendable {
    private let key: AESGCM
    /// Of what both say to each other.
    package let messages: MessageKeys

    /// Nil if `other` is no point of the curve.
    package init?(_ own: EphemeralKey, with other: [UInt8], secret: [UInt8], _ transcript: KnockTranscript) {
        guard let agreement = own.agreement(with: other) else { return nil }
        func key(_ label: String) -> [UInt8] {
            HKDF.derive(agreement, salt: secret, info: Array(label.utf8) + transcript.hash, count: 16)
        }
        self.key = AESGCM(key: key("share v2 keys"))
        messages = MessageKeys(toHost: key("share v2 messages to host"), toViewer: key("share v2 messages to viewer"))
    }

    package func seal(_ bytes: [UInt8]) -> [UInt8] { key.sealWithNonce(bytes) }

    /// Encrypts into base64url.
    package func text(_ bytes: [UInt8]) -> String { Base64URL.encode(seal(bytes)) }

    /// Nil if the other side has not encrypted that, or there is nothing.
    package func open(text: String?) -> [UInt8]? { text.flatMap { Base64URL.decode($0) }.flatMap(open) }

    /// Nil if the other side has not encrypted that.
    package func open(_ bytes: [UInt8]) -> [UInt8]? { key.openWithNonce(bytes) }
}

/// The keys of what one viewer and its host say to each other, 16 bytes each: as that of a `KeyWrap`, with the infos
/// "share v2 messages to host" and "share v2 messages to viewer".
package struct MessageKeys: Sendable {
    package let toHost: [UInt8]
    package let toViewer: [UInt8]
}

extension MessageKeys: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension KeyWrap: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension EphemeralKey: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: ["publicKey": publicKey]) }
}
