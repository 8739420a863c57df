import CommandSupport
import FoundationEssentials
import Identity
import MediaCore
import WindowPlayout

/// Where the user has left the windows of `share join` and `share service`: `$XDG_STATE_HOME/share/window`, else
/// `~/.local/state/share/window`. Without such a file, windows open in the middle of the work area.
enum WindowMemory {
    static var place: WindowPlace? {
        guard let status = FileStatus(path), status.isFile, status.size <= 64,
            let text = try? String(contentsOfFile: path, encoding: .utf8)
        else { return nil }
        return WindowPlace(text.trimmed)
    }

    /// Remembers where the user has moved the window, or resized it. What cannot be stored is not missed.
    static func keep(_ window: VideoWindow) {
        guard let place = window.chosenPlace else { return }
        try? PrivateDirectory.prepare(StateFolder.path(ProcessInfo.processInfo.environment), for: "the window's place")
        try? PrivateFile.write(place.text + "\n", to: path, .replacing)
    }

    private static var path: String { StateFolder.path(ProcessInfo.processInfo.environment) + "/window" }
}

/// The folder of what share remembers between its runs and nobody would miss.
enum StateFolder {
    static func path(_ environment: [String: String]) -> String {
        let state = environment["XDG_STATE_HOME"] ?? ""
        let home = environment["HOME"] ?? FileManager.default.homeDirectoryForCurrentUser.path
        return (state.hasPrefix("/") ? state : home + "/.local/state") + "/share"
    }
}
