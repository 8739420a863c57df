internal import CLinux
internal import Glibc

/// Memory that processes share: a file without a name (memfd_create(2)) whose size cannot change any more.
public final class SharedMemory: Sendable {
    public enum Failure: Error, Equatable {
        /// The system has no memory or no descriptor left (an errno).
        case unavailable(Int32)
        /// The file of another process is smaller than promised, or could still shrink.
        case unsafe
    }

    public let byteCount: Int
    // SAFETY: who may write is agreed upon by the processes; the address does not change.
    nonisolated(unsafe) public let base: UnsafeMutableRawPointer
    /// Closed with the value.
    public let descriptor: Int32

    /// Makes memory that this process alone may write to.
    /// - Parameter byteCount: at least 1.
    public init(byteCount: Int) throws(Failure) {
        let file = clinux_memfd("share")
        guard file >= 0 else { throw .unavailable(errno) }
        // A file that shrinks would end the process that reads behind its end (SIGBUS).
        guard ftruncate(file, byteCount) == 0,
            let base = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), base != MAP_FAILED
        else {
            let code = errno
            close(file)
            throw .unavailable(code)
        }
        let seals = CLINUX_SEAL_SHRINK | CLINUX_SEAL_GROW | CLINUX_SEAL_FUTURE_WRITE | CLINUX_SEAL_SEAL
        guard clinux_add_seals(file, seals) == 0 else {
            let code = errno
            munmap(base, byteCount)
            close(file)
            throw .unavailable(code)
        }
        self.byteCount = byteCount
        self.base = base
        descriptor = file
    }

    /// Maps memory of another process, to read it.
    /// - Parameter descriptor: owned by the value from now on, also if this throws.
    public init(reading descriptor: Int32, byteCount: Int) throws(Failure) {
        guard byteCount > 0, let size = Self.sealedSize(of: descriptor), size >= byteCount else {
            close(descriptor)
            throw .unsafe
        }
        guard let base = mmap(nil, byteCount, PROT_READ, MAP_SHARED, descriptor, 0), base != MAP_FAILED else {
            let code = errno
            close(descriptor)
            throw .unavailable(code)
        }
        self.byteCount = byteCount
        self.base = base
        self.descriptor = descriptor
    }

    /// The size of a file that can be mapped without a risk: reading a mapping behind the end of its file ends the
    /// process (SIGBUS). It is sealed against that (`F_SEAL_SHRINK`), and has no huge pages, which may be missing when
    /// they are first read.
    /// - Returns: nil for every other file.
    public static func sealedSize(of descriptor: Int32) -> Int? {
        var status = stat()
        let seals = clinux_seals(descriptor)
        guard fstat(descriptor, &status) == 0, seals >= 0, seals & CLINUX_SEAL_SHRINK != 0,
            Int(status.st_blksize) <= Int(getpagesize())
        else { return nil }
        return Int(status.st_size)
    }

    deinit {
        munmap(base, byteCount)
        close(descriptor)
    }
}
