public import MediaCore

/// What viewers control: the screen that is shown, or the app.
public struct ControlTarget: Sendable {
    /// Passes an input on; returns at once. Called with a lock held, in the order of the inputs.
    public var apply: @Sendable (ControlInput) -> Void
    /// Releases every key and button that is held; returns at once. Called as `apply`.
    public var releaseAll: @Sendable () -> Void

    public init(apply: @escaping @Sendable (ControlInput) -> Void, releaseAll: @escaping @Sendable () -> Void) {
        (self.apply, self.releaseAll) = (apply, releaseAll)
    }
}

/// Why a viewer does not control the screen any more.
public enum ControlEnd: String, Sendable, Equatable {
    /// It gave the control back.
    case released
    /// The host's user took it back.
    case takenBack = "taken-back"
    /// Another viewer got it.
    case passedOn = "passed-on"
    /// The host pauses, blanks or freezes.
    case held
    /// Nothing came of it.
    case lost
}

/// A viewer controls the screen, or does not any more.
public struct ControlChange: Sendable {
    public let viewer: ViewerDescription
    /// Nil: it begins.
    public var end: ControlEnd?
    /// The inputs that were passed on, and those that were dropped as they came late or twice.
    public var inputs = 0
    public var dropped = 0
}
