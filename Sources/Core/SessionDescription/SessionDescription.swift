/// One `a=` line. RFC 8866 section 5.13.
public struct SDPAttribute: Hashable, Sendable {
    public var name: String
    /// The text after the colon; nil for a flag such as `rtcp-mux`.
    public var value: String?

    public init(_ name: String, _ value: String? = nil) {
        self.name = name
        self.value = value
    }
}

/// A session description: the supported lines in their order, without an interpretation. RFC 8866.
public struct SessionDescription: Hashable, Sendable {
    /// The `o=` line without its type, e.g. `- 4611 2 IN IP4 127.0.0.1`.
    public var origin: String
    /// The attributes of the session level.
    public var attributes: [SDPAttribute]
    public var media: [MediaDescription]

    /// The `s=` line, the session's name; nil for `-`. RFC 8866 section 5.3.
    public var name: String?

    public init(origin: String, attributes: [SDPAttribute] = [], media: [MediaDescription] = []) {
        self.origin = origin
        self.attributes = attributes
        self.media = media
    }

    /// Parses a description. Lines may end in CRLF or LF; lines other than `v= o= s= m= c= a=` are skipped.
    public static func parse(_ text: String) throws(SDPError) -> SessionDescription {
        var result = SessionDescription(origin: "")
        var isFirst = true
        for line in try SDPLine.lines(of: text) {
            guard !isFirst else {
                guard line.type == UInt8(ascii: "v"), line.value == "0" else { throw .notSDP }
                isFirst = false
                continue
            }
            switch line.type {
            case UInt8(ascii: "o"):
                result.origin = String(line.value)
            case UInt8(ascii: "s"):
                let name = String(line.value)
                result.name = name == "-" || name == " " || name.isEmpty ? nil : name
            case UInt8(ascii: "m"):
                guard result.media.count < SDPLimits.mediaSections else { throw .tooLarge }
                guard let media = MediaDescription(line: line.value) else {
                    throw .malformedMedia(index: result.media.count)
                }
                result.media.append(media)
            case UInt8(ascii: "c"):
                if let last = result.media.indices.last { result.media[last].connection = String(line.value) }
            case UInt8(ascii: "a"):
                let attribute = line.attribute
                if let last = result.media.indices.last {
                    result.media[last].attributes.append(attribute)
                } else {
                    result.attributes.append(attribute)
                }
            default:
                break
            }
        }
        guard !isFirst else { throw .notSDP }
        return result
    }

    /// The text, each line ended by CRLF.
    public var serialised: String {
        var lines = ["v=0", "o=\(origin)", "s=\(nameLine)", "t=0 0"]
        lines += attributes.map(\.line)
        for section in media {
            lines.append(
                "m=\(section.kind) \(section.port) \(section.transport) \(section.formats.joined(separator: " "))")
            if let connection = section.connection { lines.append("c=\(connection)") }
            lines += section.attributes.map(\.line)
        }
        return lines.map { $0 + "\r\n" }.joined()
    }

    private var nameLine: String {
        let text = (name ?? "").unicodeScalars.filter { $0.value >= 32 && $0.value != 127 }
        return text.isEmpty ? "-" : String(String.UnicodeScalarView(text))
    }

    /// The first value of a session-level attribute.
    public subscript(name: String) -> String? { attributes.firstValue(of: name) }
}

extension SDPAttribute {
    var line: String { value.map { "a=\(name):\($0)" } ?? "a=\(name)" }
}

extension [SDPAttribute] {
    func contains(_ name: String) -> Bool { contains { $0.name == name } }
    func firstValue(of name: String) -> String? { first { $0.name == name && $0.value != nil }?.value }
    func values(of name: String) -> [String] { compactMap { $0.name == name ? $0.value : nil } }
}
