public import MediaCore

extension VideoWindow {
    /// What the user does in the window beside watching.
    public enum Action: Equatable, Sendable {
        /// Points at the picture. At most 30 a second.
        case point(PointerGesture)
        /// Controls the host's screen. At most 60 moves a second.
        case control(ControlInput)
        /// Has written a comment.
        case comment(String)
        /// Asks the host's user for a right.
        case ask(ViewerRight)
        /// Gives a right back.
        case release(ViewerRight)
    }
}
