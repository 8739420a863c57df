/// What strangers say about themselves, made fit to be shown in a terminal.
public enum PeerText {
    /// Control, format (direction overrides, zero width), private and unassigned scalars go, white space becomes one space,
    /// and at most two combining marks may follow each other.
    public static func clean(_ text: String, limit: Int = 64, fallback: String) -> String {
        var result = String.UnicodeScalarView()
        var marks = 0
        var isSpacePending = false
        for scalar in text.unicodeScalars.prefix(1_024) {
            guard result.count < limit else { break }
            if scalar.properties.isWhitespace {
                isSpacePending = !result.isEmpty
                continue
            }
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: continue
            case .nonspacingMark, .enclosingMark, .spacingMark:
                marks += 1
                if marks > 2 { continue }
            default: marks = 0
            }
            if isSpacePending {
                guard result.count + 1 < limit else { break }
                result.append(" ")
                isSpacePending = false
            }
            result.append(scalar)
        }
        return result.isEmpty ? fallback : String(result)
    }

    /// The kind of program behind a `User-Agent`.
    static func kind(userAgent: String?) -> String {
        guard let agent = userAgent, !agent.isEmpty else { return "unknown" }
        if agent.hasPrefix("share/") { return "share" }
        for (token, name) in [
            ("Firefox/", "Firefox"), ("Edg/", "Edge"), ("Chromium/", "Chromium"), ("Chrome/", "Chrome"),
            ("Safari/", "Safari"),
            ("Mozilla/", "browser"),
        ] where agent.contains(token) {
            return name
        }
        return clean(String(agent.prefix(while: { $0 != "/" && $0 != " " })), limit: 24, fallback: "unknown")
    }
}
