/// Evaluates preconditions with entity tags (RFC 9110 section 13.1.1).
package enum EntityTag {
    /// Returns whether an `If-Match` field is `*` or contains `tag` (without quotes) by the strong comparison. A quoted
    /// asterisk counts, too, because some WHIP and WHEP clients send it.
    package static func isMatch(_ field: String, _ tag: String) -> Bool {
        var rest = Substring(field)
        var isMatch = false
        var isFirst = true
        func skipBlanks() { rest = rest.drop { $0 == " " || $0 == "\t" } }
        while true {
            skipBlanks()
            if isFirst, rest.first == "*" {
                rest.removeFirst()
                skipBlanks()
                return rest.isEmpty
            }
            isFirst = false
            // A list may have empty elements (RFC 9110 section 5.6.1).
            if rest.isEmpty { return isMatch }
            if rest.first == "," {
                rest.removeFirst()
                continue
            }
            let isWeak = rest.hasPrefix("W/")
            if isWeak { rest.removeFirst(2) }
            guard rest.first == "\"" else { return false }
            rest.removeFirst()
            guard let end = rest.firstIndex(of: "\"") else { return false }
            let found = rest[..<end]
            rest = rest[rest.index(after: end)...]
            skipBlanks()
            guard rest.isEmpty || rest.first == "," else { return false }
            if !isWeak, found == tag || found == "*" { isMatch = true }
        }
    }
}
