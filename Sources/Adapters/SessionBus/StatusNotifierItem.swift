/// An icon with a tool tip and a menu in the tray of the desktop (StatusNotifierItem, freedesktop.org; the menu is
/// `com.canonical.dbusmenu`).
///
/// Where no tray runs, nothing is shown; one that comes later is used.
public final class StatusNotifierItem: Sendable {
    public struct Content: Sendable, Equatable {
        public struct MenuItem: Sendable, Equatable {
            /// Above 0; what the user chooses is told by it.
            public var id: Int
            public var label: String
            public var isEnabled: Bool
            /// Whether it has a check mark; nil: it can have none.
            public var isChecked: Bool?
            /// The items of its submenu. One that has such cannot be chosen itself.
            public var children: [MenuItem]

            public init(
                id: Int, label: String, isEnabled: Bool = true, isChecked: Bool? = nil, children: [MenuItem] = []
            ) {
                (self.id, self.label, self.isEnabled) = (id, label, isEnabled)
                (self.isChecked, self.children) = (isChecked, children)
            }
        }

        /// The name of the program.
        public var title: String
        /// Plain text.
        public var toolTip: String
        /// Red; grey otherwise.
        public var isLive: Bool
        /// With a white middle.
        public var isControlled: Bool
        public var menu: [MenuItem]

        public init(title: String, toolTip: String, isLive: Bool, isControlled: Bool = false, menu: [MenuItem]) {
            self.title = title
            self.toolTip = toolTip
            (self.isLive, self.isControlled) = (isLive, isControlled)
            self.menu = menu
        }
    }

    public enum Event: Sendable, Equatable {
        /// Whether a tray shows the item: told at first, and after each change.
        case isShown(Bool)
        /// The user has chosen this item of the menu.
        case chosen(Int)
    }

    private let bus: BusConnection
    private let messages: StatusNotifierMessages

    /// Connects. Blocks until the bus has answered, but not for the tray.
    /// - Parameters:
    ///   - address: as in DBUS_SESSION_BUS_ADDRESS. Unlike GIO's default, this starts no bus.
    ///   - onEvent: called on GIO's thread; must not block.
    /// - Returns: nil if no bus answers.
    public init?(address: String, _ content: Content, onEvent: @escaping @Sendable (Event) -> Void) {
        guard let bus = BusConnection(address: address) else { return nil }
        self.bus = bus
        let messages = StatusNotifierMessages(bus, content, onEvent)
        self.messages = messages
        bus.listen { messages.take($0) }
        messages.begin()
    }

    deinit { bus.closeElsewhere() }

    /// Shows other content, and tells the tray what has changed.
    public func update(_ content: Content) { messages.update(content) }

    /// Removes the item. May be called more than once, not on GIO's thread.
    public func close() { bus.close() }
}
