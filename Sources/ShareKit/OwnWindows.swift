internal import LinuxRuntime
internal import X11Capture

/// Whether the app's windows are hidden, as the X display says. Where there is none, they are not.
final class OwnWindows: Sendable {
    /// On `$DISPLAY`.
    static let shared = OwnWindows(display: nil)

    private let observer = Monitor<OwnWindowsObserver?>(nil)
    private let changes = StateChanges(false)

    /// Begins to observe; returns at once.
    init(display: String?) {
        let (changes, observer) = (changes, observer)
        // The server may answer slowly.
        _ = NamedThread("windows") {
            let made = try? OwnWindowsObserver(display: display) { areHidden in changes.update { areHidden } }
            observer.with { $0 = made }
        }
    }

    var areHidden: Bool { changes.value }

    /// The changes, from the current value on.
    var stream: AsyncStream<Bool> { changes.stream }

    func close() { observer.with { $0 }?.close() }
}
