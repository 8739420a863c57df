/// The menu of a ``StatusNotifierItem``: the interface `com.canonical.dbusmenu`, version 3, with one level.
struct StatusNotifierMenu {
    static let path = "/StatusNotifierItem/Menu"
    static let interface = "com.canonical.dbusmenu"
    static let properties: KeyValuePairs<String, BusValue> = [
        "Version": .uint32(3), "TextDirection": .text("ltr"), "Status": .text("normal"),
        "IconThemePath": .array(of: "s", []),
    ]

    let items: [StatusNotifierItem.Content.MenuItem]
    let revision: UInt32

    /// - Returns: what a call is answered with, and the items that it chooses; nil for an unknown or malformed call.
    func answer(_ call: BusMessage) -> (values: [BusValue], chosen: [Int])? {
        let arguments = call.arguments
        switch (call.member, call.signature) {
        case ("GetLayout", "iias"):
            guard let parent = arguments[0].number, let layout = layout(parent, depth: arguments[1].number ?? -1) else {
                return nil
            }
            return ([.uint32(revision), layout], [])
        case ("GetGroupProperties", "aias"):
            let wanted = Set((arguments[0].list ?? []).compactMap(\.number))
            let found = items.filter { wanted.isEmpty || wanted.contains($0.id) }
            return (
                [.array(of: "(ia{sv})", found.map { .tuple([.int32(Int32(clamping: $0.id)), properties(of: $0)]) })], []
            )
        case ("GetProperty", "is"):
            guard let item = items.first(where: { $0.id == arguments[0].number }), let name = arguments[1].text,
                let value = properties(of: item)[name]
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
            guard let parts = event.list, parts.count == 4, parts[1].text == "clicked" else { return nil }
            return items.first { $0.isEnabled && $0.id == parts[0].number }?.id
        }
    }

    /// An item with its properties and its children: (ia{sv}av).
    private func layout(_ parent: Int, depth: Int) -> BusValue? {
        guard parent == 0 else {
            return items.first { $0.id == parent }.map { leaf($0) }
        }
        let children = depth == 0 ? [] : items.map { BusValue.variant(leaf($0)) }
        return .tuple([
            .int32(0), .dictionary(["children-display": .text("submenu")]), .array(of: "v", children),
        ])
    }

    private func leaf(_ item: StatusNotifierItem.Content.MenuItem) -> BusValue {
        .tuple([.int32(Int32(clamping: item.id)), properties(of: item), .array(of: "v", [])])
    }

    private func properties(of item: StatusNotifierItem.Content.MenuItem) -> BusValue {
        // One underscore marks the letter of a key; two are one in the label.
        let label = item.label.split(separator: "_", omittingEmptySubsequences: false).joined(separator: "__")
        return .dictionary(["label": .text(label), "enabled": .boolean(item.isEnabled)])
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
        </interface></node>
        """
}
