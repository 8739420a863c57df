import Glibc
import LinuxRuntime
public import Matroska

/// A WebM file while it is recorded. Clusters are appended whole, so that the file can be played at every moment, also
/// if the process is killed.
///
/// An existing file is never opened. Until `close` other processes find it locked (flock).
/// - Isolation: one thread, which blocks on the disk.
// SAFETY: handed from the thread that makes it to the one that writes; used by one thread at a time.
public final class RecordingFile: @unchecked Sendable {
    public private(set) var path: String
    private let descriptor: Int32
    private var isOpen = true
    private var header: MatroskaHeader?
    /// The length of the whole elements; there may be a part of another one behind them after a failure.
    public private(set) var length = 0
    private var isSynced = true
    private let background = Monitor(BackgroundSync())

    /// A sync on a thread of its own.
    private struct BackgroundSync {
        var isRunning = false
        /// Of a sync that failed; 0 otherwise.
        var code: Int32 = 0
    }

    /// Creates the file, with mode 0600.
    public init(creating path: String) throws(RecordingFileFailure) {
        self.path = path
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            // The file of that name is another one, which `close` must not touch.
            isOpen = false
            throw RecordingFileFailure(errno: errno, path, "cannot be created")
        }
        _ = flock(descriptor, LOCK_EX | LOCK_NB)
    }

    deinit { close() }

    /// Where the next cluster will be, relative to the segment's start.
    public var position: Int { length - (header?.segmentStart ?? 0) }

    /// Renames a file with one extension to another one, with a number before it if the name is taken. A file that
    /// cannot be renamed keeps its name.
    public func changeExtension(from former: String, to other: String) {
        guard path.hasSuffix(former), isAtItsPath else { return }
        let stem = path.dropLast(former.count)
        for number in 1...Self.names {
            let name = stem + (number == 1 ? "" : "-\(number)") + other
            // Unlike rename, a link never replaces a file.
            guard link(path, String(name)) == 0 else {
                if errno == EEXIST { continue }
                return
            }
            unlink(path)
            path = String(name)
            return
        }
    }

    private static let names = 1_000

    /// Writes the header. Called once, before everything else.
    public func start(_ header: MatroskaHeader) throws(RecordingFileFailure) {
        try append(header.bytes)
        self.header = header
        // The file's name is on the disk as well, from here on.
        let folder = open(Self.folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if folder >= 0 {
            fsync(folder)
            Glibc.close(folder)
        }
    }

    /// Appends whole elements.
    /// - Throws: the file then ends as before the call.
    public func append(_ bytes: [UInt8]) throws(RecordingFileFailure) {
        do throws(RecordingFileFailure) {
            try write(bytes, at: length)
        } catch {
            ftruncate(descriptor, off_t(length))
            throw error
        }
        length += bytes.count
    }

    /// Says how long the recording is.
    public func setDuration(milliseconds: Int64) throws(RecordingFileFailure) {
        guard let header else { return }
        try write(MatroskaHeader.duration(milliseconds: milliseconds), at: header.durationOffset)
    }

    /// Writes a part of the cues before the clusters.
    public func setCues(_ patch: MatroskaPatch) throws(RecordingFileFailure) {
        guard let header else { return }
        try write(patch.bytes, at: header.cuesContent.lowerBound + patch.offset)
    }

    /// Takes a track without blocks out of the header.
    /// - Parameter number: of the track, from 1 on.
    public func remove(track number: Int) throws(RecordingFileFailure) {
        guard let patch = header?.removal(ofTrack: number) else { return }
        try write(patch.bytes, at: patch.offset)
    }

    /// Has what was written put on the disk, on a thread of its own: a disk that takes seconds holds up no further
    /// writing. Does nothing while an earlier call goes on.
    /// - Throws: if an earlier call has failed.
    public func requestSync() throws(RecordingFileFailure) {
        guard !isSynced else { return }
        let earlier = background.with { $0 }
        guard earlier.code == 0 else { throw failure(earlier.code) }
        guard !earlier.isRunning else { return }
        // The copy may outlive this object's descriptor.
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return try sync() }
        background.with { $0.isRunning = true }
        let background = background
        do throws(NamedThread.Failure) {
            _ = try NamedThread.start("disk-sync") {
                let code = fdatasync(copy) == 0 ? 0 : errno
                Glibc.close(copy)
                background.change { $0 = BackgroundSync(code: code) }
            }
            isSynced = true
        } catch {
            Glibc.close(copy)
            background.with { $0.isRunning = false }
            try sync()
        }
    }

    /// Sleeps until what was written is on the disk.
    public func sync() throws(RecordingFileFailure) {
        // The kernel reports an error of the disk once.
        let code = background.wait { $0.isRunning ? nil : $0.code }
        guard code == 0 else { throw failure(code) }
        guard !isSynced else { return }
        guard fdatasync(descriptor) == 0 else { throw failure() }
        isSynced = true
    }

    /// Completes the file: says where it ends. The file can be played as before if that fails.
    /// - Parameter cues: to be appended, in place of those before the clusters; nil if those are complete.
    public func finish(_ cues: [Cue]?) throws(RecordingFileFailure) {
        guard let header else { return }
        ftruncate(descriptor, off_t(length))
        let cuesOffset = cues.map { _ in length }
        if let cues { try append(Cue.element(cues)) }
        try sync()
        for patch in header.completion(cues: cuesOffset, end: length) { try write(patch.bytes, at: patch.offset) }
        try sync()
    }

    /// Closes the file. One without a header is removed. May be called twice.
    public func close() {
        guard isOpen else { return }
        isOpen = false
        if header == nil, isAtItsPath { unlink(path) }
        Glibc.close(descriptor)
    }

    /// Closes the file and removes it.
    public func discard() {
        header = nil
        close()
    }

    /// The file was not renamed, and no other one took its name.
    private var isAtItsPath: Bool {
        var own = stat()
        var named = stat()
        return fstat(descriptor, &own) == 0 && lstat(path, &named) == 0 && own.st_ino == named.st_ino
            && own.st_dev == named.st_dev
    }

    private func write(_ bytes: [UInt8], at offset: Int) throws(RecordingFileFailure) {
        isSynced = false
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset + written))
            }
            if count > 0 {
                written += count
            } else if count == 0 || errno != EINTR {
                throw failure()
            }
        }
    }

    /// Nanoseconds from 2001-01-01T00:00:00 UTC, as Matroska counts them.
    public static var timeOfDay: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return (Int64(time.tv_sec) - 978_307_200) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    /// A write beyond the process's file size limit then fails on this thread, instead of ending the process (SIGXFSZ).
    public static func ignoreSizeSignal() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGXFSZ)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    private func failure(_ code: Int32 = errno) -> RecordingFileFailure {
        RecordingFileFailure(errno: code, path, "cannot be written")
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
