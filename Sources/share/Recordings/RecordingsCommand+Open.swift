import ArgumentParser
import CommandSupport
import FoundationEssentials
import LinuxRuntime
import MediaCore
import PeerConnection
import Recording
import RecordingPage
import ShareKit

struct OpenRecordingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open", abstract: "Show the recordings in the browser: gallery, player, trimming, download.",
        discussion: """
            The page is served to this machine alone, until Ctrl-C, and to the first browser that opens \
            the printed address or the file that share gives to the browser. \
            A part is saved beside its recording, beginning exactly where it was marked.
            """)

    @Flag(help: "Only print the address.")
    var noBrowser = false

    func run() throws {
        try complaining { () throws(CommandError) in
            let ending = Monitor<EndReason?>(nil)
            Signals.handle { name in ending.change { $0 = $0 ?? EndReason(.stopped, "ended by \(name)") } }
            let server: Result<LibraryServer, any Error> = blocking {
                do {
                    return .success(try await LibraryServer(actions: LibraryActions.all))
                } catch {
                    return .failure(error)
                }
            }
            guard let server = try? server.get() else {
                throw CommandError(sentence: "no port can be opened for the page", status: .portUnavailable)
            }
            DataOutput(isJSON: false).line(server.makeAddress())
            ErrorOutput.writeLine("share: the page is at the address above, for one browser; Ctrl-C ends it")
            if !noBrowser {
                DesktopBrowser.open { (folder) throws(LaunchFile.Failure) in try server.makeLaunchFile(in: folder) }
            }
            _ = waitForEnd(ending, seconds: .infinity)
            blocking { await server.stop() }
            ErrorOutput.writeLine("share: \(ending.with { $0?.sentence } ?? "ended")")
        }
    }
}

/// What the page does with the catalogue. Each call opens it anew, as other processes change it.
private enum LibraryActions {
    static let all = LibraryServer.Actions(
        list: {
            try RecordingCatalogue.ofUser().entries().map { entry in
                let attributes = try? FileManager.default.attributesOfItem(atPath: entry.path)
                return LibraryServer.Item(
                    number: entry.number,
                    name: UntrustedText.clean(entry.path.fileName, fallback: "a file"),
                    title: UntrustedText.clean(entry.title, fallback: ""), began: entry.began.timeIntervalSince1970,
                    seconds: entry.seconds, bytes: attributes?[.size] as? Int,
                    state: RecordingState(entry).rawValue)
            }
        }, file: { path(of: $0) }, picture: { picture(of: $0) }, trim: { try trim($0, $1, $2) })

    /// Only what is a recording is given out.
    private static func path(of number: Int) -> String? {
        guard let entry = try? RecordingCatalogue.ofUser().entry(number),
            (try? StoredRecording(reading: entry.path)) != nil
        else { return nil }
        return entry.path
    }

    /// The thumbnail, which is made once for each state of the file.
    private static func picture(of number: Int) -> String? {
        guard let path = path(of: number), let recording = try? StoredRecording(reading: path) else { return nil }
        let environment = ProcessInfo.processInfo.environment
        let home = FileManager.default.homeDirectoryForCurrentUser.path
        let cache =
            environment["XDG_CACHE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home + "/.cache"
        let folder = cache + "/share/thumbnails"
        try? FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let file = "\(folder)/\(number)-\(recording.bytes).png"
        if FileManager.default.fileExists(atPath: file) { return file }
        return (try? ContactSheet.thumbnail.write(recording, to: file)) == nil ? nil : file
    }

    private static func trim(_ number: Int, _ from: Double, _ to: Double) throws -> String {
        guard let path = path(of: number) else { throw RecordingFailure("there is no such recording") }
        let file = try RecordingEditor.trim(
            path, from: Position(seconds: from).duration, to: Position(seconds: to).duration, isExact: true,
            encoder: FFmpeg.encoder, destination: .output(nil, of: path, suffix: "-part"))
        RecordingLog().add(file, title: (try? StoredRecording(reading: file.path))?.title ?? "")
        return UntrustedText.clean(file.path.fileName, fallback: "a file")
    }
}
