import Glibc

extension PrivateFile {
    package enum ReadFailure: Error, Equatable {
        /// A symbolic link, a directory or something else.
        case notAFile
        case foreignOwner
        /// Others than the owner may write to it.
        case writableByOthers
        /// The value is the limit in bytes.
        case tooLarge(Int)
        /// The value is the reason, for people.
        case unreadable(String)
    }

    /// Reads a file of a directory that only this user may change.
    /// - Parameter limit: in bytes.
    /// - Returns: nil if the file does not exist.
    package static func read(
        _ path: String, limit: Int, owner: Int = Int(geteuid())
    ) throws(ReadFailure) -> String? {
        // O_NONBLOCK: a pipe is opened without waiting for its writer.
        let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            if errno == ELOOP { throw .notAFile }
            throw .unreadable(String(cString: strerror(errno)))
        }
        defer { close(file) }
        // The file at `path` is still the one that was opened: only this user may write to the directory.
        guard let status = FileStatus(path), status.isFile else { throw .notAFile }
        guard status.owner == owner else { throw .foreignOwner }
        guard status.mode & 0o022 == 0 else { throw .writableByOthers }
        guard status.size <= limit else { throw .tooLarge(limit) }
        // One byte more than allowed, as the file may grow.
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes {
                Glibc.read(file, $0.baseAddress?.advanced(by: count), $0.count - count)
            }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw .unreadable(String(cString: strerror(errno))) }
            if got == 0 { break }
            count += got
        }
        guard count <= limit else { throw .tooLarge(limit) }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
