import FoundationEssentials
import Glibc
public import Identifiers

extension Identity {
    /// The directory of identity files: `$XDG_DATA_HOME/share`, else `~/.local/share/share`.
    public static var defaultDirectory: String {
        if let data = getenv("XDG_DATA_HOME").map({ String(cString: $0) }), data.hasPrefix("/") {
            return data + "/share"
        }
        let home = getenv("HOME").map { String(cString: $0) } ?? FileManager.default.homeDirectoryForCurrentUser.path
        return home + "/.local/share/share"
    }

    /// Reads a file (mode 0600) in `directory`. Creates the directory (mode 0700) and the file if they do not exist.
    ///
    /// Two processes that start at once get the same identity: link(2) makes the whole file appear at once, and the
    /// slower process reads the file of the faster one.
    /// - Parameter file: the name; another one is that of another identity, for one purpose.
    /// - Throws: `.permissions` if other users could read or replace the file, `.damaged` if it does not parse,
    ///   `.directory`, `.file`.
    public static func loadOrCreate(
        in directory: String = defaultDirectory, file: String = "identity.pem"
    ) throws(IdentityError) -> Identity {
        try IdentityFile.prepare(directory)
        let path = directory + "/" + file
        if let identity = try IdentityFile.read(path) { return identity }
        let identity = try ephemeral()
        if try IdentityFile.publish(identity, at: path) { return identity }
        guard let other = try IdentityFile.read(path) else {
            throw IdentityError(.file, "\(path) appears and disappears; is something cleaning \(directory)?")
        }
        return other
    }
}

extension Identity {
    /// The identity with which a service of this user pairs with a relay. One identity has one place there, and the
    /// user's own is for hosts.
    public static func ofService(_ id: ServiceID) throws(IdentityError) -> Identity {
        try loadOrCreate(file: "relay-\(id.text).pem")
    }
}

/// Reads and writes the file of an identity: a certificate and a PKCS#8 key, both PEM.
private enum IdentityFile {
    static func prepare(_ directory: String) throws(IdentityError) {
        do throws(PrivateDirectory.Failure) {
            try PrivateDirectory.prepare(directory, for: "this machine's identity")
        } catch {
            throw IdentityError(error.code == .permissions ? .permissions : .directory, error.description)
        }
    }

    /// Returns nil if the file does not exist.
    static func read(_ path: String) throws(IdentityError) -> Identity? {
        let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw IdentityError(.file, "cannot open \(path): \(reason())")
        }
        defer { close(file) }
        // The file at `path` is still the one that was opened: only this user may write to the directory.
        guard let status = FileStatus(path), status.isFile else {
            throw IdentityError(.file, "\(path) is not a plain file")
        }
        guard status.owner == Int(geteuid()) else {
            throw IdentityError(.permissions, "\(path) belongs to somebody else")
        }
        guard status.mode & 0o077 == 0 else {
            throw IdentityError(
                .permissions,
                "others may read the key in \(path); if nobody did, run: chmod 600 \(path), else remove it to get a new one"
            )
        }
        guard status.size <= 16_384 else { throw IdentityError.damaged(path, "it is far too long") }
        var bytes = [UInt8](repeating: 0, count: 16_384)
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes {
                Glibc.read(file, $0.baseAddress?.advanced(by: count), $0.count - count)
            }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw IdentityError(.file, "cannot read \(path): \(reason())") }
            if got == 0 { break }
            count += got
        }
        return try Identity(pem: String(decoding: bytes[..<count], as: UTF8.self), path: path)
    }

    /// - Returns: false if another process has created the file first.
    static func publish(_ identity: Identity, at path: String) throws(IdentityError) -> Bool {
        do throws(PrivateFile.Failure) {
            try PrivateFile.write(
                identity.certificatePEM + identity.privateKeyPEM, to: path, .new)
            return true
        } catch {
            if error.code == EEXIST { return false }
            throw IdentityError(.file, error.description)
        }
    }

    private static func reason() -> String { String(cString: strerror(errno)) }
}

/// The metadata of the file at a path. A symbolic link is not followed.
///
/// Foundation is used because the Swift compiler attributes the members of C's `struct stat` to whichever module it
/// sees first.
package struct FileStatus {
    package let isFile: Bool
    package let isDirectory: Bool
    package let owner: Int
    /// The permission bits, such as 0o600.
    package let mode: Int
    /// Bytes.
    package let size: Int

    package init?(_ path: String) {
        guard let values = try? FileManager.default.attributesOfItem(atPath: path),
            let owner = Self.number(values[.ownerAccountID]), let mode = Self.number(values[.posixPermissions]),
            let size = Self.number(values[.size])
        else { return nil }
        let type = values[.type] as? FileAttributeType
        isFile = type == .typeRegular
        isDirectory = type == .typeDirectory
        self.owner = owner
        self.mode = mode
        self.size = size
    }

    private static func number(_ value: Any?) -> Int? {
        (value as? any BinaryInteger).map { Int(truncatingIfNeeded: $0) } ?? value as? Int
    }
}
