import Glibc
import LinuxRuntime

/// Held by the one process of a user's session that does something which only one may do: a locked file beside the
/// control sockets.
///
/// The kernel releases it with the process (flock(2)). The file has the process id of the holder, as text.
public final class SingleInstanceLock: Sendable {
    public enum Failure: Error, Equatable, Sendable {
        /// Another process holds it; its id, if that can be read.
        case taken(process: Int?)
        /// There is no folder for it, or the system refuses the file; a sentence without a full stop.
        case unusable(String)
    }

    /// The raw value is the file's name.
    public enum Purpose: String, Sendable {
        /// A broadcast of the session's screen.
        case systemBroadcast = "system-broadcast.lock"
        /// The question about a link that was opened by the desktop.
        case linkQuestion = "link-question.lock"
    }

    private let path: String
    /// -1 once it is released.
    private let descriptor: Monitor<Int32>

    /// Takes the lock, without waiting for it.
    public init(_ purpose: Purpose, in folder: ControlSocketFolder) throws(Failure) {
        do throws(ControlSocketFailure) {
            path = try folder.make(for: purpose.rawValue) + "/" + purpose.rawValue
        } catch {
            throw .unusable(error.message)
        }
        while true {
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { throw .unusable("\(path) cannot be opened: \(ControlSocketFolder.reason)") }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                defer { Glibc.close(descriptor) }
                throw .taken(process: Self.process(in: descriptor))
            }
            // The last holder removes the file, perhaps between `open` and `flock`; a lock on that one excludes nobody.
            if Self.isSame(descriptor, path) {
                let text = "\(getpid())\n"
                _ = ftruncate(descriptor, 0)
                _ = write(descriptor, text, text.utf8.count)
                self.descriptor = Monitor(descriptor)
                return
            }
            Glibc.close(descriptor)
        }
    }

    /// Who has the lock.
    public enum Holder: Equatable, Sendable {
        case nobody
        /// - Parameter process: its id, if that can be read.
        case process(Int?)
        /// There is no folder that can be looked into.
        case unknown
    }

    /// Looks without taking the lock, which would keep it from a process that begins at the same time.
    public static func holder(of purpose: Purpose, in folder: ControlSocketFolder) -> Holder {
        var holder = folder.paths.isEmpty ? Holder.unknown : .nobody
        for path in folder.paths {
            let file = open(path + "/" + purpose.rawValue, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard file >= 0 else {
                if errno != ENOENT, errno != ENOTDIR { holder = .unknown }
                continue
            }
            defer { Glibc.close(file) }
            var status = stat()
            guard fstat(file, &status) == 0, status.st_uid == geteuid() else { continue }
            if isLocked(Int(status.st_ino)) ?? true { return .process(process(in: file)) }
        }
        return holder
    }

    /// By proc(5), locks: a line is "1: FLOCK  ADVISORY  WRITE 4711 00:1a:132 0 EOF", with the inode at the end of the
    /// sixth word. Nil if it cannot be read.
    private static func isLocked(_ inode: Int) -> Bool? {
        guard let file = fopen("/proc/locks", "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let words = text.split { $0 == " " || $0 == "\n" }
            guard words.count > 5, words[1] == "FLOCK", words[3] == "WRITE" else { continue }
            if words[5].split(separator: ":").last == "\(inode)" { return true }
        }
        return false
    }

    deinit { close() }

    /// Releases the lock, and removes its file. May be called more than once.
    public func close() {
        let held = descriptor.with { descriptor in
            defer { descriptor = -1 }
            return descriptor
        }
        guard held >= 0 else { return }
        unlink(path)
        Glibc.close(held)
    }

    private static func isSame(_ descriptor: Int32, _ path: String) -> Bool {
        var (own, named) = (stat(), stat())
        return fstat(descriptor, &own) == 0 && lstat(path, &named) == 0 && own.st_ino == named.st_ino
            && own.st_dev == named.st_dev
    }

    private static func process(in descriptor: Int32) -> Int? {
        var bytes = [UInt8](repeating: 0, count: 20)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard count > 0 else { return nil }
        return Int(String(decoding: bytes.prefix(count).prefix { $0 != 10 }, as: UTF8.self))
    }
}
