import CommandSupport
import Glibc
import MediaCore
import ShareKit
import WindowPlayout
import X11Capture

/// Asks the host's user in the terminal what to share, where there is a choice and `--source` is omitted.
struct SourcePicker {
    /// The first one is the answer if the user presses Enter.
    let choices: [SourceEntry]

    /// The whole screen, each monitor if there are several, the windows, and the cameras.
    /// - Parameter cameras: finds them; only called if there is a choice.
    /// - Returns: nil if there is only the screen.
    init?(_ found: DesktopSources, cameras: () -> [ShareableSource]) {
        var monitors = found.monitors.map { ShareableSource($0) }
        if monitors.count < 2 { monitors = [] }
        let all = monitors + found.windows.map { ShareableSource($0) }
        guard !all.isEmpty else { return nil }
        choices = [SourceEntry(wholeScreen: found.monitors)] + (all + cameras()).map { SourceEntry($0) }
    }

    /// - Returns: nil if the user has ended the input, or wants nothing.
    func pick() -> CaptureSource? {
        let choice = Choice(
            question: "What do you want to share?", lines: choices.map(\.description), none: "Nothing",
            invitation: "Number, 1 to \(choices.count) (Enter: 1): ",
            hint: "Type a number, 1 to \(choices.count), and press Enter.")
        return choice.pick { $0.isEmpty ? .some(0) : nil }.flatMap { choices[$0].source }
    }
}
