import CommandSupport
import FoundationEssentials
import Glibc
import RecordingPage

/// The browser that the user's desktop opens pages with.
enum DesktopBrowser {
    /// Opens a page by a file that forwards to its address. Says why if that fails.
    /// - Parameter makeFile: called with a folder, if there is a browser.
    /// - Returns: the file; nil if no browser is opened.
    @discardableResult
    static func open(
        _ makeFile: (_ folder: String) throws(LaunchFile.Failure) -> LaunchFile
    ) -> LaunchFile? {
        guard let browser = ExecutablePath.find("xdg-open") else { return nil }
        do throws(LaunchFile.Failure) {
            let file = try makeFile(launchFolder)
            ForegroundProgram.open(browser, [file.path])
            return file
        } catch {
            ErrorOutput.writeLine("share: the browser cannot be started: \(String(cString: strerror(error.code)))")
            return nil
        }
    }

    /// The user's folder for sockets and the like, or that for temporary files.
    private static var launchFolder: String {
        let folder = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? ""
        return folder.hasPrefix("/") && access(folder, W_OK) == 0 ? folder : FileManager.default.temporaryDirectory.path
    }
}
