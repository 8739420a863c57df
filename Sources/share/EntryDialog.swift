import CommandSupport
import Foundation
import LinuxRuntime
import MediaCore

/// Asks for a line of text in a dialog of the desktop, where there is no terminal: by zenity (GNOME and others) or kdialog
/// (KDE), whichever is there.
struct EntryDialog {
    private let program: String
    private let isKDE: Bool

    /// - Returns: nil if there is no display or neither program.
    init?(environment: [String: String] = ProcessInfo.processInfo.environment) {
        guard ["DISPLAY", "WAYLAND_DISPLAY"].contains(where: { environment[$0]?.isEmpty == false }) else { return nil }
        let folders = (environment["PATH"] ?? "").split(separator: ":").filter { $0.hasPrefix("/") }
        func find(_ name: String) -> String? { folders.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 } }
        if let zenity = find("zenity") {
            (program, isKDE) = (zenity, false)
        } else if let kdialog = find("kdialog") {
            (program, isKDE) = (kdialog, true)
        } else {
            return nil
        }
    }

    /// Blocks until the user has answered.
    /// - Parameter question: may come from somebody else; markup in it is shown as text.
    /// - Returns: nil if the user has closed the dialog.
    func ask(_ question: String) -> String? {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = Self.arguments(question, isKDE: isKDE)
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        let hasEnded = Monitor(false)
        process.terminationHandler = { _ in hasEnded.change { $0 = true } }
        guard (try? process.run()) != nil else { return nil }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        guard hasEnded.wait(until: MonotonicClock.now + .seconds(5), { $0 ? true : nil }) == true,
            process.terminationStatus == 0
        else { return nil }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    static func arguments(_ question: String, isKDE: Bool) -> [String] {
        let escapes = [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")]
        let text = escapes.reduce(question) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
        return isKDE ? ["--title", "share", "--inputbox", text] : ["--entry", "--title=share", "--text=\(text)"]
    }
}
