internal import Glibc

/// A page on the disk that forwards a browser to an address, so that no program has the address in its arguments, which
/// other users of the machine can read. Mode 0600, in a folder of its own with mode 0700.
public struct LaunchFile: Sendable {
    public struct Failure: Error {
        /// An errno.
        public let code: Int32
    }

    public let path: String
    private let folder: String

    /// - Parameters:
    ///   - folder: where the folder is made.
    ///   - address: without characters that HTML escapes, like `title`.
    package init(in folder: String, forwardingTo address: String, title: String = "Recordings") throws(Failure) {
        var template = Array((folder + "/share-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(code: errno) }
        let made = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.folder = made
        path = made + "/open.html"
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else {
            let code = errno
            rmdir(made)
            throw Failure(code: code)
        }
        defer { close(file) }
        let page = """
            <!DOCTYPE html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>\(title)</title>
            <meta http-equiv="refresh" content="0; url=\(address)">

            """
        let bytes = Array(page.utf8)
        guard write(file, bytes, bytes.count) == bytes.count else {
            let code = errno
            remove()
            throw Failure(code: code)
        }
    }

    package func remove() {
        unlink(path)
        rmdir(folder)
    }
}
