import FoundationEssentials
import Glibc

extension Identity {
    /// Where identities live: `$XDG_DATA_HOME/share`, else `~/.local/share/share`.
    public static var defaultDirectory: String {
        if let data = getenv("XDG_DATA_HOME").map({ String(cString: $0) }), data.hasPrefix("/") {
            return data + "/share"
        }
        let home = getenv("HOME").map { String(cString: $0) } ?? FileManager.default.homeDirectoryForCurrentUser.path
        return home + "/.local/share/share"
    }

    /// Reads `identity.pem` (mode 0600) of `directory`, or makes both; the directory gets mode 0700.
    ///
    /// Two processes that start at once end with the same identity: the file appears whole, by link(2), and the slower one
    /// reads what the faster one wrote.
    /// - Throws: `.permissions` if others could read or replace the file, `.damaged` if it does not parse, `.directory`, `.file`.
    public static func loadOrCreate(in directory: String = defaultDirectory) throws(IdentityError) -> Identity {
        try IdentityFile.prepare(directory)
        let path = directory + "/identity.pem"
        if let identity = try IdentityFile.read(path) { return identity }
        let identity = try ephemeral()
        if try IdentityFile.publish(identity, at: path) { return identity }
        guard let other = try IdentityFile.read(path) else {
            throw IdentityError(.file, "\(path) appears and disappears; is something cleaning \(directory)?")
        }
        return other
    }
}

/// The file of an identity: a certificate and a PKCS#8 key, PEM.
private enum IdentityFile {
    static func prepare(_ directory: String) throws(IdentityError) {
        var built = ""
        for part in directory.split(separator: "/") {
            built += "/" + part
            let path = directory.hasPrefix("/") ? built : String(built.dropFirst())
            if mkdir(path, 0o700) != 0, errno != EEXIST, access(path, X_OK) != 0 {
                throw IdentityError(.directory, "cannot make \(path) for this machine's identity: \(reason())")
            }
        }
        // With "/." a symbolic link to a directory is followed.
        guard let status = FileStatus(directory + "/."), status.isDirectory else {
            throw IdentityError(.directory, "\(directory) is not a directory")
        }
        guard status.owner == Int(geteuid()) else {
            throw IdentityError(
                .permissions, "\(directory) belongs to somebody else; set XDG_DATA_HOME to a place of your own")
        }
        guard status.mode & 0o022 == 0 else {
            throw IdentityError(.permissions, "others may write to \(directory); run: chmod 700 \(directory)")
        }
    }

    /// Nil if there is no such file.
    static func read(_ path: String) throws(IdentityError) -> Identity? {
        let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw IdentityError(.file, "cannot open \(path): \(reason())")
        }
        defer { close(file) }
        // Nobody can put another file there meanwhile: only we may write to the directory.
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

    /// - Returns: false if another process was faster.
    static func publish(_ identity: Identity, at path: String) throws(IdentityError) -> Bool {
        do throws(PrivateFile.Failure) {
            try PrivateFile.write(
                identity.certificatePEM + "\n" + identity.privateKeyPEM + "\n", to: path, .new)
            return true
        } catch {
            if error.code == EEXIST { return false }
            throw IdentityError(.file, error.description)
        }
    }

    private static func reason() -> String { String(cString: strerror(errno)) }
}

/// What the file system says of a path; a symbolic link is not followed.
///
/// By Foundation: the members of C's `struct stat` belong to whichever module the compiler meets first.
struct FileStatus {
    let isFile: Bool
    let isDirectory: Bool
    let owner: Int
    /// The permission bits.
    let mode: Int
    /// Bytes.
    let size: Int

    init?(_ path: String) {
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
