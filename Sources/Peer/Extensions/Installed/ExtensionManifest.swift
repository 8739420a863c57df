public import Admission
public import Identifiers

/// An installed extension: a service that the user may broadcast to, and programs on this computer that take part.
///
/// It is the file `extensions/ID.json` beside the identity:
///
///     {"id": ..., "name": ..., "service": the service's link, "fields": [{"name", "label"}], "terms": text,
///      "icon": path, "setup": path, "upload": path}
///
/// A service peer has `service`; an extension that brings its own way to its service has `upload` instead. The others
/// may be absent, too. Other keys are ignored.
public struct ExtensionManifest: Hashable, Sendable {
    static let pathLimit = 4_096

    /// Identifier, name, fields and terms as the service gave them when it was installed.
    public let description: ServiceDescription
    /// The service's address with its pinned certificate; has the same identifier. Nil if `upload` reaches it.
    public let service: ServiceLink?
    /// An image file. An absolute path, as the programs'.
    public let icon: String?
    /// Asks the user what the service wants to know.
    public let setup: String?
    /// Gets the samples of the broadcast.
    public let upload: String?
    /// The arguments of the programs. Not in a manifest's file.
    public internal(set) var setupArguments: [String] = []
    public internal(set) var uploadArguments: [String] = []
    /// It comes with `share`, and is no file.
    public internal(set) var isShipped = false

    public var id: ServiceID { description.id }
    public var name: String { description.name }
    /// The destination of the broadcast, for people: `HOST:PORT` of the service or its relay, or the upload program.
    public var destination: String { isShipped ? "comes with share" : upload ?? service?.destination ?? "" }

    package init(
        _ description: ServiceDescription, service: ServiceLink?, icon: String? = nil, setup: String? = nil,
        upload: String? = nil
    ) {
        self.description = description
        self.service = service
        self.icon = icon
        self.setup = setup
        self.upload = upload
    }

    /// The manifest with absolute paths.
    func resolved(against directory: String) -> ExtensionManifest {
        func resolve(_ path: String?) -> String? {
            path.map { $0.hasPrefix("/") || $0.isEmpty ? $0 : directory + "/" + $0 }
        }
        return ExtensionManifest(
            description, service: service, icon: resolve(icon), setup: resolve(setup), upload: resolve(upload))
    }

    /// Each path with its key.
    var paths: [(key: String, path: String)] {
        [("icon", icon), ("setup", setup), ("upload", upload)].compactMap { key, path in path.map { (key, $0) } }
    }
    var programs: [(key: String, path: String)] { paths.filter { $0.key != "icon" } }
}

extension ExtensionManifest: Codable {
    private enum CodingKeys: CodingKey { case service, icon, setup, upload }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        if !values.contains(.service), !values.contains(.upload) {
            throw DecodingError.keyNotFound(
                CodingKeys.service, .init(codingPath: [], debugDescription: "neither a service nor a program"))
        }
        self.init(
            try ServiceDescription(from: decoder),
            service: try values.decodeIfPresent(ServiceLink.self, forKey: .service),
            icon: try values.decodeIfPresent(String.self, forKey: .icon),
            setup: try values.decodeIfPresent(String.self, forKey: .setup),
            upload: try values.decodeIfPresent(String.self, forKey: .upload))
    }

    public func encode(to encoder: any Encoder) throws {
        try description.encode(to: encoder)
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encodeIfPresent(service, forKey: .service)
        try values.encodeIfPresent(icon, forKey: .icon)
        try values.encodeIfPresent(setup, forKey: .setup)
        try values.encodeIfPresent(upload, forKey: .upload)
    }
}
