import Glibc

/// The folders that may hold control sockets: `$XDG_RUNTIME_DIR/share`, and `share-UID` below the temporary directory
/// for users without a runtime directory. Each has mode 0700 and belongs to the user.
public struct ControlSocketFolder: Sendable, Equatable {
    /// The folders by preference.
    public let paths: [String]

    /// The most names of one folder that are looked at.
    static let capacity = 256
    static let suffix = ".sock"
    /// sun_path has 108 bytes, with its final zero.
    static let longestPath = 107

    public init(environment: [String: String]) {
        func absolute(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
        let temporary = (absolute("TMPDIR") ?? "/tmp") + "/share-\(geteuid())"
        paths = (absolute("XDG_RUNTIME_DIR").map { [$0 + "/share"] } ?? []) + [temporary]
    }

    public init(paths: [String]) { self.paths = paths }

    /// Makes the first folder that can be used.
    /// - Parameter name: a name that has to fit into a socket's path.
    /// - Throws: `.folder`, for the last of the folders.
    func make(for name: String) throws(ControlSocketFailure) -> String {
        var failure = ControlSocketFailure(.folder, "there is no folder for it")
        for path in paths {
            guard (path + "/" + name).utf8.count <= Self.longestPath else {
                failure = ControlSocketFailure(.folder, "the path \(path) is too long for a socket")
                continue
            }
            if mkdir(path, 0o700) != 0, errno != EEXIST {
                failure = ControlSocketFailure(.folder, "\(path) cannot be made: \(Self.reason)")
            } else if !Self.isPrivate(path) {
                failure = ControlSocketFailure(.folder, "\(path) is not a folder of this user alone (mode 0700)")
            } else {
                return path
            }
        }
        throw failure
    }

    /// The control sockets in all folders of this user.
    public var sockets: [String] {
        paths.filter(Self.isPrivate).flatMap { folder in
            Self.names(in: folder).filter { $0.hasSuffix(Self.suffix) }.map { folder + "/" + $0 }
        }.filter(Self.isOwnSocket)
    }

    /// The name that a socket was opened with.
    public static func name(ofSocket path: String) -> String {
        let file = path[(path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex)...]
        return file.hasSuffix(suffix) ? String(file.dropLast(suffix.count)) : String(file)
    }

    /// Removes the sockets of processes that have ended without removing them: nobody listens there any more.
    /// - Returns: how many there were.
    @discardableResult
    public func removeStale() -> Int {
        sockets.count { path in
            guard Self.isStale(path) else { return false }
            return unlink(path) == 0
        }
    }

    /// Whether a socket refuses connections. One that was just made does so, too, but gets its name only when it
    /// listens.
    static func isStale(_ path: String) -> Bool {
        guard let file = UnixSocket.open() else { return false }
        defer { close(file) }
        return !UnixSocket.connect(file, path) && errno == ECONNREFUSED
    }

    /// A folder, not a link to one, of this user, which nobody else may enter.
    private static func isPrivate(_ path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFDIR && status.st_uid == geteuid() && status.st_mode & 0o077 == 0
    }

    private static func isOwnSocket(_ path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFSOCK && status.st_uid == geteuid()
    }

    private static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while names.count < capacity, let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    static var reason: String { String(cString: strerror(errno)) }
}
