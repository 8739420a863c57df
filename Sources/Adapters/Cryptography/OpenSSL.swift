internal import COpenSSL

enum OpenSSL {
    /// Keeps OpenSSL usable while the process ends. Its own cleanup at exit would take away what threads that are still
    /// running hash and encrypt with. The first call of OpenSSL decides; it is one of this module, as each peer begins
    /// with its identity.
    private static let isKeptAtExit: Void = { _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) }()

    /// Calls OpenSSL, and leaves its error queue of this thread as it was. DTLS sessions of the same thread read it to
    /// learn how their calls ended.
    static func call<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        _ = isKeptAtExit
        ERR_set_mark()
        defer { ERR_pop_to_mark() }
        return try body()
    }
}
