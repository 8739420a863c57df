import MediaCore

/// Tells presses of a desktop's shortcut from what follows while its key is held: desktops repeat the signal, alone or
/// in pairs with the one that it is released. Time is an argument.
struct ShortcutPresses: Sendable, Equatable {
    /// A press within this time after a release is a repetition.
    private static let pause = MediaDuration.milliseconds(300)
    /// The longest time from one signal to the next while a key is held, where no release is told.
    private static let repetition = MediaDuration.seconds(1)

    private var last: MediaInstant?
    private var isReleased = true

    /// Takes the signal that the key is pressed.
    /// - Returns: whether it is a press of its own.
    mutating func press(at now: MediaInstant) -> Bool {
        defer { (last, isReleased) = (now, false) }
        guard let last else { return true }
        return now - last >= (isReleased ? Self.pause : Self.repetition)
    }

    /// Takes the signal that the key is released.
    mutating func release(at now: MediaInstant) {
        guard !isReleased else { return }
        (last, isReleased) = (now, true)
    }
}
