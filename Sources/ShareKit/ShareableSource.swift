internal import Foundation
internal import LinuxRuntime

/// A monitor, a window or a camera that can be broadcast: what ``SystemBroadcastPicker/sources(pictures:)`` lists.
public struct ShareableSource: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable {
        case monitor, window, camera
    }

    public let kind: Kind
    /// For ``SystemBroadcastPicker/source``, such as "monitor:1" and "window:0x3c00007".
    public let id: String
    /// The name of the monitor or the camera, or the title of the window.
    public let name: String
    /// The program of a window; nil for the others.
    public let application: String?
    /// In pixels; nil for a camera.
    public let width: Int?
    public let height: Int?
    /// A PNG file of it, at most 320 pixels wide and high; nil if none was asked for or could be written.
    public let picture: String?

    /// Reads a line of `share sources --json`.
    /// - Returns: nil for what has no picture.
    init?(line: Substring) {
        guard
            let value = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
            let kind = (value["kind"] as? String).flatMap({ Kind(rawValue: $0) }),
            let id = value["id"] as? String, let name = value["name"] as? String
        else { return nil }
        self.kind = kind
        self.id = id
        self.name = name
        application = value["application"] as? String
        width = value["width"] as? Int
        height = value["height"] as? Int
        picture = value["picture"] as? String
    }
}

extension SystemBroadcastPicker {
    /// The sources that can be broadcast now: monitors, windows from the topmost down, and cameras, as `share sources` lists them. On Wayland these are
    /// the windows of X11 programs; the desktop's own dialog asks for the others when the broadcast starts.
    /// - Parameter pictures: a folder for a picture of each; it is created if it does not exist.
    /// - Throws: `.sourceGone` if there is no X11 display, `.noProgram` if there is no program `share`.
    public func sources(pictures: String? = nil) async throws(ShareKitError) -> [ShareableSource] {
        let arguments = ["sources", "--json"] + (pictures.map { ["--pictures", $0] } ?? [])
        let (program, environment) = (program, environment)
        let result = await onThread("sources") {
            Result { () throws(ShareKitError) in try Self.list(program, arguments, environment) }
        }
        guard let result else { throw ShareKitError(.failed, "no thread is left to list the sources") }
        return try result.get()
    }

    private static func list(
        _ program: String, _ arguments: [String], _ environment: [String: String]
    ) throws(ShareKitError) -> [ShareableSource] {
        let process = try Subprocess(share: program, arguments, environment)
        // Errors are a few lines, less than a pipe holds, so they can be read afterwards.
        let text = FileHandle(end: process.output)?.textToEnd() ?? ""
        let errorText = FileHandle(end: process.errors)?.textToEnd() ?? ""
        let code = process.wait()
        guard code == 0 else {
            let end = HostProcess.end(code, errorText)
            throw ShareKitError(
                .failed, end.sentence.isEmpty ? "share sources has ended with \(end.code)" : end.sentence,
                remedy: end.remedy)
        }
        return text.split(separator: "\n").compactMap { ShareableSource(line: $0) }
    }
}
