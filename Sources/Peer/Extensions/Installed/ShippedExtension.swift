import Admission
import FoundationEssentials
import Glibc
import Identifiers

/// The extensions that come with `share`. Their programs are `share` itself.
public enum ShippedExtension {
    /// Identifiers that begin so are not for others.
    static let reservedPrefix = "io.sharekit."

    /// The program `share`: this one, or the first one in PATH; nil if there is none.
    public static func program() -> String? {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        if count > 0, count < buffer.count {
            let own = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if own.hasSuffix("/share") { return own }
        }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return folders.filter { $0.hasPrefix("/") }.map { "\($0)/share" }.first { access($0, X_OK) == 0 }
    }

    /// - Parameter program: `share`; nil: none of them can be used.
    static func all(_ program: String?) -> [ExtensionManifest] {
        guard let program else { return [] }
        return [
            manifest(
                "io.sharekit.service", "Service peer", [("link", "Link of the service")], program,
                upload: ["upload", "service"], setup: ["upload", "service-setup"]),
            manifest(
                "io.sharekit.whip", "WHIP",
                [("url", "Address of the WHIP endpoint"), ("token", "Bearer token (- for none)")], program,
                upload: ["upload", "whip"], setup: nil),
        ].compactMap(\.self)
    }

    private static func manifest(
        _ id: String, _ name: String, _ fields: [(String, String)], _ program: String, upload: [String],
        setup: [String]?
    ) -> ExtensionManifest? {
        guard let id = ServiceID(id),
            let fields = try? fields.map({ try SetupField(name: $0.0, label: $0.1) }),
            let description = try? ServiceDescription(id: id, name: name, fields: fields)
        else { return nil }
        var manifest = ExtensionManifest(
            description, service: nil, setup: setup == nil ? nil : program, upload: program)
        manifest.uploadArguments = upload
        manifest.setupArguments = setup ?? []
        manifest.isShipped = true
        return manifest
    }
}
