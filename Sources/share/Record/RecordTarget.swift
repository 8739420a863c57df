import CommandSupport
import FoundationEssentials
import Glibc
import MediaCore
import Recording

/// Where `share record` writes: a file that was named, or files in a folder.
struct RecordTarget {
    let destination: RecordingDestination
    /// The file was named; it is created before the session.
    let isFile: Bool

    /// - Parameter broadcast: the broadcast's name, when a file is begun.
    init(_ path: String, broadcast: @escaping @Sendable () -> String) throws(CommandError) {
        var isFolder = false
        let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        guard exists && isFolder || path.hasSuffix("/") else {
            destination = .file(path)
            isFile = true
            return
        }
        try Self.checkFolder(path)
        destination = .folder(path) { Self.fileName(broadcast: broadcast(), at: Date()) }
        isFile = false
    }

    /// - Throws: unless files can be created in the folder.
    static func checkFolder(_ path: String) throws(CommandError) {
        var isFolder = false
        let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        errno = exists && !isFolder ? ENOTDIR : ENOENT
        guard exists, isFolder, access(path, W_OK | X_OK) == 0 else {
            throw CommandError(
                sentence: "no file can be created in \(path): \(String(cString: strerror(errno)))",
                remedy: "Name a folder that exists and is yours.", status: .cannotWrite)
        }
    }

    /// For example "Anna's screen 2026-11-23 14.03.59.webm", in local time.
    static func fileName(broadcast: String, at date: Date) -> String {
        var seconds = time_t(date.timeIntervalSince1970)
        var time = tm()
        localtime_r(&seconds, &time)
        func digits(_ value: Int32) -> String { (value < 10 ? "0" : "") + String(value) }
        let day = "\(time.tm_year + 1_900)-\(digits(time.tm_mon + 1))-\(digits(time.tm_mday))"
        let clock = [time.tm_hour, time.tm_min, time.tm_sec].map(digits).joined(separator: ".")
        return "\(safeName(broadcast)) \(day) \(clock).webm"
    }

    /// A name from the network as part of a file's name: no separators, no hidden files, nothing that a shell or
    /// another file system does not like.
    static func safeName(_ name: String) -> String {
        let clean = UntrustedText.clean(name, fallback: "share")
        var text = String(clean.map { "/\\:*?\"<>|".contains($0) ? "-" : $0 })
        while text.hasPrefix(".") || text.hasPrefix("-") || text.hasPrefix(" ") { text.removeFirst() }
        // A file's name has 255 bytes at most.
        while text.utf8.count > 120 { text.removeLast() }
        return text.isEmpty ? "share" : text
    }
}
