#if RecordingsAndWHIP
public import FoundationEssentials
internal import Glibc
internal import Identity
internal import MediaCore
package import Recording

/// The recordings and clips of this user, whichever program has made them: what `share recordings list` shows.
///
/// It has what `share` records, and the clips and the recordings with a path of this library's apps.
public struct UserRecordings: Sendable {
    /// What the list has of one recording or clip.
    public struct Entry: Sendable, Identifiable, Equatable {
        /// The number that `share recordings` takes. It stays with the recording, and is not used again.
        public let id: Int
        /// The absolute path of its file, which may have been moved or removed since.
        public let path: String
        /// Of the broadcast or the app; not verified.
        public let title: String
        /// When it began, by the clock of this machine.
        public let began: Date
        /// Nil while it is recorded, and if it was cut off.
        public let duration: Duration?
        /// The size of the complete file in bytes. Nil while it is recorded, and if it was cut off.
        public let byteCount: Int?

        /// Whether the file is still there.
        public var exists: Bool { access(path, R_OK) == 0 }
    }

    private let folder: String

    /// The recordings of the user whom this process runs as. Nothing is read yet.
    public init() { self.init(folder: Identity.defaultDirectory) }

    init(folder: String) { self.folder = folder }

    /// All that are known, the newest first; also those whose file has gone.
    /// - Throws: `.badFile` if the list cannot be read.
    public func all() async throws(ShareKitError) -> [Entry] {
        try await Self.onDisk { [folder] () throws(CatalogueFailure) in
            try RecordingCatalogue.ofUser(folder).entries().map { Entry($0) }
        }
    }

    /// A recording to be played, trimmed or shared.
    /// - Throws: `.badFile` if the file has gone, or is none.
    public func recording(_ entry: Entry) async throws(ShareKitError) -> Recording {
        try await Recording.onDisk { () throws(RecordingFailure) in
            let stored = try StoredRecording(reading: entry.path)
            return RecordedFile(path: entry.path, duration: stored.duration, bytes: stored.bytes)
        }
    }

    /// Takes a recording off the list; its file stays.
    public func forget(_ entry: Entry) async throws(ShareKitError) {
        try await Self.onDisk { [folder] () throws(CatalogueFailure) in
            try RecordingCatalogue.ofUser(folder).remove(entry.id)
        }
    }

    private static func onDisk<Value: Sendable>(
        _ body: @escaping @Sendable () throws(CatalogueFailure) -> Value
    ) async throws(ShareKitError) -> Value {
        try await onDiskThread(body) { ShareKitError(.badFile, $0.description) }
    }

    /// Enters a file that is complete. A list that cannot be used disturbs no recording. Blocks on the disk.
    func note(_ file: RecordedFile, title: String) {
        guard let catalogue = try? RecordingCatalogue.ofUser(folder) else { return }
        let path = URL(fileURLWithPath: file.path).path
        try? catalogue.begin(path, title: title, at: Date() - file.duration.inSeconds)
        try? catalogue.complete(path, seconds: file.duration.inSeconds, bytes: file.bytes)
    }
}

extension UserRecordings.Entry {
    init(_ entry: CatalogueEntry) {
        self.init(
            id: entry.number, path: entry.path, title: entry.title, began: entry.began,
            duration: entry.seconds.map { .seconds($0) }, byteCount: entry.bytes)
    }
}

extension RecordingCatalogue {
    /// The catalogue of this user: `$XDG_DATA_HOME/share/recordings.sqlite`.
    package static func ofUser(_ folder: String = Identity.defaultDirectory) throws(CatalogueFailure)
        -> RecordingCatalogue
    {
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CatalogueFailure("\(folder) cannot be created")
        }
        return try RecordingCatalogue(folder + "/recordings.sqlite")
    }
}
#endif
