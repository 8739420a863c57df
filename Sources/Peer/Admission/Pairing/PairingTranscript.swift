package import Identifiers
import Identity

/// The side that signs a transcript. The label keeps one side's signature from passing as the other's.
package enum PairingRole: String, Hashable, Sendable, CaseIterable {
    case host
    case service
}

/// The bytes that host and service of a pairing both sign with their certificates' keys (ECDSA P-256 with SHA-256).
///
/// Each side has chosen a nonce, and the fingerprints are fixed before the second nonce is chosen. So a signature is
/// valid for one pairing, of these two certificates, in one role.
package struct PairingTranscript: Hashable, Sendable {
    package static let nonceLength = 32

    package let application: ApplicationInfo
    package let service: ServiceID
    /// SHA-256 of the certificates, 32 bytes each.
    package let serviceFingerprint: [UInt8]
    package let hostFingerprint: [UInt8]
    /// 32 bytes each.
    package let hostNonce: [UInt8]
    package let serviceNonce: [UInt8]
    /// SHA-256 of what the service says of itself, if a relay passes it on and could change it; else nil.
    package let relayedDescription: [UInt8]?

    package init(
        application: ApplicationInfo, service: ServiceID, serviceFingerprint: [UInt8], hostFingerprint: [UInt8],
        hostNonce: [UInt8], serviceNonce: [UInt8], relayedDescription: [UInt8]? = nil
    ) {
        self.relayedDescription = relayedDescription
        self.application = application
        self.service = service
        self.serviceFingerprint = serviceFingerprint
        self.hostFingerprint = hostFingerprint
        self.hostNonce = hostNonce
        self.serviceNonce = serviceNonce
    }

    /// The fields in the order of the wire format, each after its length (two bytes, big-endian). An application
    /// without an icon has no last field. Over a relay that field is empty instead, and others follow.
    /// - Parameter sealedSetup: what the host sends over a relay (``SealedSetup``).
    package func signedBytes(role: PairingRole, sealedSetup: [UInt8]? = nil) -> [UInt8] {
        let label = relayedDescription == nil ? "share v1 pairing" : "share v1 pairing over a relay"
        var fields: [[UInt8]] = [
            Array(label.utf8), Array(role.rawValue.utf8), Array(service.text.utf8), Array(application.id.utf8),
            Array(application.name.utf8), serviceFingerprint, hostFingerprint, hostNonce, serviceNonce,
        ]
        if let relayedDescription {
            fields += [application.icon?.digest ?? [], relayedDescription]
            if let sealedSetup { fields.append(SealedSetup.digest(of: sealedSetup)) }
        } else if let icon = application.icon {
            fields.append(icon.digest)
        }
        // The types of the fields limit each to less than 600 bytes.
        return fields.flatMap { field in
            let count = UInt16(clamping: field.count)
            return [UInt8(count >> 8), UInt8(truncatingIfNeeded: count)] + field
        }
    }

    package func fingerprint(of role: PairingRole) -> [UInt8] {
        switch role {
        case .host: hostFingerprint
        case .service: serviceFingerprint
        }
    }

    /// Returns whether `role` made `signature` (64 bytes, r | s).
    /// - Parameter certificate: DER; the transcript has its fingerprint.
    package func isSigned(
        _ signature: [UInt8], by role: PairingRole, certificate: [UInt8], sealedSetup: [UInt8]? = nil
    ) -> Bool {
        CertificateSignature.isValid(
            signature, over: signedBytes(role: role, sealedSetup: sealedSetup), certificate: certificate,
            fingerprint: fingerprint(of: role))
    }
}
