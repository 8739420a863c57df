internal import COpenSSL

/// Leaves OpenSSL's error queue of this thread as it was. DTLS sessions of the same thread read it to learn how their
/// calls ended.
func withCleanErrors<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    ERR_set_mark()
    defer { ERR_pop_to_mark() }
    return try body()
}
