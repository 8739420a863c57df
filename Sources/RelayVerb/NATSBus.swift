package import Cluster
import CommandSupport
import Foundation
import LinuxRuntime
import NATSMessaging

/// NATS as the bus of a cluster. Safe from any thread.
package final class NATSBus: MessageBus {
    private let connection: NATSConnection
    private let connected = Monitor<@Sendable () -> Void>({})
    private let isClosed = Monitor(false)

    /// - Parameter report: called when the connection was made, and when it was lost.
    package init(report: @escaping @Sendable (_ isConnected: Bool) -> Void) {
        let (connected, isClosed) = (connected, isClosed)
        connection = NATSConnection {
            guard !isClosed.with({ $0 }) else { return }
            report($0)
            if $0 { connected.with { $0 }() }
        }
    }

    /// - Parameter body: called each time the connection was made.
    package func onConnect(_ body: @escaping @Sendable () -> Void) { connected.with { $0 = body } }

    /// Begins to connect. NATS may be down.
    /// - Parameters:
    ///   - servers: URLs, separated by commas.
    ///   - tls: the authority, and a chain and a key.
    package func connect(to servers: String, tls: [String], as node: String) throws {
        let urls = servers.split(separator: ",").map { String($0).trimmingCharacters(in: .whitespaces) }
        guard !urls.isEmpty, urls.allSatisfy({ Self.isServer($0) }) else {
            throw Complaint(
                sentence: "--cluster takes URLs of NATS servers, as nats://10.0.0.7:4222", status: .usage)
        }
        var configuration = NATSConnection.Configuration(servers: urls, name: "share relay \(node)")
        configuration.authorities = tls.first
        if tls.count == 3 { configuration.certificate = (tls[1], tls[2]) }
        do throws(NATSError) {
            try connection.start(configuration)
        } catch {
            throw Complaint(sentence: "--cluster: \(error)", status: .usage)
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
