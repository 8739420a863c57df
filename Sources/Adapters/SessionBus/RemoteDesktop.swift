import LinuxRuntime

/// The desktop portal for input: org.freedesktop.portal.RemoteDesktop, versions 1 and 2.
enum RemoteDesktop {
    static let interface = "org.freedesktop.portal.RemoteDesktop"

    /// What programs can be granted of the keyboard and the pointer.
    /// - Parameter properties: of the interface; none if the portal lacks it.
    static func devices(_ properties: BusValue) -> DesktopDevices {
        DesktopDevices(rawValue: properties["AvailableDeviceTypes"]?.number ?? 0).intersection([.keyboard, .pointer])
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
