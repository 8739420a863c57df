import LinuxRuntime
import MediaCore
import PortalCapture
import SessionBus
import X11Capture
import X11Control

/// Takes the input of a viewer that controls, until it is closed. Safe from any thread.
protocol RemoteInputSink: AnyObject, Sendable {
    func apply(_ input: ControlInput)
    func releaseAll()
    func close()
}

extension RemoteInput: RemoteInputSink {}
extension PortalInput: RemoteInputSink {}

/// Shows who controls the screen, until it is closed.
protocol ShownController: Sendable {
    func close()
}

extension ControlNotice: ShownController {}
extension QuestionNotification: ShownController {}

/// What viewers control.
enum ControlledScreen: Sendable {
    /// - window: the one that is captured; nil for others.
    case x11(CaptureSource, window: UInt32?, display: String?)
    /// A monitor of a Wayland desktop.
    case portal(PortalInput, busAddress: String?)

    /// How the host's user takes the control back at once; "takes it back" follows.
    var takingBack: String {
        switch self {
        case .x11: "x, or Esc on this keyboard,"
        case .portal: "x, or the button of the desktop's notification,"
        }
    }

    /// The same, for who is asked whether a viewer may control.
    var takingBackLater: String {
        switch self {
        case .x11: "Escape on this machine's keyboard, x in this terminal"
        case .portal: "The button of the desktop's notification, x in this terminal"
        }
    }

    /// - Parameter onEnd: called when the host's user takes the control back here, and when nothing can be controlled
    ///   any more; must not block.
    func open(onEnd: @escaping @Sendable () -> Void) throws(SourceFailure) -> any RemoteInputSink {
        switch self {
        case .x11(let source, let window, let display):
            // Input of this machine's own drops the viewer's for a second.
            return try RemoteInput(display: display, area: try Self.area(source, window, display)) { event in
                if event != .localInput { onEnd() }
            }
        case .portal(let input, _):
            try input.open { event in if event != .localInput { onEnd() } }
            return input
        }
    }

    private static func area(
        _ source: CaptureSource, _ window: UInt32?, _ display: String?
    ) throws(SourceFailure) -> RemoteInput.Area {
        switch source {
        case .region(let rect): .screen(rect)
        case .window: .window(window ?? 0)
        case .monitor(let wanted): .screen(try DesktopSources(display: display).monitor(wanted).rect)
        default: .display
        }
    }

    /// Shows the viewer's name: at the top of an X display, or in a notification of the desktop, which stays.
    /// - Parameter takeBack: the user wants that; must not block.
    /// - Returns: nil if it cannot be shown. There is the line of the terminal.
    func show(_ name: String, takeBack: @escaping @Sendable () -> Void) -> (any ShownController)? {
        switch self {
        case .x11(_, let window, let display):
            let what = window == nil ? "this screen" : "a window here"
            return try? ControlNotice("\(name) controls \(what) – Esc takes it back", display: display)
        case .portal(_, let address):
            let button = QuestionNotification.Button(key: "take-back", label: "Take it back")
            let notification = address.flatMap { address in
                QuestionNotification(address: address) { if $0 == button.key { takeBack() } }
            }
            let isShown = notification?.show(
                summary: "\(UntrustedText.quote(name)) controls this screen",
                body: "In the terminal of share, x takes it back, as pause and blank do.", buttons: [button], expires: 0
            )
            return isShown == true ? notification : nil
        }
    }
}
