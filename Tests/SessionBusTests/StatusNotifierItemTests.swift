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
        #expect(tray.signal("LayoutUpdated")?.arguments == [.uint32(2), .int32(0)])
        #expect(tray.menu(of: name).map(\.label) == ["2 viewers", "Resume", "Stop"])
        #expect(tray.properties(of: name)?["ToolTip"]?.list?.last?.text == "paused")
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
