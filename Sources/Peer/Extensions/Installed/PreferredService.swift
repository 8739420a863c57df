import Glibc
public import Identifiers
public import Identity

/// The service that broadcasts go to unless another is named: the file `preferred-service` (mode 0600) beside the
/// identity.
public struct PreferredService: Sendable {
    private static let sizeLimit = 1_024

    private let directory: String
    private let owner: Int
    private var path: String { directory + "/preferred-service" }

    /// - Parameter directory: where the identity is.
    public init(directory: String = Identity.defaultDirectory) {
        self.init(directory: directory, owner: Int(geteuid()))
    }

    /// - Parameter owner: who has to own the file and the directory.
    init(directory: String, owner: Int) {
        self.directory = directory
        self.owner = owner
    }

    /// Returns nil if none was set. It may have been removed since.
    public func get() throws(ExtensionError) -> ServiceID? {
        let text: String?
        do throws(PrivateFile.ReadFailure) {
            text = try PrivateFile.read(path, limit: Self.sizeLimit, owner: owner)
        } catch {
            throw ExtensionError(error, reading: path)
        }
        guard let text else { return nil }
        guard let id = ServiceID(text.filter { !$0.isWhitespace }) else {
            throw ExtensionError(.malformed, "\(path) does not hold the identifier of a service; remove it")
        }
        return id
    }

    public func set(_ id: ServiceID) throws(ExtensionError) {
        do throws(PrivateDirectory.Failure) {
            try PrivateDirectory.prepare(directory, for: "the preferred service", owner: owner)
        } catch {
            throw ExtensionError(error)
        }
        do throws(PrivateFile.Failure) {
            try PrivateFile.write(id.text + "\n", to: path, .replacing)
        } catch {
            throw ExtensionError(.file, error.description)
        }
    }

    /// Does nothing if none was set.
    public func clear() throws(ExtensionError) {
        guard unlink(path) != 0, errno != ENOENT, errno != ENOTDIR else { return }
        throw ExtensionError(.file, "cannot remove \(path): \(String(cString: strerror(errno)))")
    }
}
