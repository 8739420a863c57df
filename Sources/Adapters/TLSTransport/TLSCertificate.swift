internal import COpenSSL

/// A certificate (X.509) with a key of any kind.
public final class TLSCertificate: @unchecked Sendable {
    // SAFETY: only read; OpenSSL guards what it keeps in it.
    let certificate: OpaquePointer

    private init(owning certificate: OpaquePointer) { self.certificate = certificate }

    deinit { X509_free(certificate) }

    /// Nil unless `der` is one certificate and nothing else.
    public convenience init?(der: [UInt8]) {
        let parsed = TLSContext.call {
            der.withUnsafeBufferPointer { der -> OpaquePointer? in
                var position = der.baseAddress
                guard let parsed = d2i_X509(nil, &position, der.count) else { return nil }
                guard position == der.baseAddress.map({ $0 + der.count }) else {
                    X509_free(parsed)
                    return nil
                }
                return parsed
            }
        }
        guard let parsed else { return nil }
        self.init(owning: parsed)
    }

    /// The certificates of a PEM text, in their order; empty if it has none, or one that is damaged.
    public static func chain(pem: [UInt8]) -> [TLSCertificate] {
        TLSContext.call {
            withMemory(of: pem) { memory in
                var chain: [TLSCertificate] = []
                while let next = PEM_read_bio_X509(memory, nil, nil, nil) { chain.append(TLSCertificate(owning: next)) }
                return ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE ? chain : []
            } ?? []
        }
    }

    static func withMemory<Result>(of bytes: [UInt8], _ body: (OpaquePointer) -> Result?) -> Result? {
        bytes.withUnsafeBufferPointer { bytes in
            guard !bytes.isEmpty, let memory = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else {
                return nil
            }
            defer { BIO_free(memory) }
            return body(memory)
        }
    }

    /// A name that a certificate is for (subjectAltName, RFC 5280 section 4.2.1.6).
    public enum Name: Hashable, Sendable {
        /// As the certificate has it, which may be no name of DNS.
        case host(String)
        /// 4 or 16 bytes, or whatever the certificate has instead.
        case address([UInt8])
    }

    /// Those that are hosts or addresses, in their order.
    public var names: [Name] {
        guard let all = cssl_names(certificate) else { return [] }
        defer { cssl_names_free(all) }
        return (0..<cssl_names_count(all)).compactMap { index in
            var (bytes, count): (UnsafePointer<UInt8>?, Int32) = (nil, 0)
            let kind = cssl_name(all, index, &bytes, &count)
            let contents = Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
            switch kind {
            case 1: return .host(String(decoding: contents, as: UTF8.self))
            case 2: return .address(contents)
            default: return nil
            }
        }
    }

    /// In seconds since 1970.
    public var expiry: Int { Int(cssl_expiry(certificate)) }
}

/// The private key of a certificate.
public final class TLSPrivateKey: @unchecked Sendable {
    // SAFETY: only read; OpenSSL guards what it keeps in it.
    let key: OpaquePointer

    private init?(owning key: OpaquePointer?) {
        guard let key else { return nil }
        self.key = key
    }

    deinit { EVP_PKEY_free(key) }

    /// - Parameter der: PKCS #8 or SEC 1.
    public convenience init?(der: [UInt8]) {
        self.init(
            owning: TLSContext.call {
                der.withUnsafeBufferPointer { der in
                    var position = der.baseAddress
                    return d2i_AutoPrivateKey(nil, &position, der.count)
                }
            })
    }

    /// Nil if there is no key in `pem`, or one that is encrypted: nobody is asked for its passphrase.
    public convenience init?(pem: [UInt8]) {
        self.init(
            owning: TLSContext.call {
                TLSCertificate.withMemory(of: pem) { memory in
                    PEM_read_bio_PrivateKey(memory, nil, { _, _, _, _ in -1 }, nil)
                }
            })
    }
}
