import Identifiers
package import Identity
import SessionDescription

/// The body of POST /services/ID/pair.
package struct PairingRequestDocument: Codable, Sendable {
    /// The largest document, in bytes; the icon is a third longer in base64.
    package static let sizeLimit = 8_192 + PNGIcon.sizeLimit * 3 / 2

    package var application: ApplicationInfo
    /// SHA-256 of the host's certificate, in a form that ``Fingerprint/init(sha256Text:)`` reads.
    package var fingerprint: String
    /// base64url of the host's certificate (DER).
    package var certificate: String
    /// base64url of 32 bytes.
    package var nonce: String

    package init(application: ApplicationInfo, identity: Identity, nonce: [UInt8]) {
        self.application = application
        fingerprint = Fingerprint.colons(identity.fingerprint)
        certificate = Base64URL.encode(identity.certificateDER)
        self.nonce = Base64URL.encode(nonce)
    }

    /// The fingerprint's 32 bytes; nil if it cannot be read.
    package var fingerprintBytes: [UInt8]? { Fingerprint(sha256Text: fingerprint)?.bytes }
    package var certificateBytes: [UInt8]? { Base64URL.decode(certificate) }
    package var nonceBytes: [UInt8]? { Base64URL.nonce(nonce) }
}

/// The response to a request to pair.
package struct PairingOfferDocument: Codable, Sendable {
    /// The largest document, in bytes.
    package static let sizeLimit = ServiceDescription.documentLimit + 4_096

    /// base64url of 32 bytes.
    package var nonce: String
    /// base64url of 64 bytes, r | s.
    package var signature: String
    package var service: ServiceDescription
    /// base64url of the service's certificate (DER), if TLS has another one: that of a name, or a relay's.
    package var certificate: String?

    package init(_ offer: PairingOffer, certificate: [UInt8]? = nil) {
        self.certificate = certificate.map { Base64URL.encode($0) }
        nonce = Base64URL.encode(offer.nonce)
        signature = Base64URL.encode(offer.signature)
        service = offer.service
    }

    /// Nil if the nonce or the signature is not one.
    package var offer: PairingOffer? {
        guard let nonce = Base64URL.nonce(nonce), let signature = Base64URL.signature(signature) else { return nil }
        return PairingOffer(nonce: nonce, signature: signature, service: service)
    }
}

/// The body of PUT /services/ID/pair/P: the host's user has accepted.
package struct PairingAcceptanceDocument: Codable, Sendable {
    /// The largest document, in bytes: each byte of a value may be escaped with six.
    package static let sizeLimit = 65_536

    package var setup: [String: String]?
    /// base64url of ``SealedSetup``, in the place of `setup` over a relay.
    package var sealed: String?
    /// base64url of 64 bytes, r | s.
    package var signature: String
    /// base64url of ``LinkSecretProof``, if the service's link has a secret.
    package var proof: String?

    package init(setup: [String: String], signature: [UInt8], proof: [UInt8]? = nil) {
        self.setup = setup
        self.signature = Base64URL.encode(signature)
        self.proof = proof.map { Base64URL.encode($0) }
    }

    package init(sealed: [UInt8], signature: [UInt8], proof: [UInt8]? = nil) {
        self.sealed = Base64URL.encode(sealed)
        self.signature = Base64URL.encode(signature)
        self.proof = proof.map { Base64URL.encode($0) }
    }

    /// Nil without a proof; empty if it is none.
    package var proofBytes: [UInt8]? { proof.map { Base64URL.decode($0) ?? [] } }

    package var sealedBytes: [UInt8]? { sealed.flatMap { Base64URL.decode($0) } }

    /// Nil if the signature is not one.
    package var signatureBytes: [UInt8]? { Base64URL.signature(signature) }
}

/// The response to a poll of a granted pairing.
package struct PairingGrantDocument<ICEServer: Codable & Sendable>: Codable, Sendable {
    package var token: String
    /// In seconds.
    package var lease: Int
    package var broadcastURL: String?
    package var iceServers: [ICEServer]

    package init(_ grant: PairingGrant, iceServers: [ICEServer]) {
        token = grant.token
        lease = Int(grant.lease.components.seconds)
        broadcastURL = grant.broadcastURL
        self.iceServers = iceServers
    }

    /// Nil if the token cannot be one, or if the URL is none for browsers. The lease is limited to 1...60 s.
    package var grant: PairingGrant? {
        guard PairingGrant.tokenLength.contains(token.utf8.count),
            token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            broadcastURL.map({ PairingGrant.isBroadcastURL($0) }) ?? true
        else { return nil }
        let lease = min(max(.seconds(1), .seconds(lease)), PairingGrant.leaseLimit)
        return PairingGrant(token: token, lease: lease, broadcastURL: broadcastURL)
    }

    private enum CodingKeys: CodingKey { case token, lease, broadcastURL, iceServers }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(token, forKey: .token)
        try values.encode(lease, forKey: .lease)
        // Written as null, too.
        try values.encode(broadcastURL, forKey: .broadcastURL)
        try values.encode(iceServers, forKey: .iceServers)
    }
}

extension Base64URL {
    fileprivate static func nonce(_ text: String) -> [UInt8]? {
        decode(text).flatMap { $0.count == PairingTranscript.nonceLength ? $0 : nil }
    }

    fileprivate static func signature(_ text: String) -> [UInt8]? {
        decode(text).flatMap { $0.count == CertificateSignature.length ? $0 : nil }
    }
}
