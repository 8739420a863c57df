package import MediaCore

/// Devices of a desktop, as the portal numbers them.
package struct DesktopDevices: OptionSet, Sendable, Hashable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    package static let keyboard = DesktopDevices(rawValue: 1)
    package static let pointer = DesktopDevices(rawValue: 2)
}

/// A screen cast that the desktop has granted.
package struct ScreenCastGrant: Sendable, Equatable {
    package enum Kind: Sendable, Equatable { case monitor, window, other }

    /// A connection to PipeWire that shows the node alone. Whoever gets the grant closes it.
    package var descriptor: Int32
    /// The PipeWire node that sends the frames.
    package var node: UInt32
    package var kind: Kind
    /// The size in the desktop's own units, in which its pointer moves; nil: not told.
    package var logicalSize: PixelSize?
    /// What is granted of the keyboard and the pointer; nil: the desktop was not asked, or its portal has no such
    /// thing.
    package var devices: DesktopDevices?

    package init(
        descriptor: Int32, node: UInt32, kind: Kind, logicalSize: PixelSize? = nil, devices: DesktopDevices? = nil
    ) {
        (self.descriptor, self.node, self.kind) = (descriptor, node, kind)
        (self.logicalSize, self.devices) = (logicalSize, devices)
    }
}

/// An input for a desktop.
package enum DesktopInput: Sendable, Equatable {
    /// The pointer moves to a place of what is cast, in units of its logical size.
    case move(x: Double, y: Double)
    /// A button, by its number in Linux's input-event-codes.h.
    case button(Int32, isPressed: Bool)
    /// Notches of the wheel; positive to the right, and down.
    case wheel(isHorizontal: Bool, Int32)
    /// A key, by its X11 keysym.
    case key(UInt32, isPressed: Bool)
}

/// Asks the desktop for a screen cast.
package protocol ScreenCast: AnyObject, Sendable {
    /// Ends an earlier grant and asks for a new one. Blocks until the desktop, or its user, has answered; `close` ends
    /// that.
    /// - Parameter usesRestoring: whether the desktop may grant what it granted last time, without asking its user.
    func open(usesRestoring: Bool) throws(SourceFailure) -> ScreenCastGrant

    /// Whether the desktop has ended the grant, as its user can.
    var isEnded: Bool { get }

    /// Sets what is called, on any thread, when `isEnded` becomes true. It must not block.
    func onEnd(_ body: @escaping @Sendable () -> Void)

    /// Puts an input into the desktop, if that is granted, and returns at once.
    func send(_ input: DesktopInput)

    /// Ends the grant. A second call does nothing.
    func close()
}

extension ScreenCast {
    package func send(_ input: DesktopInput) {}
}
