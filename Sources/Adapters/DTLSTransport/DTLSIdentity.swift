import COpenSSL
import MediaCore

/// The certificate of one side with its key, and the settings of its sessions, which share them. Confined to one
/// thread.
public final class DTLSIdentity {
    let context: OpaquePointer

    /// - Parameters:
    ///   - privateKeyDER: PKCS #8 or SEC 1.
    /// - Throws: `.identity` if the certificate or key cannot be used, `.library` if OpenSSL refuses.
    public init(certificateDER: [UInt8], privateKeyDER: [UInt8]) throws(DTLSFailure) {
        guard let context = SSL_CTX_new(DTLS_method()) else { throw .library(DTLSSession.reason()) }
        // From here on, `deinit` frees it, also if this throws.
        self.context = context
        try Self.configure(context, certificateDER, privateKeyDER)
    }

    deinit { SSL_CTX_free(context) }

    private static func configure(
        _ context: OpaquePointer, _ certificate: [UInt8], _ key: [UInt8]
    ) throws(DTLSFailure) {
        ERR_clear_error()
        // RFC 8827 section 6.5 requires the first suite; the others are for RSA keys and for peers without AES
        // hardware.
        let ciphers = ["AES128-GCM-SHA256", "CHACHA20-POLY1305", "AES256-GCM-SHA384"]
            .map { "ECDHE-ECDSA-\($0):ECDHE-RSA-\($0)" }.joined(separator: ":")
        let profiles = [SRTPProfile.aes128GCM, .aes256GCM, .aes128CMSHA1].map(\.rawValue).joined(separator: ":")
        guard cssl_require_dtls12(context) == 1, SSL_CTX_set_cipher_list(context, ciphers) == 1,
            cssl_set_groups(context, "X25519:P-256:P-384") == 1,
            // Unlike its neighbours this function returns 0 for success.
            SSL_CTX_set_tlsext_use_srtp(context, profiles) == 0
        else { throw .library(DTLSSession.reason()) }
        cssl_configure(context)
        cssl_require_certificate(context)
        guard SSL_CTX_use_certificate_ASN1(context, Int32(clamping: certificate.count), certificate) == 1 else {
            throw .identity(DTLSSession.reason())
        }
        let parsed = key.withUnsafeBufferPointer { key in
            var position = key.baseAddress
            return d2i_AutoPrivateKey(nil, &position, key.count)
        }
        guard let parsed else { throw .identity(DTLSSession.reason()) }
        defer { EVP_PKEY_free(parsed) }
        guard SSL_CTX_use_PrivateKey(context, parsed) == 1, SSL_CTX_check_private_key(context) == 1 else {
            throw .identity(DTLSSession.reason())
        }
    }
}

extension DTLSSession {
    static func reason() -> String {
        let code = ERR_peek_last_error()
        guard code != 0, let text = ERR_reason_error_string(code) else { return "no reason given" }
        return String(cString: text)
    }
}
