import CGIO
public import MediaCore
import Synchronization

/// The broadcast on a session bus: the object `/io/sharekit/Broadcast1` with the interface `io.sharekit.Broadcast1`.
///
/// Properties: `Captured`, `Broadcasting`, `Paused`, `Blanked`, `Frozen`, `Microphone` (b), `Elapsed` (seconds),
/// `Viewers` (u), `Service`, `Controller` (s). Methods: `Stop`, `Pause`, `Resume`, `Blank`, `Unblank`, `Freeze`,
/// `Unfreeze`, `SetMicrophone(b)`, `ListViewers() -> aa{sv}`, `Grant(ss)`, `Revoke(ss)`, `TakeControlBack`, `Say(s)`.
/// Signals: `RightsChanged(usa{ss})`, `Commented(ss)`. Messages are handled on GIO's thread, and commands on Swift's
/// pool, at most 50 a second. `init`, `update` and `close` block; use one thread for them.
public final class BroadcastObject: Sendable {
    /// The values of the properties; `Elapsed` is counted here.
    public struct State: Sendable, Equatable {
        /// The screen may be captured now.
        public var isCaptured = false
        public var isBroadcasting = false
        /// The holds of the host's user.
        public var holds: Set<BroadcastHold> = []
        public var viewers = 0
        /// The microphone is shared and not muted.
        public var hasMicrophone = false
        /// The service that takes the broadcast in; empty for viewers with the link.
        public var service = ""
        /// The name of the viewer that controls the screen; empty: none does.
        public var controller = ""
        /// The viewers' sessions, as far as this process knows them. No property tells them.
        public var audience: [Viewer] = []

        public init() {}
    }

    public enum Command: Sendable, Equatable {
        case stop
        /// Begins a hold, or ends it.
        case hold(BroadcastHold, Bool)
        case setMicrophone(Bool)
        case listViewers
        /// Grants a viewer, by its name, its number or the beginning of its fingerprint, a right, or takes it back.
        case setRight(ViewerRight, isGranted: Bool, viewer: String)
        case takeControlBack
        /// Writes a comment for all viewers, which is not too long.
        case say(String)
    }

    /// Carries a command out.
    public typealias Handler = @Sendable (Command) async -> Answer

    public enum Failure: Error, Sendable {
        /// No bus answers at the address.
        case noBus
        /// Another process has the name.
        case nameIsTaken
    }

    public static let name = "io.sharekit.Broadcast1"
    public static let path = "/io/sharekit/Broadcast1"
    private static let timeout: gint = 2_000

    private let bus: BusConnection
    private let messages: BroadcastMessages
    private let filter: guint

    /// Connects to a bus, and takes the name.
    /// - Parameter address: as in DBUS_SESSION_BUS_ADDRESS. Unlike GIO's default, this starts no bus.
    public init(address: String, _ state: State, handler: @escaping Handler) throws(Failure) {
        guard g_dbus_is_supported_address(address, nil) != 0, let connection = cgio_connect(address) else {
            throw .noBus
        }
        bus = BusConnection(connection)
        messages = BroadcastMessages(bus, state, handler)
        filter = g_dbus_connection_add_filter(
            connection,
            { _, message, isIncoming, raw in
                guard let message, let raw, isIncoming != 0,
                    Unmanaged<BroadcastMessages>.fromOpaque(raw).takeUnretainedValue().take(message)
                else { return message }
                cgio_unref(UnsafeMutableRawPointer(message))
                return nil
            }, Unmanaged.passRetained(messages).toOpaque(),
            { raw in
                if let raw { Unmanaged<BroadcastMessages>.fromOpaque(raw).release() }
            })
        guard cgio_own_name_alone(connection, Self.name, Self.timeout) != 0 else {
            g_dbus_connection_remove_filter(connection, filter)
            bus.close()
            throw .nameIsTaken
        }
    }

    /// Sets the properties, and emits PropertiesChanged for those that have changed.
    /// Emits RightsChanged for each viewer whose rights have changed.
    public func update(_ state: State) { messages.update(state) }

    /// Emits Commented.
    public func tell(_ comment: BroadcastComment) { messages.tell(comment) }

    /// Gives the name up and disconnects. May be called more than once.
    public func close() {
        bus.ifOpen { g_dbus_connection_remove_filter($0, filter) }
        bus.close()
    }
}
