import Glibc
import LinuxRuntime
import MediaCore

/// A file that holds a secret: a token, a key, a configuration with either.
package enum SecretFile {
    /// Secrets have a line.
    private static let sizeLimit = 65_536

    /// Says on stderr that others can read or replace a file.
    /// - Parameter option: the option that names it.
    package static func warnIfExposed(_ path: String, _ option: String) {
        guard let sentence = exposure(of: path) else { return }
        let name = UntrustedText.clean(path, limit: 4_096, fallback: "the file")
        ErrorOutput.writeLine("share: \(option): \(name) \(sentence); make it yours alone: chmod 600 \(name)")
    }

    /// Who beside this user and root may read or replace a file; nil if nobody.
    static func exposure(of path: String) -> String? {
        guard let status = FileStatus(path: path) else { return nil }
        if status.owner != 0, status.owner != geteuid() { return "belongs to another user" }
        // A group of a service's user (root:share, 0640) is the usual way to pass a secret to it.
        if status.permissions & 0o004 != 0 { return "can be read by every user" }
        if status.permissions & 0o002 != 0 { return "can be written by every user" }
        if status.permissions & 0o020 != 0 { return "can be written by its group" }
        // A group of one user has the user's number.
        if status.permissions & 0o040 != 0, status.owner == geteuid(), status.group != getegid() {
            return "can be read by another group"
        }
        return nil
    }

    /// The first line of a file, without blanks around it.
    /// - Throws: if it cannot be read, or is empty.
    package static func firstLine(_ path: String, _ option: String) throws(CommandError) -> String {
        warnIfExposed(path, option)
        guard let handle = FileDescriptor(reading: path), let bytes = handle.read(upTo: sizeLimit),
            let line = String(validating: bytes, as: UTF8.self)?.split(whereSeparator: \.isNewline).first
        else {
            let name = UntrustedText.clean(path, limit: 4_096, fallback: "the file")
            throw CommandError(sentence: "\(option): \(name) cannot be read, or has no line", status: .usage)
        }
        return line.trimmed
    }
}
