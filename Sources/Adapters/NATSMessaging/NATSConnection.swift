import CNATS
import Glibc
import LinuxRuntime
import MediaCore
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

/// A connection to NATS servers, which is opened again for as long as it exists. What is sent while it is broken is
/// lost.
///
/// libnats opens a connection again that a server has ended, but gives up after two refusals, and does not say why a
/// first attempt failed. So each attempt is a connection of its own, made on the thread `nats`.
///
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

    public enum Change: Sendable, Equatable {
        case connected
        /// The connection was lost, or an attempt has failed for another reason than the one before.
        case disconnected(NATSError?)
    }

    public typealias Report = @Sendable (Change) -> Void
    public typealias Receiver = @Sendable (NATSMessage) -> Void

    /// The pause after a failed attempt; it doubles up to the longest one.
    private static let (shortestPause, longestPause) = (MediaDuration.milliseconds(500), MediaDuration.seconds(8))

    private struct State {
        // SAFETY: libnats guards its connections; this one is destroyed after the last use, under the lock.
        nonisolated(unsafe) var connection: OpaquePointer?
        nonisolated(unsafe) var subscriptions: [OpaquePointer] = []
        /// What is subscribed to again at each connection.
        var subjects: [(String, Subscription)] = []
        /// libnats has given up the connection.
        var hasEnded = false
        var isClosed = false
    }

    private let state = Monitor(State())
    private let context: Context
    private let thread = Mutex<NamedThread?>(nil)

    /// The state of libnats' callbacks. It lives as long as the process: libnats does not say when its last callback
    /// returns.
    private final class Context: Sendable {
        let report: Report
        /// Why the last attempt failed, so that it is told once.
        let failure = Monitor<NATSError?>(nil)
        let ended: @Sendable () -> Void

        init(_ report: @escaping Report, ended: @escaping @Sendable () -> Void) {
            self.report = report
            self.ended = ended
        }

        func connected() {
            failure.with { $0 = nil }
            report(.connected)
        }

        func disconnected(_ error: NATSError?, isLost: Bool) {
            let isNew = failure.with { failure in
                defer { failure = error }
                return failure != error
            }
            if isNew || isLost { report(.disconnected(error)) }
        }
    }

    private final class Subscription: Sendable {
        let receive: Receiver
        init(_ receive: @escaping Receiver) { self.receive = receive }
    }

    /// - Parameter report: called on threads of libnats, and on `nats`.
    public init(report: @escaping Report) {
        let state = state
        context = Context(report, ended: { state.change { $0.hasEnded = true } })
    }

    /// Makes the first attempt to connect, and goes on in the background.
    /// - Throws: ``NATSError`` for URLs and files that cannot be used.
    public func start(_ configuration: Configuration) throws(NATSError) {
        var options: OpaquePointer?
        try Self.check(natsOptions_Create(&options), "NATS")
        do throws(NATSError) {
            try Self.set(options, configuration)
            let pointer = Unmanaged.passRetained(context).toOpaque()
            try Self.check(
                natsOptions_SetReconnectedCB(
                    options, { _, context in NATSConnection.from(context)?.connected() }, pointer),
                "NATS")
            try Self.check(
                natsOptions_SetDisconnectedCB(
                    options, { _, context in NATSConnection.from(context)?.disconnected(nil, isLost: true) }, pointer),
                "NATS")
            try Self.check(
                natsOptions_SetClosedCB(options, { _, context in NATSConnection.from(context)?.ended() }, pointer),
                "NATS")
        } catch {
            natsOptions_Destroy(options)
            throw error
        }
        // SAFETY: the thread alone uses them from here on.
        nonisolated(unsafe) let settings = options
        let servers = configuration.servers.map { Self.withoutPassword($0) }.joined(separator: ", ")
        let isConnected = attempt(settings, servers)
        thread.withLock {
            $0 = NamedThread("nats") { [self] in
                run(settings, servers, isConnected: isConnected)
                natsOptions_Destroy(settings)
            }
        }
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> Context? {
        context.map { Unmanaged<Context>.fromOpaque($0).takeUnretainedValue() }
    }

    /// A URL without its user and password, for messages.
    private static func withoutPassword(_ url: String) -> String {
        guard let end = url.lastIndex(of: "@"), let colon = url.firstIndex(of: ":"), colon < end else { return url }
        return url[...colon] + "//" + url[url.index(after: end)...]
    }

    // MARK: The thread

    private func run(_ options: OpaquePointer?, _ servers: String, isConnected: Bool) {
        var isConnected = isConnected
        var pause = Self.shortestPause
        while true {
            if isConnected {
                pause = Self.shortestPause
                state.wait { $0.hasEnded || $0.isClosed ? () : nil }
                if state.with({ $0.isClosed }) { return }
                discard()
            } else {
                let isClosed = state.wait(until: MonotonicClock.now + pause) { $0.isClosed ? () : nil } != nil
                if isClosed { return }
                pause = min(MediaDuration(nanoseconds: pause.nanoseconds &* 2), Self.longestPause)
            }
            isConnected = attempt(options, servers)
        }
    }

    /// Connects once, and subscribes. Blocks for 2 s for each server at most.
    private func attempt(_ options: OpaquePointer?, _ servers: String) -> Bool {
        state.with { $0.hasEnded = false }
        var connection: OpaquePointer?
        let status = natsConnection_Connect(&connection, options)
        guard status == NATS_OK, let connection else {
            context.disconnected(NATSError(lastErrorOf: servers, status), isLost: false)
            return false
        }
        let isTaken = state.with { state in
            guard !state.isClosed else { return false }
            state.connection = connection
            for (subject, subscription) in state.subjects { Self.subscribe(subject, subscription, &state) }
            return true
        }
        guard isTaken else {
            natsConnection_Close(connection)
            natsConnection_Destroy(connection)
            return false
        }
        context.connected()
        return true
    }

    /// Destroys a connection that libnats has given up.
    private func discard() {
        let (connection, subscriptions) = take()
        for subscription in subscriptions { natsSubscription_Destroy(subscription) }
        natsConnection_Destroy(connection)
    }

    private func take() -> (OpaquePointer?, [OpaquePointer]) {
        // SAFETY: whoever took them alone uses them.
        nonisolated(unsafe) var taken: (OpaquePointer?, [OpaquePointer]) = (nil, [])
        state.with { state in
            taken = (state.connection, state.subscriptions)
            (state.connection, state.subscriptions) = (nil, [])
        }
        return taken
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
        state.with { state in
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

    /// Receives what is sent to a subject, at this connection and at all later ones.
    /// - Parameter receive: called on a thread of the subscription.
    /// - Throws: the subject is none.
    public func subscribe(_ subject: String, _ receive: @escaping Receiver) throws(NATSError) {
        let subscription = Subscription(receive)
        let status = state.with { state in
            let status = state.connection == nil ? NATS_OK : Self.subscribe(subject, subscription, &state)
            if status == NATS_OK { state.subjects.append((subject, subscription)) }
            return status
        }
        try Self.check(status, subject)
    }

    @discardableResult
    private static func subscribe(_ subject: String, _ receiver: Subscription, _ state: inout State) -> natsStatus {
        // Kept as long as the process, like the other callbacks' state.
        let context = Unmanaged.passRetained(receiver).toOpaque()
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
        var subscription: OpaquePointer?
        let status = natsConnection_Subscribe(&subscription, state.connection, subject, handler, context)
        guard let subscription, status == NATS_OK else {
            Unmanaged<Subscription>.fromOpaque(context).release()
            return status
        }
        state.subscriptions.append(subscription)
        return status
    }

    /// Closes the connection. What was sent before is written first, for up to a second.
    public func close() {
        state.change { $0.isClosed = true }
        let (connection, subscriptions) = take()
        guard let connection else { return }
        if natsConnection_Status(connection) == NATS_CONN_STATUS_CONNECTED {
            natsConnection_FlushTimeout(connection, 1_000)
        }
        natsConnection_Close(connection)
        for subscription in subscriptions { natsSubscription_Destroy(subscription) }
        natsConnection_Destroy(connection)
    }
}
