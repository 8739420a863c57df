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

    /// Whether there is a STUN server among its URLs.
    public var isSTUN: Bool { urls.contains { $0.lowercased().hasPrefix("stun:") } }

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
        let texts = urls + [username, credential].compactMap(\.self)
        guard urls.count <= Self.urlLimit, texts.allSatisfy({ $0.utf8.count <= Self.textLimit && Self.isText($0) })
        else {
            throw DecodingError.dataCorruptedError(
                forKey: .urls, in: values, debugDescription: "it is too long, or has control characters")
        }
    }

    private static let urlLimit = 16
    private static let textLimit = 4_096

    private static func isText(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
}
