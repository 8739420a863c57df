import CGIO
import MediaCore
import Synchronization

/// Answers the messages to a ``BroadcastObject``. Called on GIO's thread.
final class BroadcastMessages: Sendable {
    private struct Shared {
        var state: BroadcastObject.State
        /// Commands that may still come in this second.
        var allowance = BroadcastMessages.commandsPerSecond
        var second = ContinuousClock.now
    }

    private static let commandsPerSecond = 50
    private let bus: BusConnection
    private let handler: BroadcastObject.Handler
    private let shared: Mutex<Shared>
    private let begin = ContinuousClock.now

    init(_ bus: BusConnection, _ state: BroadcastObject.State, _ handler: @escaping BroadcastObject.Handler) {
        self.bus = bus
        self.handler = handler
        shared = Mutex(Shared(state: state))
    }

    func update(_ state: BroadcastObject.State) {
        let old = shared.withLock { shared in
            defer { shared.state = state }
            return shared.state
        }
        let (before, after) = (properties(old), properties(state))
        // Elapsed changes all the time, and is told on request only.
        let changed = zip(before, after).filter { $0.0.value != $0.1.value && $0.1.name != "Elapsed" }.map(\.1)
        if !changed.isEmpty {
            bus.ifOpen { cgio_emit_changed($0, BroadcastObject.path, BroadcastObject.name, Self.dictionary(changed)) }
        }
        tellRights(from: old, to: state)
    }

    private func tellRights(from old: BroadcastObject.State, to state: BroadcastObject.State) {
        let known = Dictionary(old.audience.map { ($0.number, $0.rights) }) { $1 }
        for viewer in state.audience {
            guard let before = known[viewer.number], let rights = viewer.rights, rights != before else { continue }
            bus.signal(
                BroadcastObject.path, BroadcastObject.name, "RightsChanged",
                [.uint32(UInt32(clamping: viewer.number)), .text(viewer.name), rights.busDictionary])
        }
    }

    func tell(_ comment: BroadcastComment) {
        bus.signal(
            BroadcastObject.path, BroadcastObject.name, "Commented",
            [.text(comment.from ?? ""), .text(comment.text)])
    }

    // MARK: Properties

    private enum Value: Equatable {
        case boolean(Bool)
        case number(Int)
        case text(String)

        /// A floating reference.
        var variant: OpaquePointer {
            switch self {
            case .boolean(let value): g_variant_new_boolean(value ? 1 : 0)
            case .number(let value): g_variant_new_uint32(guint32(clamping: value))
            case .text(let value): g_variant_new_string(value)
            }
        }
    }

    private struct Property {
        var name: String
        var value: Value
    }

    private func properties(_ state: BroadcastObject.State) -> [Property] {
        let elapsed = state.isBroadcasting ? Int((ContinuousClock.now - begin) / .seconds(1)) : 0
        return [
            .init(name: "Captured", value: .boolean(state.isCaptured)),
            .init(name: "Broadcasting", value: .boolean(state.isBroadcasting)),
            .init(name: "Paused", value: .boolean(state.holds.contains(.pause))),
            .init(name: "Blanked", value: .boolean(state.holds.contains(.blank))),
            .init(name: "Frozen", value: .boolean(state.holds.contains(.freeze))),
            .init(name: "Elapsed", value: .number(elapsed)),
            .init(name: "Viewers", value: .number(state.viewers)),
            .init(name: "Microphone", value: .boolean(state.hasMicrophone)),
            .init(name: "Service", value: .text(state.service)),
            .init(name: "Controller", value: .text(state.controller)),
        ]
    }

    private static func dictionary(_ properties: [Property]) -> OpaquePointer {
        let builder = cgio_properties_new()
        for property in properties { cgio_properties_add(builder, property.name, property.value.variant) }
        return cgio_properties_end(builder)
    }

    // MARK: Messages

    /// - Returns: false if the message is not for the object.
    func take(_ message: OpaquePointer) -> Bool {
        guard g_dbus_message_get_message_type(message) == G_DBUS_MESSAGE_TYPE_METHOD_CALL,
            Self.text(g_dbus_message_get_path(message)) == BroadcastObject.path
        else { return false }
        let member = Self.text(g_dbus_message_get_member(message))
        let signature = Self.text(g_dbus_message_get_signature(message))
        switch Self.text(g_dbus_message_get_interface(message)) {
        case "org.freedesktop.DBus.Peer": return false
        case "org.freedesktop.DBus.Introspectable":
            guard member == "Introspect" else { return refuse(message, .unknownMethod) }
            reply(message, g_variant_new_string(Self.introspection))
        case "org.freedesktop.DBus.Properties": answerProperties(message, member, signature)
        case BroadcastObject.name, "": answerMethod(message, member, signature)
        default: return refuse(message, .unknownInterface)
        }
        return true
    }

    private func answerProperties(_ message: OpaquePointer, _ member: String, _ signature: String) {
        let arguments = Self.texts(of: message)
        guard (member == "Get" && signature == "ss") || (member == "GetAll" && signature == "s") else {
            return _ = refuse(message, member == "Set" ? .readOnly : .unknownMethod)
        }
        guard arguments.first == BroadcastObject.name || arguments.first == "" else {
            return _ = refuse(message, .unknownInterface)
        }
        let all = properties(shared.withLock { $0.state })
        if member == "GetAll" { return reply(message, Self.dictionary(all)) }
        guard let property = all.first(where: { $0.name == arguments.last }) else {
            return _ = refuse(message, .unknownProperty)
        }
        reply(message, g_variant_new_variant(property.value.variant))
    }

    private func answerMethod(_ message: OpaquePointer, _ member: String, _ signature: String) {
        guard let expected = BroadcastObject.Command.signatures[member] else {
            return _ = refuse(message, .unknownMethod)
        }
        guard signature == expected else { return _ = refuse(message, .wrongArguments) }
        let command: BroadcastObject.Command
        do throws(BroadcastObject.Refusal) {
            let read = try BroadcastObject.Command.read(
                member, Self.texts(of: message), isOn: signature == "b" && Self.boolean(of: message))
            guard let read else { return _ = refuse(message, .wrongArguments) }
            command = read
        } catch {
            return refuse(message, error)
        }
        guard takeAllowance() else { return _ = refuse(message, .tooMany) }
        let call = PendingCall(message)
        Task { [handler, self] in
            switch await handler(command) {
            case .done: bus.ifOpen { cgio_reply($0, call.message, nil) }
            case .viewers(let viewers):
                bus.ifOpen {
                    cgio_reply($0, call.message, BusValue.array(of: "a{sv}", viewers.map(\.dictionary)).variant)
                }
            case .refused(let refusal): refuse(call.message, refusal)
            }
        }
    }

    private func takeAllowance() -> Bool {
        shared.withLock { shared in
            let now = ContinuousClock.now
            if now - shared.second >= .seconds(1) { (shared.second, shared.allowance) = (now, Self.commandsPerSecond) }
            shared.allowance -= 1
            return shared.allowance >= 0
        }
    }

    private enum Refusal: String {
        case unknownMethod = "UnknownMethod"
        case unknownInterface = "UnknownInterface"
        case unknownProperty = "UnknownProperty"
        case readOnly = "PropertyReadOnly"
        case wrongArguments = "InvalidArgs"
        case tooMany = "LimitsExceeded"
    }

    private func refuse(_ message: OpaquePointer, _ refusal: Refusal) -> Bool {
        bus.ifOpen {
            cgio_reply_error(
                $0, message, "org.freedesktop.DBus.Error.\(refusal.rawValue)",
                "the call is refused: \(refusal.rawValue)")
        }
        return true
    }

    private func refuse(_ message: OpaquePointer, _ refusal: BroadcastObject.Refusal) {
        bus.ifOpen { cgio_reply_error($0, message, refusal.name, refusal.sentence) }
    }

    private func reply(_ message: OpaquePointer, _ value: @autoclosure () -> OpaquePointer) {
        bus.ifOpen { cgio_reply($0, message, value()) }
    }

    // MARK: Arguments

    private static func text(_ text: UnsafePointer<CChar>?) -> String { text.map { String(cString: $0) } ?? "" }

    /// The arguments of a call whose signature has strings alone.
    private static func texts(of message: OpaquePointer) -> [String] {
        guard let body = g_dbus_message_get_body(message) else { return [] }
        return (0..<g_variant_n_children(body)).compactMap { index in
            guard let child = g_variant_get_child_value(body, index) else { return nil }
            defer { g_variant_unref(child) }
            guard text(g_variant_get_type_string(child)) == "s" else { return nil }
            return text(g_variant_get_string(child, nil))
        }
    }

    /// The argument of a call with the signature "b".
    private static func boolean(of message: OpaquePointer) -> Bool {
        guard let body = g_dbus_message_get_body(message), let child = g_variant_get_child_value(body, 0) else {
            return false
        }
        defer { g_variant_unref(child) }
        return g_variant_get_boolean(child) != 0
    }

    private static let introspection = """
        <node><interface name="io.sharekit.Broadcast1">
        <method name="Stop"/><method name="Pause"/><method name="Resume"/>
        <method name="Blank"/><method name="Unblank"/><method name="Freeze"/><method name="Unfreeze"/>
        <method name="SetMicrophone"><arg name="on" type="b" direction="in"/></method>
        <method name="ListViewers"><arg name="viewers" type="aa{sv}" direction="out"/></method>
        <method name="Grant"><arg name="viewer" type="s" direction="in"/>
        <arg name="right" type="s" direction="in"/></method>
        <method name="Revoke"><arg name="viewer" type="s" direction="in"/>
        <arg name="right" type="s" direction="in"/></method>
        <method name="TakeControlBack"/>
        <method name="Say"><arg name="text" type="s" direction="in"/></method>
        <signal name="RightsChanged"><arg name="number" type="u"/><arg name="name" type="s"/>
        <arg name="rights" type="a{ss}"/></signal>
        <signal name="Commented"><arg name="from" type="s"/><arg name="text" type="s"/></signal>
        <property name="Captured" type="b" access="read"/>
        <property name="Broadcasting" type="b" access="read"/>
        <property name="Paused" type="b" access="read"/>
        <property name="Blanked" type="b" access="read"/>
        <property name="Frozen" type="b" access="read"/>
        <property name="Elapsed" type="u" access="read">
        <annotation name="org.freedesktop.DBus.Property.EmitsChangedSignal" value="false"/></property>
        <property name="Viewers" type="u" access="read"/>
        <property name="Microphone" type="b" access="read"/>
        <property name="Service" type="s" access="read"/>
        <property name="Controller" type="s" access="read"/>
        </interface>
        <interface name="org.freedesktop.DBus.Properties">
        <method name="Get"><arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="v" direction="out"/></method>
        <method name="GetAll"><arg type="s" direction="in"/><arg type="a{sv}" direction="out"/></method>
        <signal name="PropertiesChanged"><arg type="s"/><arg type="a{sv}"/><arg type="as"/></signal>
        </interface></node>
        """
}

/// A message that is kept for its reply.
// SAFETY: the message is locked by GIO when it is received; only its header is read.
private final class PendingCall: @unchecked Sendable {
    let message: OpaquePointer

    init(_ message: OpaquePointer) {
        cgio_ref(UnsafeMutableRawPointer(message))
        self.message = message
    }

    deinit { cgio_unref(UnsafeMutableRawPointer(message)) }
}
