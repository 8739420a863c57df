import FoundationEssentials
public import Identifiers
import MediaCore

/// The description that a service gives of itself before anything is sent to it.
public struct ServiceDescription: Hashable, Sendable {
    static let nameLimit = 64
    static let fieldLimit = 16
    /// In bytes of UTF-8.
    static let termsLimit = 16_384
    /// The largest JSON document of a description, in bytes: each byte of the terms may be escaped with six, and the
    /// icon is base64.
    package static let documentLimit = 163_840

    public let id: ServiceID
    /// 1...64 scalars, cleaned by ``UntrustedText``. Not verified.
    public let name: String
    /// The fields for the host's user to fill in; at most 16, with different names.
    public let fields: [SetupField]
    /// The terms that the host's user has to agree to: lines of cleaned text, at most 16 KiB.
    public let terms: String?
    public let icon: PNGIcon?
    /// The service is a relay: it decodes nothing, and sends what hosts publish on to viewers. Not verified, as all
    /// that a service says of itself.
    public var isRelay = false

    /// Cleans the name and the terms.
    /// - Throws: if something is over its limit, or if two fields have the same name.
    public init(
        id: ServiceID, name: String, fields: [SetupField] = [], terms: String? = nil, icon: PNGIcon? = nil
    ) throws(ServiceDescriptionError) {
        guard name.unicodeScalars.count <= Self.nameLimit else {
            throw ServiceDescriptionError("the name of \(id) has more than \(Self.nameLimit) characters")
        }
        guard fields.count <= Self.fieldLimit else {
            throw ServiceDescriptionError("\(id) asks for more than \(Self.fieldLimit) things")
        }
        guard Set(fields.map(\.name)).count == fields.count else {
            throw ServiceDescriptionError("\(id) asks for the same thing twice")
        }
        guard terms?.utf8.count ?? 0 <= Self.termsLimit else {
            throw ServiceDescriptionError("the terms of \(id) are longer than \(Self.termsLimit / 1_024) KiB")
        }
        guard let cleaned = UntrustedText.cleanLines(terms ?? "") else {
            throw ServiceDescriptionError("the terms of \(id) cannot be shown")
        }
        self.id = id
        self.name = UntrustedText.clean(name, limit: Self.nameLimit, fallback: String(id.text.prefix(Self.nameLimit)))
        self.fields = fields
        self.terms = cleaned.isEmpty ? nil : cleaned
        self.icon = icon
    }

    /// Returns the values of all fields, cleaned.
    /// - Throws: if a field has no value, or one that is too long, or if there is a value without a field.
    public func setup(_ values: [String: String]) throws(SetupError) -> [String: String] {
        guard values.count <= fields.count, values.keys.allSatisfy({ name in fields.contains { $0.name == name } })
        else { throw .unknownField }
        var setup: [String: String] = [:]
        for field in fields {
            guard let value = values[field.name] else { throw .missing(field) }
            guard value.utf8.count <= SetupField.valueLimit else { throw .tooLong(field) }
            let cleaned = UntrustedText.clean(value, limit: SetupField.valueLimit, fallback: "")
            guard !cleaned.isEmpty else { throw .missing(field) }
            setup[field.name] = cleaned
        }
        return setup
    }
}

/// One thing that a service asks of the host's user, such as the title of the broadcast.
public struct SetupField: Hashable, Sendable {
    static let nameLength = 1...32
    static let labelLimit = 64
    /// The longest value, in bytes of UTF-8.
    public static let valueLimit = 512

    /// 1...32 characters of `a-z`, `0-9`, `-` and `_`.
    public let name: String
    /// The question for the host's user: 1...64 scalars, cleaned by ``UntrustedText``.
    public let label: String

    /// - Throws: if the name is not one, or if the label is too long. An empty label becomes the name.
    public init(name: String, label: String) throws(ServiceDescriptionError) {
        guard Self.nameLength.contains(name.utf8.count),
            name.utf8.allSatisfy({
                (97...122).contains($0) || (48...57).contains($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            })
        else {
            throw ServiceDescriptionError(
                "\(UntrustedText.quote(UntrustedText.clean(name, fallback: ""))) is no name of a field: it has 1 to 32 characters "
                    + "of a-z, 0-9, - and _")
        }
        guard label.unicodeScalars.count <= Self.labelLimit else {
            throw ServiceDescriptionError("the label of \(name) has more than \(Self.labelLimit) characters")
        }
        self.name = name
        self.label = UntrustedText.clean(label, limit: Self.labelLimit, fallback: name)
    }
}

/// The reason why a description is refused. `description` is a sentence for people.
public struct ServiceDescriptionError: Error, Equatable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}

/// The reason why the values for a service's fields are refused.
public enum SetupError: Error, Hashable, CustomStringConvertible {
    case missing(SetupField)
    case tooLong(SetupField)
    /// There is a value for a field that the service does not have.
    case unknownField

    public var description: String {
        switch self {
        case .missing(let field): "the service asks for \(field.label) (\(field.name))"
        case .tooLong(let field):
            "\(field.label) (\(field.name)) is longer than \(SetupField.valueLimit) bytes"
        case .unknownField: "there is a value that the service does not ask for"
        }
    }
}

extension ServiceDescription: Codable {
    private enum CodingKeys: CodingKey { case id, name, fields, terms, iconData, kind }

    private static let relayKind = "relay"

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        try self.init(
            id: values.decode(ServiceID.self, forKey: .id), name: values.decode(String.self, forKey: .name),
            fields: values.decodeIfPresent([SetupField].self, forKey: .fields) ?? [],
            terms: values.decodeIfPresent(String.self, forKey: .terms),
            icon: values.decodeIfPresent(Data.self, forKey: .iconData).map { try PNGIcon(Array($0)) })
        isRelay = try values.decodeIfPresent(String.self, forKey: .kind) == Self.relayKind
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(id, forKey: .id)
        try values.encode(name, forKey: .name)
        try values.encode(fields, forKey: .fields)
        try values.encodeIfPresent(terms, forKey: .terms)
        try values.encodeIfPresent(icon.map { Data($0.bytes) }, forKey: .iconData)
        if isRelay { try values.encode(Self.relayKind, forKey: .kind) }
    }
}

extension SetupField: Codable {
    private enum CodingKeys: CodingKey { case name, label }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        try self.init(
            name: values.decode(String.self, forKey: .name), label: values.decode(String.self, forKey: .label))
    }
}
