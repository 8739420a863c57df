internal import CLinux
internal import Glibc

/// Programs that only root and this user can replace.
///
/// The path is opened a component at a time, and each opened descriptor is looked at, symbolic links and what they
/// point to as well. What passes can be run by its path: nobody else can change a component of it.
public enum TrustedProgram {
    public struct Failure: Error, Equatable, Sendable {
        public enum Reason: Equatable, Sendable {
            /// An errno.
            case system(Int32)
            case notAProgram
            case foreignOwner
            /// The group or all users may write to it.
            case writableByOthers
        }
        public let reason: Reason
        /// Of the component.
        public let path: String

        /// For people: "/usr/local/bin belongs to another user".
        public var description: String {
            switch reason {
            case .system(let code): "\(path): \(String(cString: strerror(code)))"
            case .notAProgram: "\(path) is not a program that can be run"
            case .foreignOwner: "\(path) belongs to another user"
            case .writableByOthers: "others may write to \(path); run: chmod go-w \(path)"
            }
        }
    }

    private static let linkLimit = 40
    /// O_PATH, which glibc declares for _GNU_SOURCE only.
    private static let pathOnly: Int32 = 0o10000000

    /// - Parameters:
    ///   - path: absolute.
    ///   - user: who may own a component beside root; nil: this user.
    /// - Returns: the path without symbolic links.
    public static func check(_ path: String, user: UInt32? = nil) throws(Failure) -> String {
        var walk = Walk(user: user ?? geteuid())
        defer { walk.close() }
        return try walk.follow(path)
    }

    /// The program of this process, which is trusted already.
    public static func isOwn(_ path: String) -> Bool {
        var own = stat()
        var other = stat()
        return stat("/proc/self/exe", &own) == 0 && stat(path, &other) == 0 && own.st_ino == other.st_ino
            && own.st_dev == other.st_dev
    }

    /// The opened folders from the root on.
    private struct Walk {
        let user: UInt32
        private var folders: [(name: String, descriptor: Int32)] = []

        init(user: UInt32) { self.user = user }

        mutating func close() {
            for folder in folders { Glibc.close(folder.descriptor) }
            folders = []
        }

        private func text(_ name: String) -> String {
            "/" + (folders.dropFirst().map(\.name) + [name]).filter { !$0.isEmpty }.joined(separator: "/")
        }

        mutating func follow(_ path: String) throws(Failure) -> String {
            var rest = try start(path)
            var links = 0
            while let name = rest.popLast() {
                if name == "." { continue }
                if name == ".." {
                    if folders.count > 1, let last = folders.popLast() { Glibc.close(last.descriptor) }
                    continue
                }
                let place = text(name)
                let descriptor = openat(
                    folders.last?.descriptor ?? -1, name, TrustedProgram.pathOnly | O_NOFOLLOW | O_CLOEXEC)
                guard descriptor >= 0 else { throw Failure(reason: .system(errno), path: place) }
                let status = try look(descriptor, place)
                switch status.st_mode & S_IFMT {
                case S_IFDIR:
                    folders.append((name, descriptor))
                case S_IFLNK:
                    defer { Glibc.close(descriptor) }
                    links += 1
                    guard links <= TrustedProgram.linkLimit else { throw Failure(reason: .system(ELOOP), path: place) }
                    let target = try readLink(descriptor, place)
                    if target.hasPrefix("/") { rest += try start(target) } else { rest += Self.parts(target) }
                case S_IFREG:
                    Glibc.close(descriptor)
                    guard rest.isEmpty, status.st_mode & 0o111 != 0, access(place, X_OK) == 0 else {
                        throw Failure(reason: .notAProgram, path: place)
                    }
                    return place
                default:
                    Glibc.close(descriptor)
                    throw Failure(reason: .notAProgram, path: place)
                }
            }
            throw Failure(reason: .notAProgram, path: path)
        }

        /// Opens the root.
        private mutating func start(_ path: String) throws(Failure) -> [String] {
            guard path.hasPrefix("/") else { throw Failure(reason: .notAProgram, path: path) }
            close()
            let root = open("/", TrustedProgram.pathOnly | O_DIRECTORY | O_CLOEXEC)
            guard root >= 0 else { throw Failure(reason: .system(errno), path: "/") }
            folders = [("", root)]
            _ = try look(root, "/")
            return Self.parts(path)
        }

        /// The last part is taken first.
        private static func parts(_ path: String) -> [String] { path.split(separator: "/").reversed().map(String.init) }

        private func look(_ descriptor: Int32, _ place: String) throws(Failure) -> stat {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else {
                let code = errno
                Glibc.close(descriptor)
                throw Failure(reason: .system(code), path: place)
            }
            let kind = status.st_mode & S_IFMT
            // In a sticky folder, as /tmp, nobody can replace what belongs to root or to this user.
            let isWritable = status.st_mode & (S_IWGRP | S_IWOTH) != 0
            let reason: Failure.Reason? =
                if status.st_uid != 0, status.st_uid != user {
                    .foreignOwner
                } else if isWritable, kind != S_IFLNK, kind != S_IFDIR || status.st_mode & S_ISVTX == 0 {
                    .writableByOthers
                } else {
                    nil
                }
            guard let reason else { return status }
            if place != "/" { Glibc.close(descriptor) }
            throw Failure(reason: reason, path: place)
        }

        private func readLink(_ descriptor: Int32, _ place: String) throws(Failure) -> String {
            var buffer = [CChar](repeating: 0, count: 4_097)
            let count = readlinkat(descriptor, "", &buffer, buffer.count)
            guard count > 0, count < buffer.count else { throw Failure(reason: .system(errno), path: place) }
            return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
