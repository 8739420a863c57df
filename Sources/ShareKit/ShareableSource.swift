package import MediaCore

/// A monitor, a window or a camera that can be broadcast: what ``SystemBroadcastPicker/sources(pictures:)`` lists.
public struct ShareableSource: Sendable, Hashable {
    /// What a source is.
    public enum Kind: String, Sendable, Hashable {
        /// A monitor of the X11 display, a window of an X11 program, or a camera of this machine.
        case monitor, window, camera
    }

    /// Whether it is a monitor, a window or a camera.
    public let kind: Kind
    /// For ``SystemBroadcastPicker/source``, such as "monitor:1" and "window:0x3c00007".
    public var id: String { source.text }
    /// The name of the monitor or the camera, or the title of the window.
    public let name: String
    /// The program of a window; nil for the others.
    public let application: String?
    /// In pixels; nil for a camera.
    public let width: Int?
    /// In pixels; nil for a camera.
    public let height: Int?
    /// A PNG file of it, at most 320 pixels wide and high; nil if none was asked for or could be written.
    public package(set) var picture: String?

    package let source: CaptureSource
    /// Whether it is the primary monitor.
    package let isPrimary: Bool
    /// Whether it is a minimised or hidden window.
    package let isHidden: Bool

    init(
        _ kind: Kind, _ source: CaptureSource, name: String, application: String? = nil, size: PixelSize? = nil,
        isPrimary: Bool = false, isHidden: Bool = false
    ) {
        self.kind = kind
        self.source = source
        self.name = UntrustedText.clean(name, limit: 80, fallback: kind == .window ? "without a title" : kind.rawValue)
        self.application = application.map { UntrustedText.clean($0, limit: 40, fallback: "unknown") }
        width = size?.width
        height = size?.height
        self.isPrimary = isPrimary
        self.isHidden = isHidden
    }
}
