import Glibc
public import Identifiers

/// The secret in the link of a service of this user, kept so that the link stays the same over restarts.
///
/// Whoever removes the file makes a new link, and the former one void.
public enum LinkSecretFile {
    /// Reads a service's file (mode 0600) in `directory`. Creates it, and the directory (mode 0700), unless they exist.
    /// - Throws: `.permissions` if other users could read or replace it, `.damaged`, `.directory`, `.file`.
    public static func loadOrCreate(
        of service: ServiceID, in directory: String = Identity.defaultDirectory
    ) throws(IdentityError) -> [UInt8] {
        do throws(PrivateDirectory.Failure) {
            try PrivateDirectory.prepare(directory, for: "the secret of this service's link")
        } catch {
            throw IdentityError(error.code == .permissions ? .permissions : .directory, error.description)
        }
        let path = "\(directory)/link-secret-\(service.text)"
        if let secret = try read(path) { return secret }
        let secret = Link.randomSecret()
        do throws(PrivateFile.Failure) {
            try PrivateFile.write(Base64URL.encode(secret) + "\n", to: path, .new)
            return secret
        } catch {
            guard error.code == EEXIST, let other = try read(path) else {
                throw IdentityError(.file, error.description)
            }
            return other
        }
    }

    /// Writes a link with a secret to a file (mode 0600) beside, for the user who is not shown it.
    /// - Returns: the file.
    public static func keep(
        _ link: ServiceLink, in directory: String = Identity.defaultDirectory
    ) throws(IdentityError) -> String {
        let path = "\(directory)/link-\(link.id.text)"
        do throws(PrivateFile.Failure) {
            try PrivateFile.write(link.text + "\n", to: path, .replacing)
            return path
        } catch {
            throw IdentityError(.file, error.description)
        }
    }

    /// Returns nil if the file does not exist.
    private static func read(_ path: String) throws(IdentityError) -> [UInt8]? {
        let text: String?
        do throws(PrivateFile.ReadFailure) {
            text = try PrivateFile.read(path, limit: 64)
        } catch {
            switch error {
            case .foreignOwner: throw IdentityError(.permissions, "\(path) belongs to somebody else")
            case .writableByOthers: throw readable(path)
            case .notAFile: throw IdentityError(.file, "\(path) is not a plain file")
            case .tooLarge: throw damaged(path)
            case .unreadable(let why): throw IdentityError(.file, "cannot read \(path): \(why)")
            }
        }
        guard let text else { return nil }
        guard let status = FileStatus(path), status.mode & 0o077 == 0 else { throw readable(path) }
        guard let secret = Base64URL.decode(text.filter { !$0.isWhitespace }, count: Link.secretLength)
        else { throw damaged(path) }
        return secret
    }

    private static func readable(_ path: String) -> IdentityError {
        IdentityError(
            .permissions,
            "others may read the secret in \(path); if nobody did, run: chmod 600 \(path), else remove it to get a new "
                + "link")
    }

    private static func damaged(_ path: String) -> IdentityError {
        IdentityError(.file, "the secret in \(path) is damaged: remove the file to get a new link")
    }
}
