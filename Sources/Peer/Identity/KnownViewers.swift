public import FoundationEssentials
import Glibc
public import Identifiers
import MediaCore
import SessionDescription

/// The viewers that are let in without a question, stored as one line each in the file `known-viewers` (mode 0600)
/// beside the identity.
///
///     native  V DATE NAME        V: the certificate's SHA-256, 64 hexadecimal digits
///     browser V KEY DATE NAME    KEY: base64url of the P-256 point that was pinned when it was let in
///     V NAME                     of an older version; counts as native
///
/// Every call reads the file, so changes by other processes take effect at once. Changes are made under a lock
/// (`known-viewers.lock`), and the file is replaced as a whole. Lines that do not parse are preserved.
public struct KnownViewers: Sendable {
    public struct Entry: Sendable, Equatable {
        public let identity: ViewerIdentity
        /// The name that the viewer gave when it was let in.
        public let name: String
        /// The day on which it was first let in, as `2026-11-22` (UTC); nil if an older version wrote the entry.
        public let since: String?

        /// SHA-256 of the certificate: 64 hexadecimal digits, lower case.
        public var fingerprint: String { KnownViewers.hexadecimal(identity.fingerprint) }
    }

    private static let sizeLimit = 1 << 20
    private let path: String

    /// - Parameters:
    ///   - directory: has to exist before `add` is called.
    ///   - file: the name of the file; a service keeps the hosts that it knows in one of its own.
    public init(directory: String = Identity.defaultDirectory, file: String = "known-viewers") {
        path = directory + "/" + file
    }

    /// The entries in the order in which they were added; empty if there is no file.
    public func entries() throws(KnownViewersError) -> [Entry] { try lines().compactMap(Self.entry) }

    public func entry(of identity: ViewerIdentity) throws(KnownViewersError) -> Entry? {
        try entries().first { $0.identity == identity }
    }

    /// Adds a viewer unless its identity is known. The entry is on the disk when this returns.
    public func add(_ identity: ViewerIdentity, name: String, on day: Date = Date()) throws(KnownViewersError) {
        try changing { lines in
            guard !lines.compactMap(Self.entry).contains(where: { $0.identity == identity }) else { return false }
            let date = day.formatted(.iso8601.year().month().day())
            let key = identity.key.map { Base64URL.encode($0) + " " } ?? ""
            lines.append(
                "\(identity.kind.rawValue) \(Self.hexadecimal(identity.fingerprint)) \(key)\(date) "
                    + UntrustedText.clean(name, fallback: "somebody"))
            return true
        }
    }

    /// Removes a viewer.
    /// - Returns: false if it was not known.
    @discardableResult
    public func forget(_ identity: ViewerIdentity) throws(KnownViewersError) -> Bool {
        var isFound = false
        try changing { lines in
            let before = lines.count
            lines.removeAll { Self.entry($0)?.identity == identity }
            isFound = lines.count < before
            return isFound
        }
        return isFound
    }

    /// Returns the entries with this name, and those whose fingerprint begins with `text` (at least 4 digits, with or
    /// without colons).
    public func find(_ text: String) throws(KnownViewersError) -> [Entry] {
        let digits = text.lowercased().filter { $0 != ":" }
        let isPrefix = digits.count >= 4 && digits.allSatisfy { $0.isASCII && $0.isHexDigit }
        return try entries().filter { $0.name == text || isPrefix && $0.fingerprint.hasPrefix(digits) }
    }

    // MARK: Lines

    private static func entry(_ line: String) -> Entry? {
        let kind = ViewerIdentity.Kind(rawValue: String(line.prefix(while: { $0 != " " })))
        let parts = line.split(separator: " ", maxSplits: kind == .browser ? 4 : kind == .native ? 3 : 1)
        func make(_ fingerprint: Substring, _ key: Substring?, _ since: Substring?, _ name: Substring?) -> Entry? {
            guard fingerprint.utf8.count == 64, let bytes = Fingerprint(sha256Text: fingerprint)?.bytes else {
                return nil
            }
            var point: [UInt8]?
            if let key {
                guard let decoded = Base64URL.decode(key) else { return nil }
                point = decoded
            }
            guard let identity = ViewerIdentity(fingerprint: bytes, key: point) else { return nil }
            return Entry(identity: identity, name: name.map(String.init) ?? "", since: since.map(String.init))
        }
        switch kind {
        case .native: return parts.count >= 3 ? make(parts[1], nil, parts[2], parts.dropFirst(3).first) : nil
        case .browser: return parts.count >= 4 ? make(parts[1], parts[2], parts[3], parts.dropFirst(4).first) : nil
        case nil: return parts.first.flatMap { make($0, nil, nil, parts.dropFirst().first) }
        }
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        Fingerprint.colons(bytes).lowercased().filter { $0 != ":" }
    }

    // MARK: The file

    private func lines() throws(KnownViewersError) -> [String] {
        let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            if errno == ENOENT { return [] }
            throw failure("cannot read \(path)")
        }
        defer { close(file) }
        guard let status = FileStatus(path), status.isFile, status.owner == Int(geteuid()), status.mode & 0o022 == 0
        else {
            throw KnownViewersError(
                description: "others may write to \(path), so nobody in it is believed; look at it, then run: "
                    + "chmod 600 \(path)")
        }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let got = part.withUnsafeMutableBytes { read(file, $0.baseAddress, $0.count) }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw failure("cannot read \(path)") }
            if got == 0 { break }
            bytes += part[..<got]
            guard bytes.count <= Self.sizeLimit else {
                throw KnownViewersError(description: "\(path) is far too long; move it away")
            }
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Applies `change` under the lock and replaces the file.
    /// - Parameter change: returns false if nothing has to be written.
    private func changing(_ change: (inout [String]) -> Bool) throws(KnownViewersError) {
        let lock = open(path + ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw failure("cannot lock \(path)") }
        // Closing the file releases the lock.
        defer { close(lock) }
        while flock(lock, LOCK_EX) != 0 {
            guard errno == EINTR else { throw failure("cannot lock \(path)") }
        }
        var lines = try lines()
        guard change(&lines) else { return }
        try replace(with: lines.map { $0 + "\n" }.joined())
    }

    private func replace(with text: String) throws(KnownViewersError) {
        do throws(PrivateFile.Failure) {
            try PrivateFile.write(text, to: path, .replacing)
        } catch {
            throw KnownViewersError(description: error.description)
        }
        let directory = open(String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.endIndex)), O_RDONLY | O_CLOEXEC)
        guard directory >= 0 else { return }
        fsync(directory)
        close(directory)
    }

    private func failure(_ what: String) -> KnownViewersError {
        KnownViewersError(description: "\(what): \(String(cString: strerror(errno)))")
    }
}

/// The reason why the file of known viewers cannot be read or written. `description` is a sentence for people.
public struct KnownViewersError: Error, CustomStringConvertible {
    public let description: String
}
