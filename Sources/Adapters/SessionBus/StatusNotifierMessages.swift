import MediaCore
import Synchronization

/// Answers the tray: its calls to the item and to the menu.
final class StatusNotifierMessages: Sendable {
    private struct Shared {
        var content: StatusNotifierItem.Content
        var menuRevision: UInt32 = 1
        /// The tray's answers: whether there is a host that shows items, and whether it took this one.
        var hasHost = false
        var isRegistered = false
        var wasShown: Bool?
        var hostQuery: UInt32 = 0
        var registration: UInt32 = 0
    }

    static let item = (path: "/StatusNotifierItem", interface: "org.kde.StatusNotifierItem")
    private static let watcher = "org.kde.StatusNotifierWatcher"
    private static let watcherPath = "/StatusNotifierWatcher"

    private let bus: BusConnection
    private let onEvent: @Sendable (StatusNotifierItem.Event) -> Void
    // It is held while a query is sent, so that its reply is handled after its number is known.
    private let shared: Mutex<Shared>

    init(
        _ bus: BusConnection, _ content: StatusNotifierItem.Content,
        _ onEvent: @escaping @Sendable (StatusNotifierItem.Event) -> Void
    ) {
        self.bus = bus
        self.onEvent = onEvent
        shared = Mutex(Shared(content: content))
    }

    // MARK: The tray

    func begin() {
        bus.match(
            "type='signal',sender='\(BusConnection.bus)',interface='\(BusConnection.bus)',member='NameOwnerChanged',"
                + "arg0='\(Self.watcher)'")
        bus.match("type='signal',sender='\(Self.watcher)',interface='\(Self.watcher)'")
        shared.withLock { register(&$0) }
    }

    private func register(_ shared: inout Shared) {
        (shared.hasHost, shared.isRegistered) = (false, false)
        shared.registration = bus.call(
            Self.watcher, Self.watcherPath, Self.watcher, "RegisterStatusNotifierItem", [.text(bus.uniqueName)])
        askForHost(&shared)
    }

    private func askForHost(_ shared: inout Shared) {
        shared.hostQuery = bus.call(
            Self.watcher, Self.watcherPath, BusConnection.properties, "Get",
            [.text(Self.watcher), .text("IsStatusNotifierHostRegistered")])
    }

    func update(_ content: StatusNotifierItem.Content) {
        let (old, changes, revision) = shared.withLock { shared in
            defer { shared.content = content }
            let changes = StatusNotifierMenu.changes(from: shared.content.menu, to: content.menu)
            if changes.parent != nil { shared.menuRevision &+= 1 }
            return (shared.content, changes, shared.menuRevision)
        }
        let (path, interface) = Self.item
        if content.toolTip != old.toolTip { bus.signal(path, interface, "NewToolTip") }
        if content.title != old.title { bus.signal(path, interface, "NewTitle") }
        if (content.isLive, content.isControlled) != (old.isLive, old.isControlled) {
            bus.signal(path, interface, "NewIcon")
        }
        // A tray reads the properties of new items alone when it reads the layout.
        if let properties = changes.properties {
            bus.signal(
                StatusNotifierMenu.path, StatusNotifierMenu.interface, "ItemsPropertiesUpdated", properties)
        }
        if let parent = changes.parent {
            bus.signal(
                StatusNotifierMenu.path, StatusNotifierMenu.interface, "LayoutUpdated",
                [.uint32(revision), .int32(Int32(clamping: parent))])
        }
    }

    // MARK: Messages

    func take(_ message: BusMessage) -> Bool {
        if message.kind == .call { return answer(message) }
        let news: Bool? = shared.withLock { shared in
            if let owner = message.newOwner(of: Self.watcher) {
                if owner.isEmpty {
                    (shared.hasHost, shared.isRegistered) = (false, false)
                } else {
                    register(&shared)
                    return nil
                }
            } else if message.isSignal(Self.watcher, "StatusNotifierHostRegistered")
                || message.isSignal(Self.watcher, "StatusNotifierHostUnregistered")
            {
                askForHost(&shared)
                return nil
            } else if message.replySerial != 0, message.replySerial == shared.registration {
                shared.registration = 0
                shared.isRegistered = message.kind == .reply
            } else if message.replySerial != 0, message.replySerial == shared.hostQuery {
                shared.hostQuery = 0
                shared.hasHost = message.arguments.first?.isTrue == true
            } else {
                return nil
            }
            let isShown = shared.hasHost && shared.isRegistered
            // Both answers are awaited.
            guard shared.registration == 0, shared.hostQuery == 0, isShown != shared.wasShown else { return nil }
            shared.wasShown = isShown
            return isShown
        }
        if let news { onEvent(.isShown(news)) }
        return false
    }

    private func answer(_ call: BusMessage) -> Bool {
        let (content, revision) = shared.withLock { ($0.content, $0.menuRevision) }
        let menu = StatusNotifierMenu(items: content.menu, revision: revision)
        let isItem = call.path == Self.item.path
        guard isItem || call.path == StatusNotifierMenu.path else { return false }
        switch call.interface {
        case BusConnection.properties:
            answerProperties(call, isItem ? Self.properties(content) : StatusNotifierMenu.properties)
        case "org.freedesktop.DBus.Introspectable":
            bus.reply(to: call, [.text(isItem ? Self.introspection : StatusNotifierMenu.introspection)])
        case Self.item.interface where isItem:
            // The menu has all that can be done; a click does nothing, so that none ends a broadcast by mistake.
            let isKnown = ["Activate", "SecondaryActivate", "ContextMenu", "Scroll"].contains(call.member)
            if isKnown { bus.reply(to: call) } else { refuse(call) }
        case StatusNotifierMenu.interface where !isItem:
            guard let answer = menu.answer(call) else { return refuse(call) }
            bus.reply(to: call, answer.values)
            for id in answer.chosen { onEvent(.chosen(id)) }
        default: return false
        }
        return true
    }

    private func answerProperties(_ call: BusMessage, _ properties: KeyValuePairs<String, BusValue>) {
        switch (call.member, call.signature) {
        case ("GetAll", "s"): bus.reply(to: call, [.dictionary(properties)])
        case ("Get", "ss"):
            guard let value = properties.first(where: { $0.key == call.arguments[1].text })?.value else {
                return bus.refuse(call, "org.freedesktop.DBus.Error.UnknownProperty")
            }
            bus.reply(to: call, [.variant(value)])
        default: _ = refuse(call)
        }
    }

    @discardableResult
    private func refuse(_ call: BusMessage) -> Bool {
        bus.refuse(call, "org.freedesktop.DBus.Error.UnknownMethod")
        return true
    }

    // MARK: The item

    private static func properties(_ content: StatusNotifierItem.Content) -> KeyValuePairs<String, BusValue> {
        let icon = BusValue.array(of: "(iiay)", [circle(content)])
        let none = BusValue.array(of: "(iiay)", [])
        return [
            "Category": .text("ApplicationStatus"), "Id": .text("share"), "Title": .text(content.title),
            "Status": .text("Active"), "WindowId": .int32(0), "IconName": .text(""), "IconPixmap": icon,
            "OverlayIconName": .text(""), "AttentionIconName": .text(""), "IconThemePath": .text(""),
            "ToolTip": .tuple([
                .text(""), none, .text(content.title), .text(UntrustedText.escapedMarkup(content.toolTip)),
            ]),
            "ItemIsMenu": .boolean(true), "Menu": .path(StatusNotifierMenu.path),
        ]
    }

    /// A filled circle of 22 x 22 pixels: width, height, and ARGB32 in network byte order.
    private static func circle(_ content: StatusNotifierItem.Content) -> BusValue {
        let size = 22
        let colour: [UInt8] = content.isLive ? [255, 0xE0, 0x1B, 0x24] : [255, 0x9A, 0x99, 0x96]
        let middle: [UInt8] = content.isControlled ? [255, 255, 255, 255] : colour
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size * size * 4)
        for y in 0..<size {
            for x in 0..<size {
                // Twice the distance from the middle.
                let (right, down) = (2 * x + 1 - size, 2 * y + 1 - size)
                let square = right * right + down * down
                bytes += square <= 8 * 8 ? middle : square <= 18 * 18 ? colour : [0, 0, 0, 0]
            }
        }
        return .tuple([.int32(Int32(size)), .int32(Int32(size)), .bytes(bytes)])
    }

    private static let introspection = """
        <node><interface name="org.kde.StatusNotifierItem">
        <method name="Activate"><arg type="i" direction="in"/><arg type="i" direction="in"/></method>
        <method name="ContextMenu"><arg type="i" direction="in"/><arg type="i" direction="in"/></method>
        <property name="Category" type="s" access="read"/><property name="Id" type="s" access="read"/>
        <property name="Title" type="s" access="read"/><property name="Status" type="s" access="read"/>
        <property name="IconPixmap" type="a(iiay)" access="read"/>
        <property name="ToolTip" type="(sa(iiay)ss)" access="read"/>
        <property name="ItemIsMenu" type="b" access="read"/><property name="Menu" type="o" access="read"/>
        <signal name="NewToolTip"/><signal name="NewIcon"/><signal name="NewTitle"/>
        </interface></node>
        """
}
