import CNATS
import Glibc
import Synchronization

/// A message of a ``NATSConnection``.
public struct NATSMessage: Sendable {
    public let subject: String
    public let bytes: [UInt8]
    /// Where an answer goes; nil if none is wanted.
    public let reply: String?
    /// The server says that nobody takes what was sent with this subject for its answer.
    public let hasNoResponder: Bool
}

/// Why there is no connection. `description` is a sentence.
public struct NATSError: Error, CustomStringConvertible {
    public let description: String

    init(_ what: String, _ status: natsStatus) {
        description = "\(what): \(String(cString: natsStatus_GetText(status)))"
    }
}

/// A connection to NATS servers, which is opened again for as long as it exists. What is sent while it is broken is lost.
/// Safe from any thread.
public final class NATSConnection: Sendable {
    public struct Configuration: Sendable {
        /// `nats://` or `tls://` URLs, with a user and a password if the servers want them.
        public var servers: [String]
        /// For the servers' logs.
        public var name: String
        /// PEM files: the authorities that the servers' certificates are checked against, and an own chain and key.
        public var authorities: String?
        public var certificate: (chain: String, key: String)?

        public init(servers: [String], name: String) {
            self.servers = servers
            self.name = name
        }

        var isSecure: Bool { authorities != nil || servers.contains { $0.lowercased().hasPrefix("tls://") } }
    }

    /// Called with true when a connection was made, and with false when it was lost.
    public typealias Report = @Sendable (_ isConnected: Bool) -> Void
    public typealias Receiver = @Sendable (NATSMessage) -> Void

    private struct State {
        // SAFETY: libnats guards its connections; this one is destroyed after the last use, under the lock.
        nonisolated(unsafe) var connection: OpaquePointer?
        nonisolated(unsafe) var subscriptions: [OpaquePointer] = []
    }

    private let state = Mutex(State())
    private let context: Context

    /// The state of libnats' callbacks. It lives as long as the process: libnats does not say when its last callback returns.
    private final class Context: Sendable {
        let report: Report
        init(_ report: @escaping Report) { self.report = report }
    }

    private final class Subscription: Sendable {
        let receive: Receiver
        init(_ receive: @escaping Receiver) { self.receive = receive }
    }

    /// - Parameter report: called on threads of libnats.
    public init(report: @escaping Report) { context = Context(report) }

    /// Begins to connect, and goes on in the background.
    /// - Throws: ``NATSError`` for URLs and files that cannot be used.
    public func start(_ configuration: Configuration) throws(NATSError) {
        var options: OpaquePointer?
        try Self.check(natsOptions_Create(&options), "NATS")
        defer { natsOptions_Destroy(options) }
        try Self.set(options, configuration)
        let pointer = Unmanaged.passRetained(context).toOpaque()
        let connected: natsConnectionHandler = { _, context in NATSConnection.tell(context, true) }
        let lost: natsConnectionHandler = { _, context in NATSConnection.tell(context, false) }
        try Self.check(natsOptions_SetRetryOnFailedConnect(options, true, connected, pointer), "NATS")
        try Self.check(natsOptions_SetReconnectedCB(options, connected, pointer), "NATS")
        try Self.check(natsOptions_SetDisconnectedCB(options, lost, pointer), "NATS")
        var connection: OpaquePointer?
        let status = natsConnection_Connect(&connection, options)
        guard status == NATS_OK || status == NATS_NOT_YET_CONNECTED else {
            throw NATSError(configuration.servers.joined(separator: ", "), status)
        }
        state.withLock { $0.connection = connection }
        // libnats does not say that the first attempt has failed.
        context.report(status == NATS_OK)
    }

    private static func tell(_ context: UnsafeMutableRawPointer?, _ isConnected: Bool) {
        guard let context else { return }
        Unmanaged<Context>.fromOpaque(context).takeUnretainedValue().report(isConnected)
    }

    private static func set(_ options: OpaquePointer?, _ configuration: Configuration) throws(NATSError) {
        let servers = configuration.servers.map { strdup($0) }
        defer { for server in servers { free(server) } }
        var names = servers.map { UnsafePointer($0) }
        try check(
            natsOptions_SetServers(options, &names, Int32(names.count)),
            configuration.servers.joined(separator: ", "))
        try check(natsOptions_SetName(options, configuration.name), "NATS")
        try check(natsOptions_SetMaxReconnect(options, -1), "NATS")
        try check(natsOptions_SetReconnectWait(options, 500), "NATS")
        try check(natsOptions_SetReconnectJitter(options, 250, 250), "NATS")
        try check(natsOptions_SetTimeout(options, 2_000), "NATS")
        // A server that does not answer is left after 6 s.
        try check(natsOptions_SetPingInterval(options, 2_000), "NATS")
        try check(natsOptions_SetMaxPingsOut(options, 2), "NATS")
        try check(natsOptions_SetNoEcho(options, true), "NATS")
        // libnats writes errors of subscriptions to stderr otherwise.
        try check(natsOptions_SetErrorHandler(options, { _, _, _, _ in }, nil), "NATS")
        guard configuration.isSecure else { return }
        try check(natsOptions_SetSecure(options, true), "NATS over TLS")
        if let file = configuration.authorities {
            try check(natsOptions_LoadCATrustedCertificates(options, file), file)
        }
        if let (chain, key) = configuration.certificate {
            try check(natsOptions_LoadCertificatesChain(options, chain, key), chain)
        }
    }

    private static func check(_ status: natsStatus, _ what: String) throws(NATSError) {
        guard status == NATS_OK else { throw NATSError(what, status) }
    }

    /// Sends at once, or not at all.
    /// - Parameter reply: where the answer goes; nil if none is wanted.
    /// - Returns: whether there is a connection.
    @discardableResult
    public func publish(_ bytes: [UInt8], to subject: String, reply: String? = nil) -> Bool {
        state.withLock { state in
            guard let connection = state.connection, natsConnection_Status(connection) == NATS_CONN_STATUS_CONNECTED
            else { return false }
            let status =
                if let reply {
                    natsConnection_PublishRequest(connection, subject, reply, bytes, Int32(bytes.count))
                } else {
                    natsConnection_Publish(connection, subject, bytes, Int32(bytes.count))
                }
            return status == NATS_OK
        }
    }

    /// Receives what is sent to a subject, also after the connection was lost and made again.
    /// - Parameter receive: called on a thread of the subscription.
    public func subscribe(_ subject: String, _ receive: @escaping Receiver) throws(NATSError) {
        let context = Unmanaged.passRetained(Subscription(receive)).toOpaque()
        let handler: natsMsgHandler = { _, _, message, context in
            defer { natsMsg_Destroy(message) }
            guard let message, let context else { return }
            let bytes = UnsafeRawBufferPointer(
                start: natsMsg_GetData(message), count: Int(natsMsg_GetDataLength(message)))
            Unmanaged<Subscription>.fromOpaque(context).takeUnretainedValue().receive(
                NATSMessage(
                    subject: natsMsg_GetSubject(message).map { String(cString: $0) } ?? "", bytes: Array(bytes),
                    reply: natsMsg_GetReply(message).map { String(cString: $0) },
                    hasNoResponder: natsMsg_IsNoResponders(message)))
        }
        let status = state.withLock { state -> natsStatus in
            var subscription: OpaquePointer?
            let status = natsConnection_Subscribe(&subscription, state.connection, subject, handler, context)
            if let subscription { state.subscriptions.append(subscription) }
            return status
        }
        guard status == NATS_OK else {
            Unmanaged<Subscription>.fromOpaque(context).release()
            throw NATSError(subject, status)
        }
    }

    /// Closes the connection. What was sent before is written first, for up to a second.
    public func close() {
        let (connection, subscriptions) = state.withLock { state in
            defer { (state.connection, state.subscriptions) = (nil, []) }
            return (state.connection, state.subscriptions)
        }
        guard let connection else { return }
        if natsConnection_Status(connection) == NATS_CONN_STATUS_CONNECTED {
            natsConnection_FlushTimeout(connection, 1_000)
        }
        natsConnection_Close(connection)
        for subscription in subscriptions { natsSubscription_Destroy(subscription) }
        natsConnection_Destroy(connection)
    }
}
