import CGIO
import LinuxRuntime
import Synchronization

/// What came back of a call.
package enum BusReply: Equatable, Sendable {
    case values([BusValue])
    /// The error's name, such as "org.freedesktop.DBus.Error.UnknownMethod".
    case error(String)
    /// Nothing came in time, or the connection is closed.
    case none
}

/// A private connection to a message bus, which is closed once. GIO locks it. Unless it says otherwise, a call returns
/// at once.
// SAFETY: GDBusConnection may be used by any thread; `isOpen` and `filters` are guarded by Mutexes.
package final class BusConnection: @unchecked Sendable {
    /// Takes what the connection receives, on GIO's thread; must not block.
    /// - Returns: false for a call that it does not answer.
    package typealias Listener = @Sendable (BusMessage) -> Bool

    private let connection: OpaquePointer
    private let isOpen = Mutex(true)
    private let filters = Mutex<[guint]>([])

    init(_ connection: OpaquePointer) { self.connection = connection }

    /// Connects. Blocks until the bus has answered.
    /// - Parameter address: as in DBUS_SESSION_BUS_ADDRESS. Unlike GIO's default, this starts no bus.
    /// - Returns: nil if no bus answers.
    package convenience init?(address: String) {
        guard g_dbus_is_supported_address(address, nil) != 0, let connection = cgio_connect(address) else { return nil }
        self.init(connection)
    }

    deinit { cgio_unref(UnsafeMutableRawPointer(connection)) }

    @discardableResult
    func ifOpen<Result>(_ body: (OpaquePointer) -> Result) -> Result? {
        isOpen.withLock { isOpen in isOpen ? body(connection) : nil }
    }

    /// Whether the other end has not closed the connection either.
    package var isConnected: Bool { ifOpen { g_dbus_connection_is_closed($0) == 0 } ?? false }

    /// The name that the bus has given to this connection: ":1.42".
    package var uniqueName: String {
        ifOpen { g_dbus_connection_get_unique_name($0).map { String(cString: $0) } ?? "" } ?? ""
    }

    /// Closes the connection after what was sent; blocks until then, so it is not to be called on GIO's thread, which
    /// does that. A second call does nothing.
    package func close() {
        let wasOpen = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        guard wasOpen else { return }
        for filter in filters.withLock({ $0 }) { g_dbus_connection_remove_filter(connection, filter) }
        cgio_flush(connection)
        g_dbus_connection_close_sync(connection, nil, nil)
    }

    /// Closes the connection from any thread, and returns at once: on a thread of its own.
    func closeElsewhere() {
        guard isOpen.withLock({ $0 }) else { return }
        _ = try? NamedThread.start("bus-close") { [self] in close() }
    }

    // MARK: Receiving

    private final class ListenerBox {
        let listener: Listener

        init(_ listener: @escaping Listener) { self.listener = listener }
    }

    /// Hands every message to `listener`, until `close`.
    package func listen(_ listener: @escaping Listener) {
        let filter = g_dbus_connection_add_filter(
            connection,
            { _, message, isIncoming, raw in
                guard let message, let raw, isIncoming != 0, let read = BusMessage(message) else { return message }
                let isTaken = Unmanaged<ListenerBox>.fromOpaque(raw).takeUnretainedValue().listener(read)
                // Replies are left to GIO, which waits for those of its own calls.
                guard isTaken, read.kind == .call else { return message }
                cgio_unref(UnsafeMutableRawPointer(message))
                return nil
            }, Unmanaged.passRetained(ListenerBox(listener)).toOpaque(),
            { raw in
                if let raw { Unmanaged<ListenerBox>.fromOpaque(raw).release() }
            })
        filters.withLock { $0.append(filter) }
    }

    /// Asks the bus for the signals that a match rule describes (D-Bus Specification, Match Rules).
    package func match(_ rule: String) {
        call(Self.bus, Self.busPath, Self.bus, "AddMatch", [.text(rule)], expectsReply: false)
    }

    // MARK: Sending

    /// The bus itself, as the name of its service and of its interface.
    static let bus = "org.freedesktop.DBus"
    static let busPath = "/org/freedesktop/DBus"
    static let properties = "org.freedesktop.DBus.Properties"

    /// Calls a method; starts no service.
    /// - Returns: the number that the reply has as its `replySerial`; 0 if the connection is closed.
    @discardableResult
    package func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = [],
        expectsReply: Bool = true
    ) -> UInt32 {
        send(g_dbus_message_new_method_call(destination, path, interface, member), arguments) { message in
            var flags = G_DBUS_MESSAGE_FLAGS_NO_AUTO_START.rawValue
            if !expectsReply { flags |= G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED.rawValue }
            g_dbus_message_set_flags(message, GDBusMessageFlags(rawValue: flags))
        }
    }

    /// Calls a method, and waits for its reply. Not to be called on GIO's thread, which reads that.
    package func callAndWait(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = [],
        milliseconds: Int32
    ) -> BusReply {
        guard isOpen.withLock({ $0 }),
            let message = g_dbus_message_new_method_call(destination, path, interface, member)
        else { return .none }
        defer { cgio_unref(UnsafeMutableRawPointer(message)) }
        g_dbus_message_set_flags(message, G_DBUS_MESSAGE_FLAGS_NO_AUTO_START)
        if !arguments.isEmpty { g_dbus_message_set_body(message, BusValue.tuple(arguments).variant) }
        // Not under the lock, which listeners may need meanwhile. A connection that is closed then gives no reply.
        guard
            let reply = g_dbus_connection_send_message_with_reply_sync(
                connection, message, G_DBUS_SEND_MESSAGE_FLAGS_NONE, milliseconds, nil, nil, nil)
        else { return .none }
        defer { cgio_unref(UnsafeMutableRawPointer(reply)) }
        guard let read = BusMessage(reply) else { return .none }
        guard read.kind == .error else { return .values(read.arguments) }
        return .error(g_dbus_message_get_error_name(reply).map { String(cString: $0) } ?? "")
    }

    /// - Parameter destination: the only connection that gets it; nil: all that ask for such signals.
    package func signal(
        _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = [],
        to destination: String? = nil
    ) {
        send(g_dbus_message_new_signal(path, interface, member), arguments) { message in
            if let destination { g_dbus_message_set_destination(message, destination) }
        }
    }

    package func reply(to call: BusMessage, _ values: [BusValue] = []) {
        send(g_dbus_message_new(), values) { message in
            g_dbus_message_set_message_type(message, G_DBUS_MESSAGE_TYPE_METHOD_RETURN)
            Self.address(message, to: call)
        }
    }

    /// Answers a call with an error.
    /// - Parameter name: "org.freedesktop.DBus.Error.UnknownMethod", for example.
    package func refuse(_ call: BusMessage, _ name: String) {
        send(g_dbus_message_new(), [.text("the call is refused")]) { message in
            g_dbus_message_set_message_type(message, G_DBUS_MESSAGE_TYPE_ERROR)
            g_dbus_message_set_error_name(message, name)
            Self.address(message, to: call)
        }
    }

    private static func address(_ message: OpaquePointer, to call: BusMessage) {
        g_dbus_message_set_reply_serial(message, call.serial)
        g_dbus_message_set_destination(message, call.sender)
    }

    @discardableResult
    private func send(
        _ message: OpaquePointer?, _ arguments: [BusValue], _ prepare: (OpaquePointer) -> Void = { _ in }
    ) -> UInt32 {
        guard let message else { return 0 }
        prepare(message)
        if !arguments.isEmpty { g_dbus_message_set_body(message, BusValue.tuple(arguments).variant) }
        guard let serial = ifOpen({ cgio_send($0, message) }) else {
            cgio_unref(UnsafeMutableRawPointer(message))
            return 0
        }
        return serial
    }

    /// Takes a name for this connection alone (D-Bus Specification, RequestName). Blocks for 5 s at most.
    package func own(_ name: String) -> Bool { ifOpen { cgio_own_name_alone($0, name, 5_000) != 0 } ?? false }
}
