/// One input of a viewer that controls the shared screen.
public enum ControlInput: Sendable, Equatable {
    /// The pointer moves there.
    case move(PicturePoint)
    /// A button of the pointer, as X11 numbers them: 1 left, 2 middle, 3 right, 8 back, 9 forward.
    case button(UInt8, isPressed: Bool)
    /// The wheel turns. In notches: positive to the right, and down.
    case wheel(horizontal: Int8, vertical: Int8)
    /// A key, by its X11 keysym: the character of the viewer's layout, whatever the host's layout is.
    case key(keysym: UInt32, isPressed: Bool)
}
