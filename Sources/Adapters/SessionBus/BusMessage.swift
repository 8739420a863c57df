import CGIO

/// A message that a ``BusConnection`` has received.
package struct BusMessage: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        case call
        case reply
        case error
        case signal
    }

    package let kind: Kind
    /// The unique name of the connection that has sent it; the bus vouches for it.
    package let sender: String
    package let path: String
    package let interface: String
    package let member: String
    /// The types of `arguments`: "sb".
    package let signature: String
    package let arguments: [BusValue]
    package let serial: UInt32
    /// Of a reply or an error: the `serial` of the call.
    package let replySerial: UInt32

    /// Reads a message of GIO; nil if its type is unknown.
    init?(_ message: OpaquePointer) {
        switch g_dbus_message_get_message_type(message) {
        case G_DBUS_MESSAGE_TYPE_METHOD_CALL: kind = .call
        case G_DBUS_MESSAGE_TYPE_METHOD_RETURN: kind = .reply
        case G_DBUS_MESSAGE_TYPE_ERROR: kind = .error
        case G_DBUS_MESSAGE_TYPE_SIGNAL: kind = .signal
        default: return nil
        }
        func text(_ text: UnsafePointer<CChar>?) -> String { text.map { String(cString: $0) } ?? "" }
        sender = text(g_dbus_message_get_sender(message))
        path = text(g_dbus_message_get_path(message))
        interface = text(g_dbus_message_get_interface(message))
        member = text(g_dbus_message_get_member(message))
        signature = text(g_dbus_message_get_signature(message))
        serial = g_dbus_message_get_serial(message)
        replySerial = g_dbus_message_get_reply_serial(message)
        arguments = g_dbus_message_get_body(message).flatMap { BusValue($0).list } ?? []
    }

    /// Whether this is the signal `interface.member`.
    package func isSignal(_ interface: String, _ member: String) -> Bool {
        kind == .signal && self.interface == interface && self.member == member
    }

    /// The new owner of a name of the bus, if this is the bus's signal about that name; empty if it has none now.
    func newOwner(of name: String) -> String? {
        guard isSignal(BusConnection.bus, "NameOwnerChanged"), sender == BusConnection.bus, arguments.count == 3,
            arguments[0].text == name
        else { return nil }
        return arguments[2].text
    }
}
