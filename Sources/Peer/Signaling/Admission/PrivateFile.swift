import Glibc

/// Files of mode 0600 that are whole on the disk before they get their names.
enum PrivateFile {
    enum Placing {
        /// A file that is there already stays, and the write fails with EEXIST.
        case new
        /// A file that is there already is replaced.
        case replacing
    }

    struct Failure: Error {
        /// Of errno.
        let code: Int32
        /// What and why, for people.
        let description: String

        init(_ what: String) {
            code = errno
            description = "\(what): \(String(cString: strerror(code)))"
        }
    }

    /// Writes a file beside `path` and gives it that name. When it throws, nothing is left behind.
    static func write(_ text: String, to path: String, _ placing: Placing) throws(Failure) {
        var template = Array((path + ".XXXXXX").utf8CString)
        // mkstemp creates with O_EXCL and mode 0600.
        let file = template.withUnsafeMutableBufferPointer { $0.baseAddress.map { mkstemp($0) } ?? -1 }
        guard file >= 0 else { throw Failure("cannot write next to \(path)") }
        let temporary = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var hasMoved = false
        defer {
            close(file)
            if !hasMoved { unlink(temporary) }
        }
        let bytes = Array(text.utf8)
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Failure("cannot write \(path)") }
            written += count
        }
        guard fchmod(file, 0o600) == 0, fsync(file) == 0 else { throw Failure("cannot write \(path)") }
        switch placing {
        case .new: guard link(temporary, path) == 0 else { throw Failure("cannot write \(path)") }
        case .replacing:
            guard rename(temporary, path) == 0 else { throw Failure("cannot write \(path)") }
            hasMoved = true
        }
    }
}
