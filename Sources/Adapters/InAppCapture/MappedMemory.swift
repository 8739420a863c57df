internal import Glibc
internal import LinuxRuntime
internal import MediaCore

/// Shared memory of an app (a memfd, or a file in /dev/shm), which another process may write to and shrink.
///
/// It is mapped only if it can never shrink (`SharedMemory.sealedSize`). Everything else is read with `pread`, which
/// reports a missing byte.
public final class MappedMemory: Sendable {
    private let descriptor: CInt
    /// Nil: the memory could shrink, and is not mapped. Its bytes are only read, and may change at any time.
    private let mapping: SharedMemory?

    /// - Parameter descriptor: readable; the object duplicates it, so that the app may close its own.
    /// - Throws: `.descriptor`.
    public init(descriptor: CInt) throws(InAppFrameFailure) {
        try Self.check(descriptor)
        let own = try Self.duplicate(descriptor)
        self.descriptor = own
        do throws(InAppFrameFailure) {
            mapping = try SharedMemory.sealedSize(of: own).map { (size) throws(InAppFrameFailure) in
                try Self.map(try Self.duplicate(own), size)
            }
        } catch {
            close(own)
            throw error
        }
    }

    deinit { close(descriptor) }

    private static func check(_ descriptor: CInt) throws(InAppFrameFailure) {
        var information = stat()
        guard fstat(descriptor, &information) == 0 else { throw .descriptor(errno) }
        guard information.st_mode & S_IFMT == S_IFREG, information.st_size > 0 else { throw .descriptor(EINVAL) }
        guard fcntl(descriptor, F_GETFL) & O_ACCMODE != O_WRONLY else { throw .descriptor(EACCES) }
    }

    private static func duplicate(_ descriptor: CInt) throws(InAppFrameFailure) -> CInt {
        let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard own >= 0 else { throw .descriptor(errno) }
        return own
    }

    private static func map(_ descriptor: CInt, _ size: Int) throws(InAppFrameFailure) -> SharedMemory {
        do throws(SharedMemory.Failure) {
            return try SharedMemory(reading: descriptor, byteCount: size)
        } catch {
            guard case .unavailable(let code) = error else { throw .descriptor(EINVAL) }
            throw .descriptor(code)
        }
    }

    /// The first mapped byte; nil without a mapping.
    var base: UnsafeRawPointer? { mapping.map { UnsafeRawPointer($0.base) } }

    /// Whether frames are read where they are.
    public var isMapped: Bool { mapping != nil }

    /// In bytes; what is mapped does not grow with its file.
    var byteCount: Int {
        if let mapping { return mapping.byteCount }
        var information = stat()
        return fstat(descriptor, &information) == 0 ? information.st_size : 0
    }

    /// Checks that a BGRA frame lies inside.
    func check(offset: Int, stride: Int, size: PixelSize) throws(InAppFrameFailure) {
        try InAppFrameFailure.checkBGRA(size, stride: stride)
        let count = byteCount
        let (rows, isTooLong) = stride.multipliedReportingOverflow(by: size.height - 1)
        guard !isTooLong, offset >= 0, rows <= count - size.width * 4, offset <= count - size.width * 4 - rows else {
            throw .outside(byteCount: count)
        }
    }

    /// Copies bytes.
    /// - Returns: false if the memory has shrunk; the target may then have some of them.
    func copy(_ target: UnsafeMutableRawPointer, offset: Int, count: Int) -> Bool {
        var done = 0
        while done < count {
            let result = pread(descriptor, target + done, count - done, off_t(offset + done))
            if result > 0 { done += result } else if result == 0 || errno != EINTR { return false }
        }
        return true
    }
}
