internal import Identity

/// The reason why an extension cannot be used, installed or removed. `description` is a sentence for people.
public struct ExtensionError: Error, Equatable, CustomStringConvertible {
    public enum Code: Sendable {
        case notInstalled
        /// A symbolic link, a directory or something else.
        case notAFile
        /// The file belongs to another user.
        case foreignOwner
        /// Other users may write to the file or to its directory.
        case writableByOthers
        case tooLarge
        /// Not the JSON of a manifest, or one whose values are over their limits.
        case malformed
        /// The identifiers of the file's name, the manifest and the link are not the same.
        case otherID
        case relativePath
        /// A program that does not exist or cannot be executed.
        case notExecutable
        /// The service is installed with another certificate.
        case otherCertificate
        /// An identifier of an extension that comes with `share`.
        case reserved
        /// There are more manifests than are read.
        case tooMany
        case directory
        case file
    }
    public let code: Code
    public let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    init(_ failure: PrivateFile.ReadFailure, reading path: String) {
        switch failure {
        case .notAFile: self.init(.notAFile, "\(path) is not a plain file; remove it")
        case .foreignOwner: self.init(.foreignOwner, "\(path) belongs to somebody else; remove it")
        case .writableByOthers:
            self.init(
                .writableByOthers,
                "others may write to \(path), so it is not believed; look at it, then run: chmod 600 \(path)")
        case .tooLarge(let limit): self.init(.tooLarge, "\(path) is larger than \(limit / 1_024) KiB; remove it")
        case .unreadable(let reason): self.init(.file, "cannot read \(path): \(reason)")
        }
    }

    init(_ failure: PrivateDirectory.Failure) {
        self.init(failure.code == .permissions ? .writableByOthers : .directory, failure.description)
    }
}
