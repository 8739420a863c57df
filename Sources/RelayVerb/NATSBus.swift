import CommandSupport
import FoundationEssentials
import LinuxRuntime
import MediaCore
package import NATSMessaging
package import Relay

/// NATS as the bus of a cluster. Safe from any thread.
package final class NATSBus: MessageBus {
    private let connection: NATSConnection
    private let connected = Monitor<@Sendable () -> Void>({})
    private let isClosed = Monitor(false)

    /// - Parameter report: called when the connection was made, when it was lost, and when it cannot be made.
    package init(report: @escaping NATSConnection.Report) {
        let (connected, isClosed) = (connected, isClosed)
        connection = NATSConnection {
            guard !isClosed.with({ $0 }) else { return }
            report($0)
            if $0 == .connected { connected.with { $0 }() }
        }
    }

    /// - Parameter connection: called with true when the connection was made, and with false when it was lost.
    package convenience init(connection: @escaping @Sendable (_ isConnected: Bool) -> Void) {
        self.init(report: { connection($0 == .connected) })
    }

    /// - Parameter body: called each time the connection was made.
    package func onConnect(_ body: @escaping @Sendable () -> Void) { connected.with { $0 = body } }

    /// Begins to connect. NATS may be down.
    /// - Parameters:
    ///   - servers: URLs, separated by commas.
    ///   - tls: the authority, and a chain and a key.
    package func connect(to servers: String, tls: [String], as node: String) throws {
        let urls = servers.split(separator: ",").map { $0.trimmed }
        guard !urls.isEmpty, urls.allSatisfy({ Self.isServer($0) }) else {
            throw CommandError(
                sentence: "--cluster takes URLs of NATS servers, as nats://10.0.0.7:4222", status: .usage)
        }
        var configuration = NATSConnection.Configuration(servers: urls, name: "share relay \(node)")
        configuration.authorities = tls.first
        if tls.count == 3 { configuration.certificate = (tls[1], tls[2]) }
        do throws(NATSError) {
            try connection.start(configuration)
        } catch {
            throw CommandError(sentence: "--cluster: \(error)", remedy: error.remedy, status: .usage)
        }
    }

    private static func isServer(_ text: String) -> Bool {
        guard let url = URL(string: text), let host = url.host(), !host.isEmpty else { return false }
        return ["nats", "tls"].contains(url.scheme)
    }

    @discardableResult
    package func publish(_ bytes: [UInt8], to subject: String, reply: String?) -> Bool {
        connection.publish(bytes, to: subject, reply: reply)
    }

    package func subscribe(to subject: String, _ receive: @escaping @Sendable (BusMessage) -> Void) {
        // It fails for a broken subject, or without memory.
        try? connection.subscribe(subject) {
            receive(
                BusMessage(
                    subject: $0.subject, bytes: $0.bytes, reply: $0.reply, hasNoResponder: $0.hasNoResponder))
        }
    }

    package func close() {
        isClosed.with { $0 = true }
        connection.close()
    }
}

extension NATSError {
    /// What the operator can do; empty if the reason says it.
    var remedy: String {
        switch kind {
        case .untrustedAuthority:
            "Name the authority that has signed the server's certificate: --cluster-tls CA.PEM. An own one is made as "
                + "Docs/operating.md says in its section 10."
        case .wrongName: "Use a name or address of the server's certificate in --cluster, or make one for this address."
        case .outOfDate: "Renew the NATS server's certificate, and look at the clocks of both machines."
        case .noTLS: "The NATS server has no TLS: give it a certificate, or use nats:// on a private network."
        case .refused: "Look at the user and password in --cluster, or at the certificate in --cluster-tls."
        case .unreachable: "Look whether nats-server runs there, and whether a firewall is in between."
        case .tls, .other: ""
        }
    }
}
