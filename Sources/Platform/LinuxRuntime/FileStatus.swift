internal import Glibc

/// What the system says of a file (stat(2)).
///
/// This file imports Glibc alone: where a module has `stat` from Foundation, a release build takes its members for
/// CoreFoundation's.
public struct FileStatus: Equatable, Sendable {
    public let owner: UInt32
    public let group: UInt32
    /// Permission bits, 0...0o7777.
    public let permissions: UInt32
    public let device: UInt64
    public let inode: UInt64
    /// A device such as a camera, whose memory a driver provides.
    public let isCharacterDevice: Bool

    private init(_ status: stat) {
        owner = status.st_uid
        group = status.st_gid
        permissions = status.st_mode & 0o7777
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        isCharacterDevice = status.st_mode & S_IFMT == S_IFCHR
    }

    /// - Returns: nil if there is no such file, or none that this user can look at.
    public init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    public init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }
}
