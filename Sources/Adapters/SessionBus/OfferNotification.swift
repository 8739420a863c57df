import CGIO
import LinuxRuntime
import MediaCore

/// A desktop notification that offers one action (Desktop Notifications Specification 1.2), such as to open a file.
public enum OfferNotification {
    private static let (service, path) = ("org.freedesktop.Notifications", "/org/freedesktop/Notifications")
    /// The longest time that the call waits for the desktop, in ms.
    private static let timeout: gint = 5_000

    public enum Answer: Sendable, Equatable {
        case chosen
        /// It was closed, or the time is over.
        case dismissed
        /// No bus or no desktop shows it.
        case notShown
    }

    private enum Event: Sendable {
        case invoked(Int)
        case closed(Int)
    }

    /// Shows a notification, and blocks until the user has chosen the action or closed it.
    /// - Parameters:
    ///   - summary: one line of plain text.
    ///   - body: plain text.
    ///   - action: the label of its button; a click on the notification itself counts, too.
    ///   - seconds: how long it waits.
    ///   - address: as in DBUS_SESSION_BUS_ADDRESS.
    public static func show(
        summary: String, body: String, action: String, seconds: Int, address: String
    ) -> Answer {
        guard let bus = BusConnection(address: address) else { return .notShown }
        defer { bus.close() }
        let events = Monitor<[Event]>([])
        bus.listen { message in
            guard let number = message.arguments.first?.number else { return false }
            let event: Event? =
                message.isSignal(service, "ActionInvoked")
                ? .invoked(number) : message.isSignal(service, "NotificationClosed") ? .closed(number) : nil
            if let event { events.change { $0 = ($0 + [event]).suffix(64) } }
            return false
        }
        bus.match("type='signal',interface='\(service)',path='\(path)'")
        guard let identifier = notify(bus, summary, body, action, seconds) else { return .notShown }
        let deadline = MonotonicClock.now + .seconds(seconds)
        let answer = events.wait(until: deadline) { events -> Answer? in
            for event in events {
                switch event {
                case .invoked(identifier): return .chosen
                case .closed(identifier): return .dismissed
                default: continue
                }
            }
            return nil
        }
        return answer ?? .dismissed
    }

    private static func notify(
        _ bus: BusConnection, _ summary: String, _ body: String, _ action: String, _ seconds: Int
    ) -> Int? {
        let arguments = BusValue.tuple([
            .text("share"), .uint32(0), .text("video-x-generic"), .text(summary),
            .text(UntrustedText.escapedMarkup(body)),
            .array(of: "s", [.text("default"), .text(action), .text("open"), .text(action)]), .array(of: "{sv}", []),
            .int32(Int32(clamping: seconds * 1_000)),
        ])
        let reply = bus.ifOpen { connection in
            g_dbus_connection_call_sync(
                connection, service, path, service, "Notify", arguments.variant, nil, G_DBUS_CALL_FLAGS_NONE, timeout,
                nil, nil)
        }
        guard case let reply?? = reply else { return nil }
        defer { g_variant_unref(reply) }
        return BusValue(reply).list?.first?.number
    }
}
