import LinuxRuntime
import MediaCore

/// The desktop portal for input: org.freedesktop.portal.RemoteDesktop.
enum RemoteDesktop {
    static let interface = "org.freedesktop.portal.RemoteDesktop"
    /// Bits: 1 the keyboard, 2 the pointer.
    static let devices = 3

    /// - Throws: `.unsupported` if the portal lacks one of the devices.
    static func check(_ client: PortalClient) throws(SourceFailure) {
        let available = try client.properties(of: interface)["AvailableDeviceTypes"]?.number ?? 0
        guard available & devices == devices else {
            throw SourceFailure(
                .unsupported, "the desktop portal lets no program use the pointer and the keyboard",
                remedy: "The portals of GNOME and KDE do; that of sway (xdg-desktop-portal-wlr) does not.")
        }
    }

    /// The method for an input, with its arguments behind the session and the options.
    static func call(_ input: DesktopInput, _ node: UInt32) -> (member: String, arguments: [BusValue]) {
        switch input {
        case .move(let x, let y): ("NotifyPointerMotionAbsolute", [.uint32(node), .double(x), .double(y)])
        case .button(let code, let isPressed): ("NotifyPointerButton", [.int32(code), .uint32(isPressed ? 1 : 0)])
        case .wheel(let isHorizontal, let notches):
            ("NotifyPointerAxisDiscrete", [.uint32(isHorizontal ? 1 : 0), .int32(notches)])
        case .key(let keysym, let isPressed):
            ("NotifyKeyboardKeysym", [.int32(Int32(bitPattern: keysym)), .uint32(isPressed ? 1 : 0)])
        }
    }
}
