package import MediaCore

extension UntrustedText {
    /// Names the program that sent a `User-Agent`.
    package static func kind(userAgent: String?) -> String {
        guard let agent = userAgent, !agent.isEmpty else { return "unknown" }
        if agent.hasPrefix("share/") { return "share" }
        for (token, name) in [
            ("Firefox/", "Firefox"), ("Edg/", "Edge"), ("Chromium/", "Chromium"), ("Chrome/", "Chrome"),
            ("Safari/", "Safari"),
            ("Mozilla/", "browser"),
        ] where agent.contains(token) {
            return name
        }
        // Only letters, digits and a few signs are kept, because the name is shown without quotation marks.
        let signs = "0123456789._-".unicodeScalars
        let name = agent.unicodeScalars.prefix { $0 != "/" && $0 != " " }.filter {
            $0.isASCII && ($0.properties.isAlphabetic || signs.contains($0))
        }
        return clean(String(String.UnicodeScalarView(name)), limit: 24, fallback: "unknown")
    }
}
