#if RecordingsAndWHIP
internal import FoundationEssentials
internal import Glibc
internal import LinuxRuntime
internal import MediaCore
internal import Recording
internal import RecordingPage
internal import SessionBus

/// A page in the browser for a recording: player, timeline, trimming and download. It is served by this process, to
/// this machine alone and to the first browser that opens its address, until `close` or the end of the process.
public final class RecordingPreview: Sendable {
    private struct State {
        /// The recording, then the parts that were made of it.
        var recordings: [Recording]
        var server: LibraryServer?
        /// How often the page was loaded.
        var loads = 0
        var hasLeft = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Monitor<State>
    private let began = Date()
    /// Of the page, for one browser: the first that opens it. Others can read the arguments of programs, so give it to
    /// none in them.
    public let url: String

    /// How long a page that was left may take to be loaded again.
    private static let reloadTime = Duration.seconds(2)

    fileprivate init(_ recording: Recording) async throws(ShareKitError) {
        let state = Monitor(State(recordings: [recording]))
        self.state = state
        let began = began
        do {
            let server = try await LibraryServer(
                actions: .init(
                    list: { Self.items(state, began) },
                    file: { number in Self.recording(number, state)?.path }, picture: { _ in nil },
                    trim: { number, from, to in try Self.trim(number, from, to, state) },
                    left: { Self.noteLeft(state) }))
            state.with { $0.server = server }
            url = server.makeAddress()
        } catch {
            throw ShareKitError(.portUnavailable, "no port can be opened for the page")
        }
    }

    /// Parts that were saved on the page.
    public var parts: [Recording] { state.with { Array($0.recordings.dropFirst()) } }

    /// Returns when the page has been left, or after `close`.
    public func wait() async {
        await withCheckedContinuation { continuation in
            let hasLeft = state.with { state in
                if !state.hasLeft { state.waiting.append(continuation) }
                return state.hasLeft
            }
            if hasLeft { continuation.resume() }
        }
    }

    /// Opens the page in the user's browser.
    fileprivate func open(on desktop: Desktop) {
        guard let file = try? state.with({ $0.server })?.makeLaunchFile(in: desktop.launchFolder) else { return }
        desktop.open(file.path)
    }

    /// Ends the page. A second call does nothing.
    public func close() async {
        let server = state.with { state in
            defer { state.server = nil }
            return state.server
        }
        await server?.stop()
        Self.finish(state)
    }

    // MARK: The page's requests

    private static func items(_ state: Monitor<State>, _ began: Date) -> [LibraryServer.Item] {
        let recordings = state.with { state in
            state.loads += 1
            return state.recordings
        }
        return recordings.enumerated().map { index, recording in
            let stored = try? StoredRecording(reading: recording.path)
            return LibraryServer.Item(
                number: index + 1,
                name: UntrustedText.clean(recording.path.fileName, fallback: "a file"),
                title: stored?.title ?? "", began: began.timeIntervalSince1970,
                seconds: stored?.duration.inSeconds, bytes: recording.byteCount,
                state: stored == nil ? "gone" : "complete")
        }
    }

    private static func recording(_ number: Int, _ state: Monitor<State>) -> Recording? {
        state.with { $0.recordings.indices.contains(number - 1) ? $0.recordings[number - 1] : nil }
    }

    private static func trim(_ number: Int, _ from: Double, _ to: Double, _ state: Monitor<State>) throws -> String {
        guard let source = recording(number, state) else { throw RecordingFailure("there is no such recording") }
        let file = try RecordingEditor.trim(
            source.path, from: MediaDuration(.seconds(from)), to: MediaDuration(.seconds(to)), isExact: true,
            destination: .freeName(RecordingStorage.beside(source.path)))
        state.with { $0.recordings.append(Recording(file)) }
        return UntrustedText.clean(file.path.fileName, fallback: "a file")
    }

    private static func noteLeft(_ state: Monitor<State>) {
        let loads = state.with { $0.loads }
        Task {
            try? await Task.sleep(for: reloadTime)
            if state.with({ $0.loads }) == loads { finish(state) }
        }
    }

    private static func finish(_ state: Monitor<State>) {
        let waiting = state.with { state in
            state.hasLeft = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

extension Recording {
    /// Serves the recording's page, and opens it in the user's browser.
    /// - Parameter opensBrowser: false: only serves the page; its address is `RecordingPreview.url`.
    /// - Throws: `.portUnavailable` if no port can be opened.
    public func preview(opensBrowser: Bool = true) async throws(ShareKitError) -> RecordingPreview {
        try await preview(on: opensBrowser ? Desktop(ProcessInfo.processInfo.environment) : nil)
    }

    func preview(on desktop: Desktop?) async throws(ShareKitError) -> RecordingPreview {
        let preview = try await RecordingPreview(self)
        if let desktop { preview.open(on: desktop) }
        return preview
    }

    /// Gives the file to the desktop: its file manager shows the file, from where it goes to any other application.
    /// Without a file manager the folder is opened.
    /// - Throws: `.noDesktop` without a desktop, `.badFile` if the file has gone.
    public func share() async throws(ShareKitError) {
        try await share(with: Desktop(ProcessInfo.processInfo.environment))
    }

    func share(with desktop: Desktop) async throws(ShareKitError) {
        let url = URL(fileURLWithPath: path)
        guard FileManager.default.fileExists(atPath: url.path) else {
            throw ShareKitError(.badFile, "the recording's file is not there any more")
        }
        let isShown = await withCheckedContinuation { continuation in
            _ = NamedThread("desktop") { continuation.resume(returning: desktop.show(url)) }
        }
        guard isShown else {
            throw ShareKitError(
                .noDesktop, "there is no desktop that could take the file", remedy: "It is \(url.path).")
        }
    }
}

/// The desktop of the user.
struct Desktop: Sendable {
    private let environment: [String: String]

    init(_ environment: [String: String]) { self.environment = environment }

    /// Blocks.
    func show(_ file: URL) -> Bool {
        if let address = SessionBusAddress.running(in: environment),
            DesktopFileManager.show(file.absoluteString, address: address)
        {
            return true
        }
        return open(file.deletingLastPathComponent().path)
    }

    /// The user's folder for sockets and the like, or that for temporary files.
    var launchFolder: String {
        let folder = environment["XDG_RUNTIME_DIR"] ?? ""
        return folder.hasPrefix("/") && access(folder, W_OK) == 0 ? folder : FileManager.default.temporaryDirectory.path
    }

    /// Opens a file or a folder with the program that the user prefers for it.
    @discardableResult
    func open(_ path: String) -> Bool {
        let folders = environment["PATH"]?.split(separator: ":") ?? []
        let program = folders.lazy.map { $0 + "/xdg-open" }.first { FileManager.default.isExecutableFile(atPath: $0) }
        guard let program else { return false }
        let variables = ProgramEnvironment.selected(of: environment)
        return (try? Subprocess(String(program), [path], environment: variables, group: .session)) != nil
    }
}
#endif
