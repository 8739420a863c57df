import Glibc

/// Writes files of mode 0600 that appear under their names only when they are complete on the disk.
package enum PrivateFile {
    package enum Placing {
        /// An existing file stays, and the write fails with EEXIST.
        case new
        /// An existing file is replaced.
        case replacing
    }

    package struct Failure: Error {
        /// The value of errno.
        package let code: Int32
        /// The failed action and its reason, for people.
        package let description: String

        init(_ what: String) {
            code = errno
            description = "\(what): \(String(cString: strerror(code)))"
        }
    }

    /// Writes `text` to a temporary file beside `path`, then gives it that name. Removes the temporary file if it
    /// throws.
    package static func write(_ text: String, to path: String, _ placing: Placing) throws(Failure) {
        var template = Array((path + ".XXXXXX").utf8CString)
        // mkstemp opens with O_EXCL and mode 0600.
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
