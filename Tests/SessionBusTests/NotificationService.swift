import CGIO
import Foundation
import TestSupport

/// A notification service on a private D-Bus session bus.
final class NotificationService: @unchecked Sendable {
    // SAFETY: `calls` is touched under `condition` only; GIO calls the filter on its own thread.
    struct Call: Equatable, Sendable {
        var method: String
        /// For Notify: the id to replace, with summary and body. For CloseNotification: the id.
        var identifier: UInt32
        var summary = ""
        var body = ""
    }

    let address: String
    private let daemon: Program
    private let bus: OpaquePointer
    private let condition = NSCondition()
    private var calls: [Call] = []

    /// - Parameter isSilent: accepts calls but never replies.
    init(isSilent: Bool = false) throws {
        daemon = try Program("dbus-daemon", ["--session", "--nofork", "--nopidfile", "--print-address=1"])
        guard let address = daemon.line(seconds: 20, { $0 }), let bus = cgio_connect(address) else {
            throw Program.Failure("no bus: \(daemon.text.errors)")
        }
        self.address = address
        self.bus = bus
        let context = Context(service: self, isSilent: isSilent)
        g_dbus_connection_add_filter(
            bus,
            { bus, message, isIncoming, raw in
                guard let bus, let message, let raw, isIncoming != 0,
                    g_dbus_message_get_message_type(message) == G_DBUS_MESSAGE_TYPE_METHOD_CALL
                else { return message }
                Unmanaged<Context>.fromOpaque(raw).takeUnretainedValue().take(message, bus)
                cgio_unref(UnsafeMutableRawPointer(message))
                return nil
            }, Unmanaged.passRetained(context).toOpaque(), { Unmanaged<Context>.fromOpaque($0!).release() })
        guard cgio_own_name(bus, "org.freedesktop.Notifications") != 0 else { throw Program.Failure("no name") }
    }

    deinit { cgio_disconnect(bus) }

    private final class Context {
        private weak var service: NotificationService?
        private let isSilent: Bool

        init(service: NotificationService, isSilent: Bool) {
            self.service = service
            self.isSilent = isSilent
        }

        func take(_ message: OpaquePointer, _ bus: OpaquePointer) {
            let method = g_dbus_message_get_member(message).map { String(cString: $0) } ?? ""
            guard let body = g_dbus_message_get_body(message) else { return }
            func text(_ index: Int) -> String {
                let child = g_variant_get_child_value(body, gsize(index))
                defer { g_variant_unref(child) }
                return g_variant_get_string(child, nil).map { String(cString: $0) } ?? ""
            }
            let isNotify = method == "Notify"
            let number = g_variant_get_child_value(body, isNotify ? 1 : 0)
            var call = NotificationService.Call(method: method, identifier: g_variant_get_uint32(number))
            g_variant_unref(number)
            if isNotify { (call.summary, call.body) = (text(3), text(4)) }
            if !isSilent { cgio_answer(bus, message, isNotify ? 7 : 0) }
            service?.add(call)
        }
    }

    private func add(_ call: Call) {
        condition.lock()
        calls.append(call)
        condition.broadcast()
        condition.unlock()
    }

    /// Waits until there are `count` calls, for 20 s at most.
    func calls(_ count: Int) -> [Call] {
        let deadline = Date(timeIntervalSinceNow: 20)
        condition.lock()
        defer { condition.unlock() }
        while calls.count < count, condition.wait(until: deadline) {}
        return calls
    }
}
