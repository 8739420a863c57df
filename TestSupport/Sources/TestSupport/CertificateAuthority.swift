import Foundation

/// A certificate authority of a test, and the server certificates that it issues; made with openssl.
public final class CertificateAuthority: Sendable {
    private let folder: TemporaryFolder

    /// PEM, for SSL_CERT_FILE and curl's `--cacert`.
    public var file: String { folder.file("ca.pem") }

    public init() throws {
        folder = try TemporaryFolder()
        try Self.run(
            ["req", "-x509"] + Self.newKey + [
                "-keyout", folder.file("ca.key"), "-out", file, "-days", "2", "-subj", "/CN=share test authority",
                "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign",
            ])
    }

    public struct Certificate: Sendable {
        /// PEM.
        public let chain: String
        public let key: String

        /// `--tls` with its files.
        public var arguments: [String] { ["--tls", chain, key] }

        /// Puts this certificate's files in the place of another's.
        public func replace(_ other: Certificate) throws {
            for (new, old) in [(chain, other.chain), (key, other.key)] {
                try Data(contentsOf: URL(fileURLWithPath: new)).write(to: URL(fileURLWithPath: old), options: .atomic)
            }
        }
    }

    /// - Parameters:
    ///   - names: "DNS:localhost,IP:127.0.0.1".
    ///   - days: of validity; negative: it has expired.
    ///   - rsaBits: the length of a key of RSA; nil: it is one of P-256.
    public func issue(_ names: String, days: Int = 2, rsaBits: Int? = nil) throws -> Certificate {
        let stem = folder.file(UUID().uuidString)
        let result = Certificate(chain: stem + ".pem", key: stem + ".key")
        try Self.run(
            ["req"] + (rsaBits.map { ["-newkey", "rsa:\($0)", "-nodes"] } ?? Self.newKey) + [
                "-keyout", result.key, "-out", stem + ".csr", "-subj", "/CN=share test",
            ])
        try "subjectAltName=\(names)\n".write(toFile: stem + ".ext", atomically: true, encoding: .utf8)
        try Self.run([
            "x509", "-req", "-in", stem + ".csr", "-CA", file, "-CAkey", folder.file("ca.key"), "-CAcreateserial",
            "-days", "\(days)", "-extfile", stem + ".ext", "-out", result.chain,
        ])
        return result
    }

    private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

    private static func run(_ arguments: [String]) throws { _ = try Program("openssl", arguments).finish() }
}
