import COpenSSL

/// The version of OpenSSL. Older ones have faults in DTLS that everybody who reaches a socket can use.
public struct OpenSSLVersion: Comparable, Sendable, CustomStringConvertible {
    /// CVE-2026-75806 and CVE-2026-95690 are mended from here on; Debian's package is 3.0.22-1~deb12u2.
    public static let required = OpenSSLVersion(3, 0, 22)

    public let major, minor, patch: UInt

    init(_ major: UInt, _ minor: UInt, _ patch: UInt) { (self.major, self.minor, self.patch) = (major, minor, patch) }

    /// The one that this process has loaded, which need not be the one that it was built with.
    public static var loaded: OpenSSLVersion {
        OpenSSLVersion(
            UInt(OPENSSL_version_major()), UInt(OPENSSL_version_minor()), UInt(OPENSSL_version_patch()))
    }

    /// Whether it is known to have those faults.
    public var isFaulty: Bool { self < Self.required }

    public var description: String { "\(major).\(minor).\(patch)" }

    public static func < (one: Self, other: Self) -> Bool {
        (one.major, one.minor, one.patch) < (other.major, other.minor, other.patch)
    }
}
