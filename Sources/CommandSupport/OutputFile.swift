import Glibc

/// Checks for a file that will be written at the end.
package enum OutputFile {
    /// - Throws: an error if the file cannot be written. Existing content stays unchanged.
    package static func check(_ file: String) throws(CommandError) {
        let isNew = access(file, F_OK) != 0
        let descriptor = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw CommandError(
                sentence: "\(file) cannot be written: \(String(cString: strerror(errno)))",
                remedy: "Name a file in a folder that exists and is yours.", status: .cannotWrite)
        }
        close(descriptor)
        if isNew { unlink(file) }
    }
}
