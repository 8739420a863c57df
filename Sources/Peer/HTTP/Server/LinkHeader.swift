/// A link of a `Link` header: RFC 8288 section 3.
package struct LinkHeader: Hashable, Sendable {
    /// A URI reference; untrusted.
    package var target: String
    /// By their names in lower case. The first one of a name counts.
    package var parameters: [String: String] = [:]

    /// Whether the link is of this relation (RFC 8288 section 3.3), between the message's resource and the target.
    package func hasRelation(_ relation: String) -> Bool {
        guard parameters["anchor"] == nil, let relations = parameters["rel"] else { return false }
        return relations.split(separator: " ").contains { $0.lowercased() == relation }
    }

    private static let limit = 64

    /// Parses the values of all `Link` headers of a message, 64 links at most. A link that cannot be parsed ends its
    /// value.
    package static func parse(_ values: [String]) -> [LinkHeader] {
        values.reduce(into: []) { links, value in
            var parser = Parser(rest: Substring(value).utf8)
            links += parser.links().prefix(limit - links.count)
        }
    }

    private struct Parser {
        var rest: Substring.UTF8View

        mutating func links() -> [LinkHeader] {
            var found: [LinkHeader] = []
            while found.count < LinkHeader.limit {
                skip { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: ",") }
                guard let link = link() else { break }
                found.append(link)
            }
            return found
        }

        private mutating func link() -> LinkHeader? {
            guard take("<") else { return nil }
            var link = LinkHeader(target: text { $0 != UInt8(ascii: ">") })
            guard take(">") else { return nil }
            while takeBesideSpaces(";") {
                skipSpaces()
                let name = text(while: Self.isTokenCharacter).lowercased()
                guard !name.isEmpty else { continue }
                let value = takeBesideSpaces("=") ? value() : ""
                if link.parameters[name] == nil { link.parameters[name] = value }
            }
            return link
        }

        private mutating func value() -> String {
            skipSpaces()
            guard take("\"") else { return text(while: Self.isTokenCharacter) }
            var bytes: [UInt8] = []
            while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
                guard let plain = byte == UInt8(ascii: "\\") ? rest.popFirst() : byte else { break }
                bytes.append(plain)
            }
            return String(decoding: bytes, as: UTF8.self)
        }

        private static func isTokenCharacter(_ byte: UInt8) -> Bool {
            byte > 0x20 && byte < 0x7F && !"\"(),/:;<=>?@[\\]{}".utf8.contains(byte)
        }

        private mutating func text(while isPart: (UInt8) -> Bool) -> String {
            let part = rest.prefix(while: isPart)
            rest = rest[part.endIndex...]
            return String(decoding: part, as: UTF8.self)
        }

        private mutating func skip(while isPart: (UInt8) -> Bool) { rest = rest.drop(while: isPart) }

        private mutating func skipSpaces() { skip { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") } }

        private mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest = rest.dropFirst()
            return true
        }

        private mutating func takeBesideSpaces(_ character: Unicode.Scalar) -> Bool {
            skipSpaces()
            return take(character)
        }
    }
}
