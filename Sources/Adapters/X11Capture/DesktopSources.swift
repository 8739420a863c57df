public import MediaCore

/// A window of a program that can be captured.
public struct DesktopWindow: Hashable, Sendable {
    /// For `CaptureSource.window`.
    public var id: UInt32
    public var title: String
    /// Its class (WM_CLASS).
    public var application: String
    /// In pixels, without its border.
    public var size: PixelSize
    /// It is minimised, or on another desktop.
    public var isHidden: Bool
}

/// What can be captured of an X11 display.
public struct DesktopSources: Sendable {
    public var monitors: [DesktopMonitor]
    /// From the topmost down.
    public var windows: [DesktopWindow]

    /// Asks the server; takes some round trips.
    /// - Parameter display: such as ":0"; nil uses `$DISPLAY`.
    /// - Throws: `.noDisplay`, `.unsupported`.
    public init(display: String?) throws(SourceFailure) {
        let connection = try X11Connection(display)
        defer { connection.close() }
        monitors = try MonitorList.read(connection)
        windows = WindowTree(connection, X11Atoms(connection)).clients
            .filter { connection.composite != nil && ($0.depth == 24 || $0.depth == 32) }
            .map {
                DesktopWindow(
                    id: $0.id, title: $0.names.title, application: $0.names.application, size: $0.size,
                    isHidden: !$0.isViewable)
            }
        try connection.checkAlive()
    }

    /// - Throws: `.noSuchDevice`.
    public func monitor(_ wanted: CaptureSource.Monitor) throws(SourceFailure) -> DesktopMonitor {
        try MonitorList.find(wanted, in: monitors)
    }
}
