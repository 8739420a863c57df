package import HTTP

extension ICEServer {
    /// The servers among the links of an endpoint's answer (RFC 9725 section 4.6).
    package static func servers(in links: [LinkHeader]) -> [ICEServer] {
        links.compactMap { link in
            guard link.hasRelation("ice-server"),
                link.parameters["credential-type"] ?? "password" == "password"
            else { return nil }
            return ICEServer(
                urls: [link.target], username: link.parameters["username"], credential: link.parameters["credential"])
        }
    }

    /// The values of its `Link` headers, one for each URL (RFC 9725 section 4.6).
    var links: [String] {
        urls.map { url in
            var value = "<\(url)>; rel=\"ice-server\""
            if let username { value += "; username=\(Self.quoted(username))" }
            if let credential { value += "; credential=\(Self.quoted(credential)); credential-type=\"password\"" }
            return value
        }
    }

    /// Formats a quoted-string (RFC 9110 section 5.6.4). Leaves out characters that may not occur in one.
    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars where scalar.value >= 0x20 && scalar.value != 0x7F {
            if scalar == "\"" || scalar == "\\" { result += "\\" }
            result.unicodeScalars.append(scalar)
        }
        return result + "\""
    }
}
