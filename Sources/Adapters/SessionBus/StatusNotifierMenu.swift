/// The menu of a ``StatusNotifierItem``: the interface `com.canonical.dbusmenu`, version 3.
struct StatusNotifierMenu {
    static let path = "/StatusNotifierItem/Menu"
    static let interface = "com.canonical.dbusmenu"
    static let properties: KeyValuePairs<String, BusValue> = [
        "Version": .uint32(3), "TextDirection": .text("ltr"), "Status": .text("normal"),
        "IconThemePath": .array(of: "s", []),
    ]

    typealias Item = StatusNotifierItem.Content.MenuItem

    let items: [Item]
    let revision: UInt32

    /// - Returns: what a call is answered with, and the items that it chooses; nil for an unknown or malformed call.
    func answer(_ call: BusMessage) -> (values: [BusValue], chosen: [Int])? {
        let arguments = call.arguments
        switch (call.member, call.signature) {
        case ("GetLayout", "iias"):
            let names = Set((arguments[2].list ?? []).compactMap(\.text))
            guard let parent = arguments[0].number,
                let layout = layout(parent, depth: arguments[1].number ?? -1, names)
            else { return nil }
            return ([.uint32(revision), layout], [])
        case ("GetGroupProperties", "aias"):
            let wanted = Set((arguments[0].list ?? []).compactMap(\.number))
            let names = Set((arguments[1].list ?? []).compactMap(\.text))
            let found = Self.all(of: items).filter { wanted.isEmpty || wanted.contains($0.id) }
            return ([.array(of: "(ia{sv})", found.map { Self.identified($0.id, Self.properties(of: $0), names) })], [])
        case ("GetProperty", "is"):
            guard let item = item(arguments[0].number), let name = arguments[1].text,
                let value = Self.properties(of: item).first(where: { $0.name == name })?.value
            else { return nil }
            return ([.variant(value)], [])
        case ("Event", "isvu"): return ([], chosen([.tuple(arguments)]))
        case ("EventGroup", "a(isvu)"): return ([.array(of: "i", [])], chosen(arguments[0].list ?? []))
        case ("AboutToShow", "i"): return ([.boolean(false)], [])
        case ("AboutToShowGroup", "ai"): return ([.array(of: "i", []), .array(of: "i", [])], [])
        default: return nil
        }
    }

    /// The items that these events (isvu) choose.
    private func chosen(_ events: [BusValue]) -> [Int] {
        events.compactMap { event in
            guard let parts = event.list, parts.count == 4, parts[1].text == "clicked",
                let item = item(parts[0].number), item.isEnabled, item.children.isEmpty
            else { return nil }
            return item.id
        }
    }

    private func item(_ id: Int?) -> Item? { Self.all(of: items).first { $0.id == id } }

    /// The items and those of their submenus.
    private static func all(of items: [Item]) -> [Item] { items.flatMap { [$0] + all(of: $0.children) } }

    // MARK: Layout

    /// An item with its properties and its children: (ia{sv}av).
    private func layout(_ parent: Int, depth: Int, _ names: Set<String>) -> BusValue? {
        guard parent == 0 else { return item(parent).map { Self.node($0, depth: depth, names) } }
        return Self.node(
            0, [Property(name: "children-display", value: .text("submenu"))], items, depth: depth, names)
    }

    private static func node(_ item: Item, depth: Int, _ names: Set<String>) -> BusValue {
        node(item.id, properties(of: item), item.children, depth: depth, names)
    }

    /// - Parameter depth: how many levels of children it shows; all if it is below 0.
    private static func node(
        _ id: Int, _ properties: [Property], _ children: [Item], depth: Int, _ names: Set<String>
    ) -> BusValue {
        let shown = depth == 0 ? [] : children
        return .tuple([
            .int32(Int32(clamping: id)), dictionary(properties, names),
            .array(of: "v", shown.map { .variant(node($0, depth: max(depth - 1, -1), names)) }),
        ])
    }

    // MARK: Properties

    struct Property: Equatable {
        var name: String
        var value: BusValue
    }

    private static func properties(of item: Item) -> [Property] {
        // One underscore marks the letter of a key; two are one in the label.
        let label = item.label.split(separator: "_", omittingEmptySubsequences: false).joined(separator: "__")
        var properties = [
            Property(name: "label", value: .text(label)), Property(name: "enabled", value: .boolean(item.isEnabled)),
        ]
        if let isChecked = item.isChecked {
            properties.append(Property(name: "toggle-type", value: .text("checkmark")))
            properties.append(Property(name: "toggle-state", value: .int32(isChecked ? 1 : 0)))
        }
        if !item.children.isEmpty { properties.append(Property(name: "children-display", value: .text("submenu"))) }
        return properties
    }

    /// - Parameter names: of the properties that are wanted; all if it is empty.
    private static func dictionary(_ properties: [Property], _ names: Set<String> = []) -> BusValue {
        .array(
            of: "{sv}",
            properties.filter { names.isEmpty || names.contains($0.name) }.map {
                .entry(.text($0.name), .variant($0.value))
            })
    }

    /// (ia{sv}).
    private static func identified(_ id: Int, _ properties: [Property], _ names: Set<String> = []) -> BusValue {
        .tuple([.int32(Int32(clamping: id)), dictionary(properties, names)])
    }

    // MARK: Changes

    /// What a tray is told when other items take the place of these.
    struct Changes {
        /// The arguments of `ItemsPropertiesUpdated`: a(ia{sv}) and a(ias); nil: no item of both has changed.
        var properties: [BusValue]?
        /// The item under which the tray has to read the items anew; 0: all; nil: none.
        var parent: Int?
    }

    static func changes(from old: [Item], to new: [Item]) -> Changes {
        let before = Dictionary(all(of: old).map { ($0.id, properties(of: $0)) }) { $1 }
        var updated: [BusValue] = []
        var removed: [BusValue] = []
        for item in all(of: new) {
            guard let before = before[item.id] else { continue }
            let after = properties(of: item)
            let changed = after.filter { !before.contains($0) }
            if !changed.isEmpty { updated.append(identified(item.id, changed)) }
            let gone = before.map(\.name).filter { name in !after.contains { $0.name == name } }
            if !gone.isEmpty {
                removed.append(.tuple([.int32(Int32(clamping: item.id)), .array(of: "s", gone.map { .text($0) })]))
            }
        }
        let isSame = updated.isEmpty && removed.isEmpty
        let parents = changedParents(0, old, new)
        return Changes(
            properties: isSame ? nil : [.array(of: "(ia{sv})", updated), .array(of: "(ias)", removed)],
            parent: parents.count > 1 ? 0 : parents.first)
    }

    /// The items whose children are others, or in another order.
    private static func changedParents(_ parent: Int, _ old: [Item], _ new: [Item]) -> [Int] {
        guard old.map(\.id) == new.map(\.id) else { return [parent] }
        return zip(old, new).flatMap { changedParents($0.id, $0.children, $1.children) }
    }

    static let introspection = """
        <node><interface name="com.canonical.dbusmenu">
        <method name="GetLayout"><arg type="i" direction="in"/><arg type="i" direction="in"/>
        <arg type="as" direction="in"/><arg type="u" direction="out"/><arg type="(ia{sv}av)" direction="out"/></method>
        <method name="Event"><arg type="i" direction="in"/><arg type="s" direction="in"/>
        <arg type="v" direction="in"/><arg type="u" direction="in"/></method>
        <method name="AboutToShow"><arg type="i" direction="in"/><arg type="b" direction="out"/></method>
        <property name="Version" type="u" access="read"/><property name="Status" type="s" access="read"/>
        <signal name="LayoutUpdated"><arg type="u"/><arg type="i"/></signal>
        <signal name="ItemsPropertiesUpdated"><arg type="a(ia{sv})"/><arg type="a(ias)"/></signal>
        </interface></node>
        """
}
