internal import Glibc
internal import MediaCore

/// Shared memory of an app (a memfd, or a file in /dev/shm), which another process may write to and shrink.
///
/// It is mapped only if it can never shrink (`F_SEAL_SHRINK`, memfd_create(2)): reading a mapping behind the end of its
/// file ends the process (SIGBUS). Everything else is read with `pread`, which reports a missing byte.
// SAFETY: immutable after `init`; the bytes behind `base` are only read, and may change at any time.
public final class MappedMemory: @unchecked Sendable {
    private let descriptor: CInt
    /// Nil: the memory could shrink, and is not mapped.
    let base: UnsafeRawPointer?
    /// The mapped bytes; 0 without a mapping.
    private let mapped: Int

    // Of fcntl(2); glibc declares them for _GNU_SOURCE only.
    private static let getSeals: Int32 = 1_034
    private static let sealShrink: Int32 = 2

    /// - Parameter descriptor: readable; the object duplicates it, so that the app may close its own.
    /// - Throws: `.descriptor`.
    public init(descriptor: CInt) throws(InAppFrameFailure) {
        let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard own >= 0 else { throw .descriptor(errno) }
        do throws(InAppFrameFailure) {
            (base, mapped) = try Self.map(own)
        } catch {
            close(own)
            throw error
        }
        self.descriptor = own
    }

    deinit {
        if let base { munmap(UnsafeMutableRawPointer(mutating: base), mapped) }
        close(descriptor)
    }

    private static func map(_ descriptor: CInt) throws(InAppFrameFailure) -> (UnsafeRawPointer?, Int) {
        var information = stat()
        guard fstat(descriptor, &information) == 0 else { throw .descriptor(errno) }
        guard information.st_mode & S_IFMT == S_IFREG, information.st_size > 0 else { throw .descriptor(EINVAL) }
        guard fcntl(descriptor, F_GETFL) & O_ACCMODE != O_WRONLY else { throw .descriptor(EACCES) }
        let seals = fcntl(descriptor, getSeals)
        // Huge pages may be missing when they are first read, which is a SIGBUS, too.
        guard seals >= 0, seals & sealShrink != 0, Int(information.st_blksize) <= Int(getpagesize()) else {
            return (nil, 0)
        }
        let address = mmap(nil, information.st_size, PROT_READ, MAP_SHARED, descriptor, 0)
        guard let address, address != MAP_FAILED else { throw .descriptor(errno) }
        return (UnsafeRawPointer(address), information.st_size)
    }

    /// Whether frames are read where they are.
    public var isMapped: Bool { base != nil }

    /// In bytes; what is mapped does not grow with its file.
    var byteCount: Int {
        if isMapped { return mapped }
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
