import BusSupport
import LinuxRuntime
import MediaCore
import Testing

@testable import SessionBus

/// The item in the tray and its menu, as a tray reads them.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct StatusNotifierItemTests {
    private let told = Told<StatusNotifierItem.Event>()
    private let content = StatusNotifierItem.Content(
        title: "share", toolTip: "<Your> screen & \"2 viewers\"", isLive: true,
        menu: [
            .init(id: 1, label: "2 viewers", isEnabled: false), .init(id: 2, label: "Pause_it"),
            .init(id: 3, label: "Stop"),
        ])

    private func item(_ bus: TestBus) throws -> StatusNotifierItem {
        let item = StatusNotifierItem(address: bus.address, content) { [told] in told.add($0) }
        return try #require(item)
    }

    @Test func aTrayShowsTheItemWithItsToolTipAndItsMenu() throws {
        let bus = try TestBus()
        let tray = try FakeTray(bus)
        let item = try item(bus)
        let name = try #require(tray.item())
        #expect(told.first(1) == [.isShown(true)])
        let properties = try #require(tray.properties(of: name))
        #expect(properties["Id"]?.text == "share" && properties["Status"]?.text == "Active")
        #expect(properties["Title"]?.text == "share" && properties["ItemIsMenu"]?.isTrue == true)
        #expect(properties["ToolTip"]?.list?.last?.text == "&lt;Your&gt; screen &amp; \"2 viewers\"")
        let icon = try #require(properties["IconPixmap"]?.list?.first?.list)
        #expect(icon.prefix(2) == [.int32(22), .int32(22)])
        guard case .bytes(let pixels) = icon[2] else {
            Issue.record("the icon has no pixels")
            return
        }
        #expect(pixels.count == 22 * 22 * 4 && Array(pixels[0..<4]) == [0, 0, 0, 0])
        // The middle is red and opaque.
        let middle = (11 * 22 + 11) * 4
        #expect(pixels[middle] == 255 && pixels[middle + 1] > 200 && pixels[middle + 2] < 60)
        let menu = tray.menu(of: name)
        #expect(menu.map(\.label) == ["2 viewers", "Pause__it", "Stop"])
        #expect(menu.map(\.isEnabled) == [false, true, true])
        item.close()
    }

    @Test func whatTheUserChoosesIsTold() throws {
        let bus = try TestBus()
        let tray = try FakeTray(bus)
        let item = try item(bus)
        let name = try #require(tray.item())
        #expect(tray.choose("Stop", of: name))
        #expect(told.first(2) == [.isShown(true), .chosen(3)])
        // Neither what cannot be chosen, nor what is not there, nor a pointer that moves over it.
        #expect(tray.choose("2 viewers", of: name))
        for (id, event) in [(Int32(99), "clicked"), (-1, "clicked"), (0, "clicked"), (2, "hovered")] {
            let arguments: [BusValue] = [.int32(id), .text(event), .variant(.int32(0)), .uint32(0)]
            #expect(tray.menuCall(name, "Event", arguments)?.kind == .reply)
        }
        let events = BusValue.array(
            of: "(isvu)", [.tuple([.int32(2), .text("clicked"), .variant(.text("")), .uint32(0)])])
        #expect(tray.menuCall(name, "EventGroup", [events])?.kind == .reply)
        #expect(told.first(3).last == .chosen(2))
        item.close()
    }

    @Test func changesAreSignalled() throws {
        let bus = try TestBus()
        let tray = try FakeTray(bus)
        tray.hearAll()
        let item = try item(bus)
        let name = try #require(tray.item())
        var next = content
        (next.toolTip, next.isLive, next.menu[1].label) = ("paused", false, "Resume")
        item.update(next)
        #expect(tray.signal("NewToolTip") != nil && tray.signal("NewIcon") != nil)
        // The layout is the same.
        let updated = tray.signal("ItemsPropertiesUpdated")?.arguments
        let properties = BusValue.dictionary(["label": .text("Resume")])
        #expect(updated == [.array(of: "(ia{sv})", [.tuple([.int32(2), properties])]), .array(of: "(ias)", [])])
        next.menu.insert(.init(id: 4, label: "Hide"), at: 1)
        item.update(next)
        #expect(tray.signal("LayoutUpdated")?.arguments == [.uint32(2), .int32(0)])
        next.menu.remove(at: 1)
        item.update(next)
        #expect(tray.menu(of: name).map(\.label) == ["2 viewers", "Resume", "Stop"])
        #expect(tray.properties(of: name)?["ToolTip"]?.list?.last?.text == "paused")
        item.close()
    }

    // MARK: Submenus

    /// A viewer's submenu, with an item that is checked or not.
    private func submenu(_ id: Int, _ label: String, isChecked: Bool) -> StatusNotifierItem.Content.MenuItem {
        .init(
            id: id, label: label,
            children: [
                .init(id: id + 1, label: "Comment", isChecked: isChecked), .init(id: id + 2, label: "Remove"),
            ])
    }

    @Test func submenusAndCheckMarksAreShownAndChosen() throws {
        let bus = try TestBus()
        let tray = try FakeTray(bus)
        let item = try item(bus)
        var next = content
        next.menu.append(submenu(100, "_Ann__\u{1F600}", isChecked: true))
        item.update(next)
        let name = try #require(tray.item())
        let shown = try #require(tray.menu(of: name).last)
        // No letter of a name becomes a key.
        #expect(shown.label == "__Ann____\u{1F600}" && shown.isChecked == nil)
        #expect(shown.children.map(\.label) == ["Comment", "Remove"])
        #expect(shown.children.map(\.isChecked) == [true, nil])
        // A submenu cannot be chosen itself.
        #expect(tray.choose(100, of: name) && tray.choose(shown.label, "Remove", of: name))
        #expect(told.first(2) == [.isShown(true), .chosen(102)])
        // One level, a part, and single properties.
        let layout = tray.menuCall(name, "GetLayout", [.int32(0), .int32(1), .array(of: "s", [.text("label")])])
        let root = try #require(layout?.arguments.last?.list)
        let last = try #require(root.last?.list?.last?.list)
        #expect(last[1]["label"]?.text == shown.label && last[1]["enabled"] == nil && last[2].list?.isEmpty == true)
        let part = tray.menuCall(name, "GetLayout", [.int32(100), .int32(-1), .array(of: "s", [])])
        #expect(part?.arguments.last?.list?.last?.list?.count == 2)
        let state = tray.menuCall(name, "GetProperty", [.int32(101), .text("toggle-state")])
        #expect(state?.arguments.first?.number == 1)
        item.close()
    }

    @Test func aChangeInOneSubmenuIsToldOfItAlone() throws {
        let bus = try TestBus()
        let tray = try FakeTray(bus)
        tray.hearAll()
        let item = try item(bus)
        _ = try #require(tray.item())
        var next = content
        next.menu += [submenu(100, "Ann", isChecked: false), submenu(200, "Bob", isChecked: false)]
        item.update(next)
        #expect(tray.signal("LayoutUpdated")?.arguments == [.uint32(2), .int32(0)])
        next.menu[3] = submenu(100, "Ann", isChecked: true)
        item.update(next)
        let checked = BusValue.dictionary(["toggle-state": .int32(1)])
        #expect(
            tray.signal("ItemsPropertiesUpdated")?.arguments.first
                == .array(of: "(ia{sv})", [.tuple([.int32(101), checked])]))
        next.menu[4].children.removeLast()
        item.update(next)
        #expect(tray.hears("LayoutUpdated", [.uint32(3), .int32(200)]))
        // A check mark that is not offered any more is a property that is gone.
        next.menu[4].children[0].isChecked = nil
        item.update(next)
        let gone = BusValue.array(of: "s", [.text("toggle-type"), .text("toggle-state")])
        #expect(
            tray.hears(
                "ItemsPropertiesUpdated",
                [.array(of: "(ia{sv})", []), .array(of: "(ias)", [.tuple([.int32(201), gone])])]))
        // In two of them.
        next.menu[3].children.removeLast()
        next.menu[4].children.removeLast()
        item.update(next)
        #expect(tray.hears("LayoutUpdated", [.uint32(4), .int32(0)]))
        item.close()
    }

    @Test func theIconSaysThatAViewerControls() throws {
        let bus = try TestBus()
        let tray = try FakeTray(bus)
        tray.hearAll()
        let item = try item(bus)
        let name = try #require(tray.item())
        var next = content
        next.isControlled = true
        item.update(next)
        #expect(tray.signal("NewIcon") != nil)
        let icon = tray.properties(of: name)?["IconPixmap"]?.list?.first?.list
        guard case .bytes(let pixels)? = icon?.last else {
            Issue.record("the icon has no pixels")
            return
        }
        let (middle, edge) = ((11 * 22 + 11) * 4, (11 * 22 + 3) * 4)
        #expect(Array(pixels[middle..<middle + 4]) == [255, 255, 255, 255])
        #expect(pixels[edge] == 255 && pixels[edge + 1] > 200 && pixels[edge + 2] < 60)
        item.close()
    }

    @Test func anItemIsNotShownWithoutATrayAndIsShownByOneThatComesLater() throws {
        let bus = try TestBus()
        let item = try item(bus)
        #expect(told.first(1) == [.isShown(false)])
        let tray = try FakeTray(bus, hasHost: false)
        #expect(tray.item() != nil)
        tray.addHost()
        #expect(told.first(2) == [.isShown(false), .isShown(true)])
        item.close()
    }

    @Test(arguments: [
        ("GetLayout", []), ("GetLayout", [BusValue.int32(9), .int32(0), .array(of: "s", [])]),
        ("GetLayout", [.text("0"), .int32(0), .array(of: "s", [])]), ("Event", [.int32(3)]), ("Explode", []),
        ("GetProperty", [.int32(3), .text("nothing")]),
    ])
    func otherCallsAreRefused(_ member: String, _ arguments: [BusValue]) throws {
        let bus = try TestBus()
        let tray = try FakeTray(bus)
        let item = try item(bus)
        let name = try #require(tray.item())
        #expect(tray.menuCall(name, member, arguments)?.kind == .error)
        #expect(tray.menu(of: name).count == 3)
        #expect(told.first(1) == [.isShown(true)] && told.all.count == 1)
        item.close()
    }

    @Test func aBusThatGoesAwayAndAMissingOneAreNoError() throws {
        let bus = try TestBus()
        let item = try item(bus)
        bus.kill()
        item.update(content)
        item.close()
        item.close()
        let none = StatusNotifierItem(address: "unix:path=/nonexistent/bus", content) { _ in }
        #expect(none == nil)
    }
}
