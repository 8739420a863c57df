import DTLSTransport

/// The library that DTLS is made with.
public enum LoadedDTLS {
    /// As the process has loaded it.
    public static var version: String { OpenSSLVersion.loaded.description }
    /// The oldest version without known faults.
    public static var requiredVersion: String { OpenSSLVersion.required.description }
    public static var isFaulty: Bool { OpenSSLVersion.loaded.isFaulty }
}
