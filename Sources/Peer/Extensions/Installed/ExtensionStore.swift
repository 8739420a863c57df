public import Admission
import FoundationEssentials
import Glibc
public import Identifiers
public import Identity
import LinuxRuntime
import MediaCore

/// The extensions that this user has installed: a directory of manifests (mode 0600), each named by its identifier.
///
/// Every call reads the files, so changes by other processes take effect at once.
public struct ExtensionStore: Sendable {
    /// The result of `list`. A manifest that cannot be used does not hide the others.
    public struct Listing: Sendable {
        /// In the order of their identifiers.
        public let extensions: [ExtensionManifest]
        public let errors: [ExtensionError]
    }

    static let sizeLimit = 65_536
    static let countLimit = 256
    private static let ending = ".json"

    private let directory: String
    private let owner: Int
    private let shipped: [ExtensionManifest]

    /// - Parameters:
    ///   - directory: where the identity is; the manifests are in its `extensions`.
    ///   - program: `share`, whose own extensions are listed last; nil: they are not there.
    public init(
        directory: String = Identity.defaultDirectory,
        program: String? = ShippedExtension.program()
    ) {
        self.init(directory: directory, program: program, owner: Int(geteuid()))
    }

    /// - Parameter owner: who has to own the files and the directory.
    init(directory: String, program: String? = nil, owner: Int) {
        self.directory = directory + "/extensions"
        self.owner = owner
        shipped = ShippedExtension.all(program)
    }

    /// - Throws: if the directory cannot be read, or if others may write to it. No directory is no extensions.
    public func list() throws(ExtensionError) -> Listing {
        guard try isThere() else { return Listing(extensions: shipped, errors: []) }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(Self.ending) }
        } catch {
            throw ExtensionError(.directory, "cannot read \(directory): \(error)")
        }
        var extensions: [ExtensionManifest] = []
        var errors: [ExtensionError] = []
        for name in names.sorted().prefix(Self.countLimit) {
            do throws(ExtensionError) {
                guard let id = ServiceID(name.dropLast(Self.ending.count)), name == id.text + Self.ending else {
                    let shown = UntrustedText.quote(UntrustedText.clean(name, limit: 128, fallback: ""))
                    throw ExtensionError(.otherID, "\(shown) in \(directory) is not named by an identifier; remove it")
                }
                extensions.append(try manifest(id))
            } catch {
                errors.append(error)
            }
        }
        if names.count > Self.countLimit {
            errors.append(
                ExtensionError(
                    .tooMany, "\(directory) has more than \(Self.countLimit) extensions; only these many are read"))
        }
        return Listing(extensions: extensions + shipped, errors: errors)
    }

    public func read(_ id: ServiceID) throws(ExtensionError) -> ExtensionManifest {
        if let manifest = shipped.first(where: { $0.id == id }) { return manifest }
        guard try isThere() else { throw notInstalled(id) }
        return try manifest(id)
    }

    /// Another extension of such an identifier would pass for one that comes with `share`.
    private func checkReserved(_ id: ServiceID) throws(ExtensionError) {
        guard !id.text.hasPrefix(ShippedExtension.reservedPrefix) else {
            throw ExtensionError(.reserved, "\(id) is an identifier of share itself; choose another one")
        }
    }

    /// Installs a service, or updates what it says of itself. Icon and programs of an installed one stay.
    /// - Throws: `.otherCertificate` if the service is installed with another certificate: it has to be removed first.
    @discardableResult
    public func install(
        _ link: ServiceLink, _ description: ServiceDescription
    ) throws(ExtensionError) -> ExtensionManifest {
        try checkReserved(link.id)
        guard link.id == description.id else {
            throw ExtensionError(.otherID, "the link is one to \(link.id), but \(description.id) has answered")
        }
        do throws(PrivateDirectory.Failure) {
            try PrivateDirectory.prepare(directory, for: "extensions", owner: owner)
        } catch {
            throw ExtensionError(error)
        }
        // A manifest that cannot be used is replaced.
        let older = try? manifest(link.id)
        if let older, older.service == nil {
            throw ExtensionError(
                .otherCertificate,
                "\(link.id) is installed with a program; if you want the service instead, first run: "
                    + "share extension remove \(link.id)")
        }
        if let service = older?.service, service.fingerprint != link.fingerprint {
            throw ExtensionError(
                .otherCertificate,
                "\(link.id) is installed with another certificate; if you trust the new link, run: "
                    + "share extension remove \(link.id)")
        }
        return try write(
            ExtensionManifest(
                description, service: link, icon: older?.icon, setup: older?.setup, upload: older?.upload))
    }

    /// Installs an extension with programs, or another version of it.
    /// - Parameter file: a manifest. Its paths may be relative to its directory.
    /// - Throws: what is wrong with the manifest or its programs. `.otherCertificate` as above.
    @discardableResult
    public func install(file: String) throws(ExtensionError) -> ExtensionManifest {
        let text: String?
        do throws(PrivateFile.ReadFailure) {
            text = try PrivateFile.read(file, limit: Self.sizeLimit, owner: owner)
        } catch {
            throw ExtensionError(error, reading: file)
        }
        guard let text else { throw ExtensionError(.file, "there is no file \(file)") }
        let new = try Self.parse(text, file).resolved(against: Self.directory(of: file))
        try checkReserved(new.id)
        guard new.service?.id ?? new.id == new.id else {
            throw ExtensionError(.otherID, "\(file) has a link of another service")
        }
        try Self.checkPaths(new, file)
        do throws(PrivateDirectory.Failure) {
            try PrivateDirectory.prepare(directory, for: "extensions", owner: owner)
        } catch {
            throw ExtensionError(error)
        }
        if let service = try? manifest(new.id).service, service.fingerprint != new.service?.fingerprint {
            throw ExtensionError(
                .otherCertificate,
                "\(new.id) is installed with another certificate, or as a service; first run: "
                    + "share extension remove \(new.id)")
        }
        return try write(new)
    }

    private static func directory(of file: String) -> String {
        let path = file.hasPrefix("/") ? file : FileManager.default.currentDirectoryPath + "/" + file
        return String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }

    private func write(_ manifest: ExtensionManifest) throws(ExtensionError) -> ExtensionManifest {
        let path = path(manifest.id)
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            let text = String(decoding: try encoder.encode(manifest), as: UTF8.self) + "\n"
            guard text.utf8.count <= Self.sizeLimit else {
                throw ExtensionError(.tooLarge, "the description of \(manifest.id) is too large")
            }
            try PrivateFile.write(text, to: path, .replacing)
        } catch let error as ExtensionError {
            throw error
        } catch let error as PrivateFile.Failure {
            throw ExtensionError(.file, error.description)
        } catch {
            throw ExtensionError(.file, "cannot write \(path): \(error)")
        }
        return manifest
    }

    /// Removes an extension, also one that cannot be used.
    /// - Throws: `.notInstalled`, `.file`
    public func remove(_ id: ServiceID) throws(ExtensionError) {
        guard !shipped.contains(where: { $0.id == id }) else {
            throw ExtensionError(.reserved, "\(id) comes with share, and cannot be removed")
        }
        let path = path(id)
        guard unlink(path) != 0 else { return }
        if errno == ENOENT || errno == ENOTDIR { throw notInstalled(id) }
        throw ExtensionError(.file, "cannot remove \(path): \(String(cString: strerror(errno)))")
    }

    // MARK: One manifest

    private func path(_ id: ServiceID) -> String { directory + "/" + id.text + Self.ending }

    private func notInstalled(_ id: ServiceID) -> ExtensionError {
        ExtensionError(.notInstalled, "\(id) is not installed; run: share extension install LINK")
    }

    /// Returns whether the directory exists, and checks that only this user may change it.
    private func isThere() throws(ExtensionError) -> Bool {
        guard access(directory, F_OK) == 0 else { return false }
        do throws(PrivateDirectory.Failure) {
            try PrivateDirectory.check(directory, owner: owner)
        } catch {
            throw ExtensionError(error)
        }
        return true
    }

    private func manifest(_ id: ServiceID) throws(ExtensionError) -> ExtensionManifest {
        let path = path(id)
        let text: String?
        do throws(PrivateFile.ReadFailure) {
            text = try PrivateFile.read(path, limit: Self.sizeLimit, owner: owner)
        } catch {
            throw ExtensionError(error, reading: path)
        }
        guard let text else { throw notInstalled(id) }
        try checkReserved(id)
        let manifest = try Self.parse(text, path)
        let other = manifest.id == id ? manifest.service?.id ?? id : manifest.id
        guard other == id else {
            throw ExtensionError(.otherID, "\(path) is that of \(other), not of \(id); remove it")
        }
        try Self.checkPaths(manifest, path)
        return manifest
    }

    private static func parse(_ text: String, _ path: String) throws(ExtensionError) -> ExtensionManifest {
        do {
            return try JSONDecoder().decode(ExtensionManifest.self, from: Data(text.utf8))
        } catch {
            throw ExtensionError(.malformed, "\(path) is not a manifest of an extension: \(Self.reason(error))")
        }
    }

    private static func checkPaths(_ manifest: ExtensionManifest, _ path: String) throws(ExtensionError) {
        for (key, place) in manifest.paths { try checkPath(place, key, path) }
        for (key, place) in manifest.programs { try checkProgram(place, key, path) }
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as ServiceDescriptionError: return error.description
        case let error as LinkError: return error.description
        case DecodingError.keyNotFound(let key, _): return "it has no \(key.stringValue)"
        default: return "it cannot be read as JSON of that form"
        }
    }

    private static func checkPath(_ place: String, _ key: String, _ path: String) throws(ExtensionError) {
        guard place.hasPrefix("/"), place.utf8.count <= ExtensionManifest.pathLimit,
            place.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { throw ExtensionError(.relativePath, "\(key) in \(path) is not an absolute path") }
    }

    /// Whoever may write to a program could run whatever they like as this user.
    private static func checkProgram(_ place: String, _ key: String, _ path: String) throws(ExtensionError) {
        let shown = UntrustedText.clean(place, limit: 256, fallback: "")
        do throws(TrustedProgram.Failure) {
            _ = try TrustedProgram.check(place)
        } catch {
            let sentence = UntrustedText.clean(error.description, limit: 1_024, fallback: shown)
            switch error.reason {
            case .system, .notAProgram:
                throw ExtensionError(.notExecutable, "\(key) in \(path) is not a program that can be run: \(shown)")
            case .foreignOwner:
                throw ExtensionError(.foreignOwner, "\(sentence): that is \(key) in \(path), or a folder above it")
            case .writableByOthers:
                throw ExtensionError(.writableByOthers, "\(sentence) (\(key) in \(path), or a folder above it)")
            }
        }
    }
}
