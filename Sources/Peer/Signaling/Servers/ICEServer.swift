import Admission

/// A STUN or TURN server for viewers, with the members of `RTCIceServer`.
public struct ICEServer: Codable, Sendable, Equatable {
    public var urls: [String]
    public var username: String?
    public var credential: String?

    public init(urls: [String], username: String? = nil, credential: String? = nil) {
        self.urls = urls
        self.username = username
        self.credential = credential
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

    private enum CodingKeys: CodingKey { case urls, username, credential }

    /// Decodes `urls` from an array or from one string, as `RTCIceServer` allows both.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        if let one = try? values.decode(String.self, forKey: .urls) {
            urls = [one]
        } else {
            urls = try values.decode([String].self, forKey: .urls)
        }
        username = try values.decodeIfPresent(String.self, forKey: .username)
        credential = try values.decodeIfPresent(String.self, forKey: .credential)
    }
}
