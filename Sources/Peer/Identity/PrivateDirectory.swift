import Glibc

/// Directories whose files only this user may change.
package enum PrivateDirectory {
    package struct Failure: Error {
        package enum Code: Sendable { case directory, permissions }
        package let code: Code
        /// For people.
        package let description: String
    }

    /// Creates a directory (mode 0700) with those above it unless it exists, and checks it.
    /// - Parameter purpose: what it is for, in messages.
    package static func prepare(
        _ directory: String, for purpose: String, owner: Int = Int(geteuid())
    ) throws(Failure) {
        var built = ""
        for part in directory.split(separator: "/") {
            built += "/" + part
            let path = directory.hasPrefix("/") ? built : String(built.dropFirst())
            if mkdir(path, 0o700) != 0, errno != EEXIST, access(path, X_OK) != 0 {
                throw Failure(
                    code: .directory,
                    description: "cannot make \(path) for \(purpose): \(String(cString: strerror(errno)))")
            }
        }
        try check(directory, owner: owner)
    }

    /// Checks that `owner` has the directory, and that nobody else may write to it.
    package static func check(_ directory: String, owner: Int = Int(geteuid())) throws(Failure) {
        // The trailing "/." follows a symbolic link to a directory.
        guard let status = FileStatus(directory + "/."), status.isDirectory else {
            throw Failure(code: .directory, description: "\(directory) is not a directory")
        }
        guard status.owner == owner else {
            throw Failure(
                code: .permissions,
                description: "\(directory) belongs to somebody else; set XDG_DATA_HOME to a place of your own")
        }
        guard status.mode & 0o022 == 0 else {
            throw Failure(
                code: .permissions, description: "others may write to \(directory); run: chmod 700 \(directory)")
        }
    }
}
