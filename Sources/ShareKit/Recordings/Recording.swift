#if RecordingsAndWHIP
internal import FoundationEssentials
internal import Glibc
internal import MediaCore
internal import Recording
import Synchronization

/// A file that a ``ScreenRecorder`` has written, in WebM.
///
/// A recording that was started without a path is removed when the next one starts, unless it was saved.
public final class Recording: Sendable {
    /// How long it plays.
    public let duration: Duration
    /// The size of the file.
    public let byteCount: Int
    private let place: Mutex<String>
    /// Where it is listed when it is saved; nil: nowhere.
    private let list: UserRecordings?
    private let title: String

    init(_ file: RecordedFile, list: UserRecordings? = nil, title: String = "") {
        self.list = list
        self.title = title
        place = Mutex(file.path)
        duration = Duration(file.duration)
        byteCount = file.bytes
    }

    /// Where the file is.
    public var path: String { place.withLock { $0 } }

    /// Moves the file, to keep it, and enters it in the user's list (``UserRecordings``). Nothing is overwritten.
    /// - Throws: `.badFile` if there is a file already, or if the folder cannot be written.
    public func save(to path: String) throws(ShareKitError) {
        let moved = place.withLock { place -> ShareKitError? in
            do throws(ShareKitError) {
                try RecordingStorage.move(place, to: path)
                place = path
                return nil
            } catch {
                return error
            }
        }
        if let moved { throw moved }
        list?.note(RecordedFile(path: path, duration: MediaDuration(duration), bytes: byteCount), title: title)
    }

    /// Removes the file.
    public func discard() { RecordingStorage.remove(path) }

    /// Copies a part to a new file, without encoding it again. It begins with the picture of that instant.
    /// - Parameters:
    ///   - start: from the beginning of the recording.
    ///   - end: nil: its end.
    ///   - path: of the new file; nil: a free name beside this one.
    /// - Throws: `.badFile` if there is nothing in that part, or if the file cannot be written.
    public func trim(
        from start: Duration, to end: Duration? = nil, path: String? = nil
    ) async throws(ShareKitError) -> Recording {
        let source = self.path
        let destination = path.map { RecordingDestination.file($0) } ?? .freeName(RecordingStorage.beside(source))
        let (list, title) = (list, title)
        return try await Self.onDisk(list: list, title: title) { () throws(RecordingFailure) in
            let file = try RecordingEditor.trim(
                source, from: MediaDuration(start), to: end.map { MediaDuration($0) }, isExact: true,
                destination: destination)
            list?.note(file, title: title)
            return file
        }
    }

    /// Joins recordings or clips of the same app in a new file, without encoding them again.
    /// - Throws: `.badFile` if they have different sizes, or if the file cannot be written.
    public static func join(_ recordings: [Recording], path: String) async throws(ShareKitError) -> Recording {
        let paths = recordings.map(\.path)
        return try await onDisk { () throws(RecordingFailure) in
            try RecordingEditor.join(paths, title: nil, destination: .file(path))
        }
    }

    /// Runs what makes a file, on a thread of its own.
    static func onDisk(
        list: UserRecordings? = nil, title: String = "",
        _ body: @escaping @Sendable () throws(RecordingFailure) -> RecordedFile
    ) async throws(ShareKitError) -> Recording {
        Recording(try await onDiskThread(body) { ShareKitError($0) }, list: list, title: title)
    }
}

/// Runs what blocks on the disk on a thread of its own.
/// - Throws: what `convert` makes of the failure; `.failed` if no thread is left.
func onDiskThread<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value, _ convert: (Failure) -> ShareKitError
) async throws(ShareKitError) -> Value {
    guard let result = await onThread("disk", { Result(catching: body) }) else {
        throw ShareKitError(.failed, "no thread is left to use the disk")
    }
    return try result.mapError(convert).get()
}

/// Where recordings without a path are kept until they are saved.
enum RecordingStorage {
    /// A name for a new recording: `$XDG_CACHE_HOME/share/recordings/UUID.webm`.
    static func newPath() throws(ShareKitError) -> String {
        let environment = ProcessInfo.processInfo.environment
        let home = FileManager.default.homeDirectoryForCurrentUser.path
        let cache =
            environment["XDG_CACHE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home + "/.cache"
        let folder = cache + "/share/recordings"
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw ShareKitError(.badFile, "\(folder) cannot be created", remedy: "Name a file for the recording.")
        }
        return folder + "/" + UUID().uuidString + ".webm"
    }

    /// A name in the same folder, for a part.
    static func beside(_ path: String) -> String {
        let url = URL(fileURLWithPath: path)
        let name = url.deletingPathExtension().lastPathComponent + "-part.webm"
        return url.deletingLastPathComponent().appendingPathComponent(name).path
    }

    static func move(_ path: String, to target: String) throws(ShareKitError) {
        guard !FileManager.default.fileExists(atPath: target) else {
            throw ShareKitError(.badFile, "\(target) exists already", remedy: "Files are never overwritten.")
        }
        do {
            try FileManager.default.moveItem(atPath: path, toPath: target)
        } catch {
            throw ShareKitError(
                .badFile, "\(target) cannot be written", remedy: "Name a folder that exists and is yours.")
        }
    }

    static func remove(_ path: String) { unlink(path) }
}
#endif
