package import HTTPTypes
import NIOHTTP1

/// The head of a request that a server has received.
package struct ServerRequest: Sendable {
    package let method: HTTPRequest.Method
    /// The target without scheme and authority: a path that may have a query, or an asterisk (RFC 9112 section 3.2).
    package let target: String
    /// Without Host.
    package let headers: HTTPFields
    /// The values of Host. A request has exactly one (RFC 9112 section 3.2).
    package let hosts: [String]

    /// - Throws: `HTTPParserError` if the method is no token.
    init(_ head: HTTPRequestHead) throws(HTTPParserError) {
        guard let method = HTTPRequest.Method(head.method.rawValue) else { throw .invalidMethod }
        self.method = method
        target = Self.originForm(head.uri)
        var headers = HTTPFields()
        var hosts: [String] = []
        headers.reserveCapacity(head.headers.count)
        for (name, value) in head.headers {
            // The decoder takes no name that this refuses.
            guard let name = HTTPField.Name(name) else { continue }
            if name == Header.host { hosts.append(value) } else { headers.append(HTTPField(name: name, value: value)) }
        }
        (self.headers, self.hosts) = (headers, hosts)
    }

    /// The target without its query.
    package var path: Substring { target.prefix { $0 != "?" } }

    /// The part of the target behind the question mark.
    package var query: Substring { target[path.endIndex...].dropFirst() }

    /// The target of a request to a proxy names the server, too, and is taken as well (RFC 9112 section 3.2.2).
    private static func originForm(_ target: String) -> String {
        let scheme = target.prefix { $0.isLetter }.lowercased()
        guard scheme == "http" || scheme == "https", target.dropFirst(scheme.count).hasPrefix("://") else {
            return target
        }
        let place = target.dropFirst(scheme.count + 3)
        let rest = place.drop { $0 != "/" && $0 != "?" }
        return rest.hasPrefix("/") ? String(rest) : "/" + rest
    }
}
