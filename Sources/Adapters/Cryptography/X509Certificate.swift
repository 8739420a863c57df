internal import COpenSSL

/// A certificate (X.509 v3, RFC 5280) with a key on P-256.
public struct X509Certificate: Sendable {
    public let der: [UInt8]
    public let publicKey: P256PublicKey

    /// Nil unless `der` is one certificate and nothing else, with a key on P-256.
    public init?(der: [UInt8]) {
        let key = OpenSSL.call {
            der.withUnsafeBufferPointer { der in
                var position = der.baseAddress
                let certificate = d2i_X509(nil, &position, der.count)
                defer { X509_free(certificate) }
                guard let certificate, position == der.baseAddress.map({ $0 + der.count }) else {
                    return nil as OpaquePointer?
                }
                return X509_get_pubkey(certificate)
            }
        }
        guard let publicKey = P256PublicKey(owning: key) else { return nil }
        self.der = der
        self.publicKey = publicKey
    }

    /// Makes a self-signed certificate for the client and the server of TLS and DTLS.
    /// - Parameters:
    ///   - name: the common name of subject and issuer.
    ///   - before: how many days ago its validity began.
    ///   - days: how many days it is valid from now on.
    /// - Throws: `CertificateFailure` if OpenSSL refuses.
    public init(
        selfSignedBy key: P256PrivateKey, name: String, validBefore before: Int, days: Int
    ) throws(CertificateFailure) {
        guard let der = OpenSSL.call({ Self.make(key, name, before, days) }) else { throw CertificateFailure() }
        self.der = der
        publicKey = key.publicKey
    }

    private static func make(_ key: P256PrivateKey, _ name: String, _ before: Int, _ days: Int) -> [UInt8]? {
        guard let certificate = X509_new() else { return nil }
        defer { X509_free(certificate) }
        // The version is counted from 0.
        guard X509_set_version(certificate, 2) == 1, setSerialNumber(of: certificate),
            X509_time_adj_ex(X509_getm_notBefore(certificate), Int32(-before), 0, nil) != nil,
            X509_time_adj_ex(X509_getm_notAfter(certificate), Int32(days), 0, nil) != nil,
            let subject = X509_get_subject_name(certificate),
            X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, name, -1, -1, 0) == 1,
            X509_set_issuer_name(certificate, subject) == 1, X509_set_pubkey(certificate, key.key) == 1,
            add(NID_basic_constraints, "critical,CA:FALSE", to: certificate),
            add(NID_key_usage, "critical,digitalSignature", to: certificate),
            add(NID_ext_key_usage, "serverAuth,clientAuth", to: certificate),
            X509_sign(certificate, key.key, EVP_sha256()) > 0
        else { return nil }
        return encoded { i2d_X509(certificate, $0) }
    }

    /// 16 random bytes, as RFC 5280 section 4.1.2.2 allows.
    private static func setSerialNumber(of certificate: OpaquePointer) -> Bool {
        let number = BN_new()
        defer { BN_free(number) }
        guard BN_rand(number, 128, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 else { return false }
        return BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil
    }

    private static func add(_ kind: Int32, _ value: String, to certificate: OpaquePointer) -> Bool {
        let part = X509V3_EXT_conf_nid(nil, nil, kind, value)
        defer { X509_EXTENSION_free(part) }
        return part != nil && X509_add_ext(certificate, part, -1) == 1
    }
}

/// OpenSSL has made no certificate.
public struct CertificateFailure: Error {}
