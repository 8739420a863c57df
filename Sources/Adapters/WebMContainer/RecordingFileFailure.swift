import Glibc

/// Why a file cannot be written or read.
public struct RecordingFileFailure: Error, Equatable, Sendable {
    public enum Code: Equatable, Sendable {
        /// There is a file of that name already.
        case exists
        /// Another process writes the file.
        case inUse
        /// The disk, the user's quota or the process's file size limit leaves no room.
        case noSpace
        /// The folder is not there.
        case noFolder
        case permission
        /// The file is not one that this program can repair or read.
        case notReadable
        /// Any other error of the system.
        case system
    }
    public var code: Code
    /// A phrase for people, without a full stop.
    public var message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// - Parameter doing: "cannot be written", for example.
    init(errno number: Int32, _ path: String, _ doing: String) {
        let code: Code =
            switch number {
            case EEXIST: .exists
            case EWOULDBLOCK: .inUse
            case ENOSPC, EDQUOT, EFBIG: .noSpace
            case ENOENT, ENOTDIR: .noFolder
            case EACCES, EPERM, EROFS: .permission
            default: .system
            }
        self.init(code, "\(path) \(doing): \(String(cString: strerror(number)))")
    }
}
