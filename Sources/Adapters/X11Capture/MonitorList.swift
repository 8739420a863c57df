internal import CXCB
internal import Glibc
public import MediaCore

/// A monitor, as RandR describes it.
public struct DesktopMonitor: Hashable, Sendable {
    /// From 1: the primary monitor first, then from left to right and from top to bottom.
    public var number: Int
    /// Such as "DP-1".
    public var name: String
    /// In pixels of the display.
    public var rect: PixelRect
    public var isPrimary: Bool
}

/// The monitors of a display.
enum MonitorList {
    /// Takes two round trips.
    /// - Returns: the whole display as one monitor if the server lists none.
    static func read(_ connection: X11Connection) throws(SourceFailure) -> [DesktopMonitor] {
        let monitors = connection.hasMonitors ? active(connection) : []
        if !monitors.isEmpty {
            return monitors.sorted {
                ($0.isPrimary ? 0 : 1, $0.rect.x, $0.rect.y, $0.name)
                    < ($1.isPrimary ? 0 : 1, $1.rect.x, $1.rect.y, $1.name)
            }.enumerated().map { index, monitor in
                var monitor = monitor
                monitor.number = index + 1
                return monitor
            }
        }
        let size = try connection.rootSize()
        return [DesktopMonitor(number: 1, name: "screen", rect: PixelRect(size), isPrimary: true)]
    }

    private static func active(_ connection: X11Connection) -> [DesktopMonitor] {
        let raw = connection.raw
        guard
            let reply = xcb_randr_get_monitors_reply(raw, xcb_randr_get_monitors(raw, connection.root, 1), nil)
        else { return [] }
        defer { free(reply) }
        var found: [(monitor: DesktopMonitor, name: xcb_get_atom_name_cookie_t)] = []
        var iterator = xcb_randr_get_monitors_monitors_iterator(reply)
        while iterator.rem > 0, let info = iterator.data?.pointee {
            let rect = PixelRect(
                x: Int(info.x), y: Int(info.y), width: Int(info.width), height: Int(info.height))
            if !rect.isEmpty {
                let monitor = DesktopMonitor(number: 0, name: "", rect: rect, isPrimary: info.primary != 0)
                found.append((monitor, xcb_get_atom_name(raw, info.name)))
            }
            xcb_randr_monitor_info_next(&iterator)
        }
        return found.map { monitor, cookie in
            var monitor = monitor
            if let reply = xcb_get_atom_name_reply(raw, cookie, nil) {
                defer { free(reply) }
                let bytes = UnsafeRawBufferPointer(
                    start: xcb_get_atom_name_name(reply), count: Int(xcb_get_atom_name_name_length(reply)))
                monitor.name = String(decoding: bytes, as: UTF8.self)
            }
            return monitor
        }
    }

    static func find(
        _ wanted: CaptureSource.Monitor, in monitors: [DesktopMonitor]
    ) throws(SourceFailure) -> DesktopMonitor {
        let found =
            switch wanted {
            case .number(let number): monitors.first { $0.number == number }
            case .name(let name):
                monitors.first { $0.name == name } ?? monitors.first { $0.name.lowercased() == name.lowercased() }
            }
        if let found { return found }
        let source = CaptureSource.monitor(wanted).text
        let list = monitors.map { "\($0.number) (\($0.name), \($0.rect.width) x \($0.rect.height))" }
        throw SourceFailure(
            .noSuchDevice, "there is no \(source)", remedy: "These exist: \(list.joined(separator: ", ")).")
    }
}
