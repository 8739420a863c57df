internal import LinuxRuntime

/// The library that Debian's libsrtp2 encrypts with.
///
/// libsrtp2 opens a context of NSS for each cipher. With the last one NSS unloads its modules, and the next one loads
/// and tests them again: 13 times for the self tests of `srtp_init`, and for each session while there is no other. One
/// context that stays open keeps them loaded.
enum NSSLibrary {
    private typealias InitContext =
        @convention(c) (
            UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafePointer<CChar>,
            UnsafeMutableRawPointer?, UInt32
        ) -> OpaquePointer?

    /// `NSS_INIT_READONLY`, `NOCERTDB`, `NOMODDB`, `FORCEOPEN` and `OPTIMIZESPACE`, as libsrtp2 has them.
    private static let flags: UInt32 = 0x1 | 0x2 | 0x4 | 0x8 | 0x20

    /// Opens the context, which is never closed. Does nothing where libsrtp2 has another library.
    /// - Returns: whether it is open.
    @discardableResult
    static func keepOpen() -> Bool {
        guard let library = DynamicLibrary(loaded: "libnss3.so"),
            let open: InitContext = try? library.function("NSS_InitContext")
        else { return false }
        return open("", "", "", "", nil, flags) != nil
    }
}
