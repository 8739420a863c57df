import Glibc
public import Matroska

/// An open file to be read.
///
/// - Isolation: any thread; reads do not move a position.
public final class RecordedFileSource: ByteSource, Sendable {
    public let path: String
    public let length: Int
    let descriptor: Int32

    /// Opens a regular file.
    /// - Parameter isWritable: to be repaired; locked against other programs that write it.
    public init(_ path: String, isWritable: Bool = false) throws(RecordingFileFailure) {
        self.path = path
        descriptor = open(path, (isWritable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw RecordingFileFailure(errno: errno, path, "cannot be opened") }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw RecordingFileFailure(.notReadable, "\(path) is no file")
        }
        if isWritable, flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            close(descriptor)
            throw RecordingFileFailure(.inUse, "\(path) is being recorded by another program")
        }
        length = Int(status.st_size)
    }

    deinit { close(descriptor) }

    public func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var done = 0
        while done < buffer.count {
            let count = pread(
                descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done, off_t(offset + done))
            if count > 0 { done += count } else if count == 0 || errno != EINTR { break }
        }
        return done
    }
}
