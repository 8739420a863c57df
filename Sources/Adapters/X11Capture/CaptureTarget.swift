internal import CXCB
internal import Glibc
internal import MediaCore

/// What a screen source captures, and where that is now: the whole display, a monitor, a region or a window. It follows
/// moves and changes of size, and what goes away and comes back.
///
/// A change of state is a sentence for the user, given to `report`.
final class CaptureTarget {
    enum Kind {
        case display
        /// Found by its name, so that it remains the same one when others come and go.
        case monitor(name: String)
        case region(PixelRect)
        case window(WindowTracker)
    }

    private let kind: Kind
    private(set) var area: CaptureArea
    private var isGone = false
    private let report: @Sendable (String) -> Void

    /// - Throws: `.noSuchDevice` for a monitor, a region or a window that is not there; `.unsupported` for one that is
    ///   too large, and for windows without XComposite.
    init(
        _ source: CaptureSource, _ connection: X11Connection, _ desktop: DesktopObserver,
        report: @escaping @Sendable (String) -> Void
    ) throws(SourceFailure) {
        self.report = report
        let root = try connection.rootSize()
        guard root.width > 0, root.height > 0 else { throw connection.gone }
        switch source {
        case .monitor(let wanted):
            let monitor = try MonitorList.find(wanted, in: MonitorList.read(connection))
            kind = .monitor(name: monitor.name)
            try Self.check(monitor.rect, "monitor \(monitor.name) is")
            area = CaptureArea(monitor.rect, ofRoot: connection.root, size: root)
        case .region(let rect):
            kind = .region(rect)
            area = CaptureArea(rect, ofRoot: connection.root, size: root)
            guard !area.readable.isEmpty else {
                throw SourceFailure(
                    .noSuchDevice, "\(source.text) is outside of display \(connection.name)",
                    remedy: "The display is \(root.width) x \(root.height) pixels.")
            }
        case .window(let wanted):
            let tracker = try WindowTracker(wanted, connection, desktop, report: report)
            kind = .window(tracker)
            area = tracker.area
        case .screen, .portal, .camera, .test:
            kind = .display
            try Self.check(PixelRect(root), "display \(connection.name) is")
            area = CaptureArea(PixelRect(root), ofRoot: connection.root, size: root)
        }
    }

    private static func check(_ rect: PixelRect, _ subject: String) throws(SourceFailure) {
        guard max(rect.width, rect.height) > CaptureSource.largestSide else { return }
        throw SourceFailure(
            .unsupported,
            "\(subject) \(rect.width) x \(rect.height) pixels, and a side may have \(CaptureSource.largestSide)",
            remedy: "Share a monitor, a window or a region of it: see share sources, and --source.")
    }

    var window: WindowTracker? {
        if case .window(let tracker) = kind { tracker } else { nil }
    }

    /// Whether it shows all windows that lie there.
    var isOfScreen: Bool { window == nil }

    /// The window whose damage is that of the frame; 0 if there is none.
    func damagedWindow(_ connection: X11Connection) -> xcb_window_t {
        if let window { window.id } else { connection.root }
    }

    /// Where the damaged window's upper left pixel is in the frame.
    var damageOffset: (x: Int, y: Int) {
        if window == nil { (-area.x, -area.y) } else { (0, 0) }
    }

    var description: String {
        switch kind {
        case .display: "display"
        case .monitor(let name): "monitor \(name) of display"
        case .region(let rect): "\(CaptureSource.region(rect).text) of display"
        case .window(let tracker): "window \(tracker.description) on display"
        }
    }

    /// Finds out where it is now. Takes some round trips.
    func refresh(_ connection: X11Connection, _ desktop: DesktopObserver) throws(SourceFailure) {
        switch kind {
        case .display:
            let size = try rootSize(connection)
            area = CaptureArea(PixelRect(size), ofRoot: connection.root, size: size)
        case .region(let rect):
            area = CaptureArea(rect, ofRoot: connection.root, size: try rootSize(connection))
        case .monitor(let name):
            let found = try MonitorList.read(connection).first { $0.name == name }
            if let found {
                area = CaptureArea(found.rect, ofRoot: connection.root, size: try rootSize(connection))
                if isGone { report("monitor \(name) is back") }
            } else {
                area = area.black
                if !isGone { report("monitor \(name) was disconnected: viewers see black until it is back") }
            }
            isGone = found == nil
        case .window(let tracker):
            try tracker.refresh(connection, desktop)
            area = tracker.area
        }
    }

    private func rootSize(_ connection: X11Connection) throws(SourceFailure) -> PixelSize {
        let size = try connection.rootSize()
        return PixelSize(width: max(size.width, 1), height: max(size.height, 1))
    }
}
