import Cryptography
import Foundation
import NetworkBed
import TestSupport

/// coturn on the server of `TwoHomes`, for STUN and for TURN over UDP and TCP, or over TLS only. Killed with the value.
final class TURNServer: Sendable {
    /// The user name in the URL; the credential is in the environment.
    static let user = "tester"
    static let credential = "not-a-secret"
    /// The port for TLS.
    static let securePort = 5_349

    /// The users that the server accepts.
    enum Guests {
        case user(credential: String)
        /// Users with a credential made from this secret (`TimeLimited`), until it expires.
        case timeLimited(secret: String)
    }

    private let port: Int
    private let node: NetworkNode
    private let program: Program
    private let folder: TemporaryFolder

    /// - Parameter certificate: for TLS; the server then has no other listener.
    init(
        in node: NetworkNode, port: Int = 3_478,
        guests: Guests = .user(credential: TURNServer.credential), certificate: ServerCertificate? = nil
    ) throws {
        let address = TwoHomes.serverAddress
        self.port = port
        self.node = node
        folder = try TemporaryFolder()
        var arguments = [
            "-n", "--listening-ip", address, "--relay-ip", address, "--realm", "share.test", "--log-file", "stdout",
            "--userdb", folder.file("users"), "--pidfile", folder.file("pid"), "--verbose",
            "--cli-port", "\(Self.controlPort(port))", "--cli-password", Self.credential,
        ]
        switch guests {
        case .user(let credential): arguments += ["--lt-cred-mech", "--user", "\(Self.user):\(credential)"]
        case .timeLimited(let secret): arguments += ["--use-auth-secret", "--static-auth-secret", secret]
        }
        if let certificate {
            arguments += [
                "--tls-listening-port", "\(Self.securePort)", "--no-udp", "--no-tcp", "--no-dtls",
                "--cert", certificate.file, "--pkey", certificate.keyFile,
            ]
        } else {
            arguments += ["--listening-port", "\(port)", "--no-tls", "--no-dtls"]
        }
        let (launcher, words) = node.command("turnserver", arguments)
        program = try Program(launcher, words)
        // The last listener that the server opens.
        let last = certificate == nil ? "TCP listener opened on" : "TLS listener opened on"
        let isReady = program.line(seconds: 20) { $0.contains(last) ? true : nil }
        guard isReady == true else {
            throw Program.Failure("turnserver did not start: \(program.text.output) \(program.text.errors)")
        }
    }

    private static func controlPort(_ port: Int) -> Int { 10_000 + port }

    /// The URL for `--turn`.
    static func url(_ transport: String = "udp", port: Int = 3_478, user: String = TURNServer.user) -> String {
        let name = user.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? user
        return "turn:\(name)@\(TwoHomes.serverAddress):\(port)?transport=\(transport)"
    }

    static var secureURL: String { "turns:\(user)@\(TwoHomes.serverAddress):\(securePort)" }

    /// Kills the server with all its allocations.
    func kill() { program.kill() }

    /// The sessions of all clients that got an allocation so far.
    var sessions: Set<String> {
        Set(program.text.output.matches(of: /session ([0-9]+): new, realm/).map { String($0.1) })
    }

    /// Removes all allocations, as at the end of their lifetimes.
    /// - Returns: the number of removed ones.
    func expireAllocations() throws -> Int {
        let sessions = sessions
        // coturn's console takes one command for each prompt.
        let script =
            "exec 3<>/dev/tcp/127.0.0.1/\(Self.controlPort(port)); read -t 5 -d : -u 3; "
            + ([Self.credential] + sessions.map { "cs \($0)" })
            .map { "printf '\($0)\\r\\n' >&3; read -t 5 -d '>' -u 3; " }.joined()
        let (launcher, words) = node.command("bash", ["-c", script])
        _ = try Program(launcher, words).finish()
        for session in sessions {
            let isGone = program.line(seconds: 5) { $0.contains("session \(session): delete") ? true : nil }
            guard isGone == true else { throw Program.Failure("session \(session) lives on: \(program.text.output)") }
        }
        return sessions.count
    }
}

/// A self-signed certificate of a test server, and its key, in a folder of its own.
final class ServerCertificate: Sendable {
    private let folder: TemporaryFolder
    /// PEM.
    var file: String { folder.file("certificate.pem") }
    var keyFile: String { folder.file("key.pem") }

    /// - Parameter address: the subject of the certificate.
    init(address: String) throws {
        folder = try TemporaryFolder()
        _ = try Program(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=share test", "-addext", "subjectAltName=IP:\(address)", "-keyout", keyFile, "-out", file,
            ]
        ).finish()
    }
}

/// A user name and credential that expire, for a server with that secret (coturn's `use-auth-secret`).
struct TimeLimited {
    let user: String
    let credential: String
    let end: Date

    init(secret: String, seconds: Double) {
        end = Date(timeIntervalSinceNow: seconds)
        user = "\(Int(end.timeIntervalSince1970)):\(TURNServer.user)"
        let code = HMACKey(Array(secret.utf8), .sha1).code(for: Array(user.utf8))
        credential = Data(code).base64EncodedString()
    }
}
