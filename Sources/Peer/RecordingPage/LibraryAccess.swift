/// Who may see the page: browsers with the cookie of this server, which each code is exchanged for, once.
struct LibraryAccess: Sendable {
    /// The page's folder, which the cookie is sent to alone: browsers send cookies to all ports of an address.
    let path = "/" + Self.randomToken() + "/"
    private let session = Self.randomToken()
    /// What ends with each code.
    private var codes: [String: LaunchFile?] = [:]

    private static let cookie = "share-session"

    /// A new code.
    /// - Parameter file: is removed when the code was used.
    mutating func addCode(_ file: (_ code: String) throws -> LaunchFile?) rethrows -> String {
        let code = Self.randomToken()
        codes[code] = try file(code)
        return code
    }

    /// - Returns: whether the code was valid until now.
    mutating func take(_ code: String) -> Bool {
        guard let file = codes.removeValue(forKey: code) else { return false }
        file?.remove()
        return true
    }

    /// Removes the files of codes that were not used.
    mutating func removeFiles() {
        for file in codes.values { file?.remove() }
        codes = [:]
    }

    var cookieHeader: String { "\(Self.cookie)=\(session); Path=\(path); HttpOnly; SameSite=Strict" }

    /// - Parameter header: the fields named Cookie (RFC 6265 section 4.2).
    func allows(_ header: [String]) -> Bool {
        Self.values(of: Self.cookie, in: header).contains { Self.isEqual($0, session) }
    }

    /// The values of a cookie.
    static func values(of name: String, in header: [String]) -> [Substring] {
        header.flatMap { $0.split(separator: ";") }.compactMap { pair in
            let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            return parts.count == 2 && parts[0] == name ? parts[1] : nil
        }
    }

    /// In a time that does not depend on where they differ.
    private static func isEqual(_ text: Substring, _ other: String) -> Bool {
        guard text.utf8.count == other.utf8.count else { return false }
        return zip(text.utf8, other.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// 128 random bits.
    static func randomToken() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let text = String(UInt64.random(in: .min ... .max, using: &generator), radix: 36)
            return String(repeating: "0", count: 13 - text.count) + text
        }.joined()
    }
}
