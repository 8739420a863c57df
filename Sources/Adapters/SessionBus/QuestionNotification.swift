import CGIO
import LinuxRuntime
import MediaCore

/// A desktop notification with buttons (Desktop Notifications Specification 1.2). Its button is told only if the
/// program that shows it says so, as the bus vouches for the sender of a signal.
///
/// `init`, `show` and `close` block until the desktop answers, at most 2 s for each call; use one thread for them.
public final class QuestionNotification: Sendable {
    public struct Button: Sendable, Equatable {
        /// What `onChoice` gets.
        public var key: String
        public var label: String

        public init(key: String, label: String) {
            self.key = key
            self.label = label
        }
    }

    private struct State {
        /// 0: none is shown.
        var identifier: UInt32 = 0
        /// The unique name of the program that shows it.
        var owner: String?
    }

    private static let (service, path) = ("org.freedesktop.Notifications", "/org/freedesktop/Notifications")
    private static let timeout: gint = 2_000

    private let bus: BusConnection
    private let state = Monitor(State())

    /// Connects to a bus.
    /// - Parameters:
    ///   - address: as in DBUS_SESSION_BUS_ADDRESS. Unlike GIO's default, this starts no bus.
    ///   - onChoice: called on GIO's thread with the key of a button; must not block.
    /// - Returns: nil if no bus answers.
    public init?(address: String, onChoice: @escaping @Sendable (_ key: String) -> Void) {
        guard let bus = BusConnection(address: address) else { return nil }
        self.bus = bus
        bus.listen { [state] message in
            guard message.isSignal(Self.service, "ActionInvoked"), message.arguments.count == 2,
                let key = message.arguments[1].text, state.with({ $0.owner == message.sender })
            else { return false }
            onChoice(key)
            return false
        }
        bus.match(
            "type='signal',sender='\(Self.service)',interface='\(Self.service)',path='\(Self.path)',member='ActionInvoked'"
        )
    }

    deinit { bus.closeElsewhere() }

    /// Shows a notification, which replaces the last one. A desktop without buttons shows it without them.
    /// - Parameters:
    ///   - summary: one line of plain text.
    ///   - body: plain text; markup characters are escaped.
    ///   - expires: the time until it disappears, in milliseconds.
    /// - Returns: false if no desktop accepted it.
    public func show(summary: String, body: String, buttons: [Button], expires: Int) -> Bool {
        let capabilities = call("GetCapabilities", [])?.first?.list ?? []
        let actions = capabilities.contains { $0.text == "actions" } ? buttons : []
        // Known before a button can be pressed.
        let owner = actions.isEmpty ? nil : serviceOwner
        state.with { $0.owner = owner }
        let identifier = call(
            "Notify",
            [
                .text("share"), .uint32(state.with { $0.identifier }), .text("video-x-generic"), .text(summary),
                .text(UntrustedText.escapedMarkup(body)),
                .array(of: "s", actions.flatMap { [.text($0.key), .text($0.label)] }), .array(of: "{sv}", []),
                .int32(Int32(clamping: expires)),
            ])?.first?.number
        state.with { $0.identifier = UInt32(clamping: identifier ?? 0) }
        return identifier != nil
    }

    /// Removes the notification. A second call does nothing.
    public func close() {
        let identifier = state.with { state in
            defer { state = State() }
            return state.identifier
        }
        if identifier != 0 { _ = call("CloseNotification", [.uint32(identifier)]) }
    }

    private var serviceOwner: String? {
        let reply = bus.callAndWait(
            BusConnection.bus, BusConnection.busPath, BusConnection.bus, "GetNameOwner", [.text(Self.service)],
            milliseconds: Self.timeout)
        guard case .values(let values) = reply else { return nil }
        return values.first?.text
    }

    /// Calls the service, which the bus starts if it has to.
    /// - Returns: nil for an error, and if nothing comes in time.
    private func call(_ member: String, _ arguments: [BusValue]) -> [BusValue]? {
        let reply = bus.ifOpen { connection in
            g_dbus_connection_call_sync(
                connection, Self.service, Self.path, Self.service, member,
                arguments.isEmpty ? nil : BusValue.tuple(arguments).variant, nil, G_DBUS_CALL_FLAGS_NONE, Self.timeout,
                nil, nil)
        }
        guard case let reply?? = reply else { return nil }
        defer { g_variant_unref(reply) }
        return BusValue(reply).list
    }
}
