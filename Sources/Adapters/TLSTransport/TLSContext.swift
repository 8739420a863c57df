internal import COpenSSL

/// The settings of TLS sessions, which share them: the certificate of a server, or what a client trusts. Safe from any
/// thread.
public final class TLSContext: @unchecked Sendable {
    // SAFETY: set up by the initializers and only read afterwards, which OpenSSL allows from any thread.
    let context: OpaquePointer
    /// Clients check that the certificate is for the host.
    let checksHost: Bool

    public enum Version: Sendable {
        case tls12, tls13

        fileprivate var number: Int32 { self == .tls12 ? TLS1_2_VERSION : TLS1_3_VERSION }
    }

    /// Which certificates a client accepts.
    public enum Trust: Sendable {
        /// Those of authorities that the system trusts, for the host.
        case system
        /// Those of the authorities in a PEM file, for the host.
        case authorities(file: String)
        /// All that come with a proof of their key and that the session's `accepts` takes.
        case any
    }

    /// TLS 1.2 is allowed with forward secrecy and AEAD only (RFC 9325 section 4.2). The server's own certificate has a
    /// key of P-256, that of an operator may have one of RSA.
    private static let serverCiphers = ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"]
        .map { "ECDHE-ECDSA-\($0):ECDHE-RSA-\($0)" }.joined(separator: ":")
    /// Those of TLS 1.3. AES with 128 bits comes first, which costs least.
    private static let suites = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

    /// A server for HTTP/1.1, by TLS 1.2 and 1.3.
    /// - Parameter chain: its own certificate first.
    /// - Throws: `.otherKey`; `.identity` if OpenSSL refuses a certificate, as one with a weak key; `.library`.
    public init(server chain: [TLSCertificate], _ key: TLSPrivateKey) throws(TLSFailure) {
        Self.keepAtExit()
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw .library(Self.reason()) }
        // From here on, `deinit` frees it, also if this throws.
        self.context = context
        checksHost = false
        ERR_clear_error()
        try configure(least: .tls12, most: .tls13, ciphers: Self.serverCiphers)
        guard let leaf = chain.first else { throw .identity("there is none") }
        guard SSL_CTX_use_certificate(context, leaf.certificate) == 1 else { throw .identity(Self.reason()) }
        for further in chain.dropFirst() {
            guard cssl_add_chain_certificate(context, further.certificate) == 1 else { throw .identity(Self.reason()) }
        }
        guard SSL_CTX_use_PrivateKey(context, key.key) == 1, SSL_CTX_check_private_key(context) == 1 else {
            throw .otherKey
        }
        cssl_select_http1_by_alpn(context)
    }

    /// A server whose certificate and key are DER.
    public convenience init(certificateDER: [UInt8], keyDER: [UInt8]) throws(TLSFailure) {
        guard let certificate = TLSCertificate(der: certificateDER) else { throw .identity("no certificate") }
        guard let key = TLSPrivateKey(der: keyDER) else { throw .identity("no key") }
        try self.init(server: [certificate], key)
    }

    /// A client.
    /// - Parameters:
    ///   - most: the newest version that is offered.
    ///   - ciphers: those of TLS 1.2, in OpenSSL's notation; nil: OpenSSL's.
    /// - Throws: `.library` if OpenSSL refuses, or cannot read the file.
    public init(
        client trust: Trust, least: Version = .tls12, most: Version = .tls13, ciphers: String? = nil
    ) throws(TLSFailure) {
        Self.keepAtExit()
        guard let context = SSL_CTX_new(TLS_client_method()) else { throw .library(Self.reason()) }
        self.context = context
        if case .any = trust { checksHost = false } else { checksHost = true }
        ERR_clear_error()
        try configure(least: least, most: most, ciphers: ciphers)
        switch trust {
        // The certificate is compared after the handshake. Leaving out the chain's verification also leaves out its
        // attack surface.
        case .any: cssl_require_certificate(context)
        case .system:
            SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
            guard SSL_CTX_set_default_verify_paths(context) == 1 else { throw .library(Self.reason()) }
        case .authorities(let file):
            SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
            guard SSL_CTX_load_verify_locations(context, file, nil) == 1 else {
                throw .library("\(file) has no certificates that can be read")
            }
        }
    }

    deinit { SSL_CTX_free(context) }

    private func configure(least: Version, most: Version, ciphers: String?) throws(TLSFailure) {
        guard cssl_configure_stream(context, least.number, most.number) == 1,
            ciphers.map({ SSL_CTX_set_cipher_list(context, $0) == 1 }) ?? true,
            SSL_CTX_set_ciphersuites(context, Self.suites) == 1,
            cssl_set_groups(context, "X25519:P-256:P-384") == 1
        else { throw .library(Self.reason()) }
    }

    private static let isKeptAtExit: Void = { _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) }()

    /// Keeps OpenSSL usable while the process ends, as threads still encrypt then. The first call of OpenSSL decides.
    private static func keepAtExit() { _ = isKeptAtExit }

    /// Calls OpenSSL, and leaves its error queue of this thread as it was.
    static func call<Result>(_ body: () -> Result) -> Result {
        keepAtExit()
        ERR_set_mark()
        defer { ERR_pop_to_mark() }
        return body()
    }

    static func reason() -> String {
        let code = ERR_peek_last_error()
        guard code != 0, let text = ERR_reason_error_string(code) else { return "no reason given" }
        return String(cString: text)
    }
}
