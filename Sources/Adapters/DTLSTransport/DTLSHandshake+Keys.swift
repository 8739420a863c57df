import COpenSSL
import MediaCore

/// The check of the peer's certificate, and the SRTP keys.
extension DTLSHandshake {
    /// Compares the peer's certificate.
    /// - Parameters:
    ///   - expected: its SHA-256; nil accepts every certificate.
    ///   - others: its fingerprints by other hash functions.
    /// - Returns: its SHA-256.
    func checkPeer(expected: [UInt8]?, others: [[UInt8]]) throws(DTLSFailure) -> [UInt8] {
        guard let certificate = SSL_get1_peer_certificate(ssl) else { throw .fingerprintMismatch }
        defer { X509_free(certificate) }
        let fingerprint = try Self.digest(of: certificate, EVP_sha256())
        if let expected, expected != fingerprint { throw .fingerprintMismatch }
        for further in others {
            guard let function = Self.hashFunction(ofLength: further.count),
                try Self.digest(of: certificate, function) == further
            else { throw .fingerprintMismatch }
        }
        return fingerprint
    }

    private static func hashFunction(ofLength count: Int) -> OpaquePointer? {
        switch count {
        case 20: EVP_sha1()
        case 28: EVP_sha224()
        case 32: EVP_sha256()
        case 48: EVP_sha384()
        case 64: EVP_sha512()
        default: nil
        }
    }

    private static func digest(
        of certificate: OpaquePointer, _ function: OpaquePointer?
    ) throws(DTLSFailure) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        guard X509_digest(certificate, function, &digest, &length) == 1 else { throw .library(DTLSSession.reason()) }
        return Array(digest.prefix(Int(length)))
    }

    /// RFC 5764 section 4.2: client key, server key, client salt, server salt.
    func exportKeys() throws(DTLSFailure) -> SRTPKeys {
        guard let selected = SSL_get_selected_srtp_profile(ssl), let name = selected.pointee.name,
            let profile = SRTPProfile(rawValue: String(cString: name))
        else { throw .noSRTPProfile }
        let (key, salt) = (profile.keyLength, profile.saltLength)
        var material = [UInt8](repeating: 0, count: 2 * (key + salt))
        let label = "EXTRACTOR-dtls_srtp"
        guard
            SSL_export_keying_material(ssl, &material, material.count, label, label.utf8.count, nil, 0, 0) == 1
        else { throw .library(DTLSSession.reason()) }
        let client = Array(material[..<key] + material[(2 * key)..<(2 * key + salt)])
        let server = Array(material[key..<(2 * key)] + material[(2 * key + salt)...])
        return role == .client
            ? SRTPKeys(profile: profile, local: client, remote: server)
            : SRTPKeys(profile: profile, local: server, remote: client)
    }
}
