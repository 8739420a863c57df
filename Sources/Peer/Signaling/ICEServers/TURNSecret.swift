internal import Cryptography
public import FoundationEssentials

/// The secret that this node shares with its TURN servers, from which it makes credentials that expire
/// (draft-uberti-behave-turn-rest-00 section 2.2; coturn's `use-auth-secret`).
public struct TURNSecret: Sendable {
    private let key: HMACKey
    /// The lifetime of credentials, in seconds.
    private let lifetime: TimeInterval

    /// The longest session: coturn checks a credential again with each allocation and permission.
    public static let lifetime: TimeInterval = 12 * 3_600

    /// - Parameters:
    ///   - text: as in the TURN server's configuration.
    ///   - lifetime: how long credentials are valid, in seconds.
    public init(_ text: String, lifetime: TimeInterval = Self.lifetime) {
        key = HMACKey(Array(text.utf8), .sha1)
        self.lifetime = lifetime
    }

    /// The user name with its end in Unix seconds, and the base64 HMAC-SHA1 of it.
    /// - Parameter limit: the credentials are valid for no longer, in seconds; nil: as long as others.
    public func credentials(
        for user: String, at time: Date, lifetime limit: TimeInterval? = nil
    ) -> (username: String, credential: String) {
        let lifetime = min(lifetime, limit ?? lifetime)
        let username = "\(Int((time + lifetime).timeIntervalSince1970)):\(user)"
        return (username, Data(key.code(for: Array(username.utf8))).base64EncodedString())
    }
}

extension ICEServer {
    /// When credentials that a ``TURNSecret`` has made expire; nil for other ones.
    public var expiry: Date? {
        guard credential != nil, let username, let end = username.firstIndex(of: ":"),
            let seconds = UInt32(username[..<end])
        else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(seconds))
    }
}

extension [ICEServer] {
    /// When the first of their credentials expires; nil: none does.
    public var expiry: Date? { compactMap(\.expiry).min() }

    /// The servers as one peer gets them: TURN servers without a user name get credentials of their own.
    /// - Parameters:
    ///   - secret: nil: the servers stay as they are.
    ///   - lifetime: the credentials are valid for no longer, in seconds; nil: as long as others.
    public func issued(
        with secret: TURNSecret?, to user: String, at time: Date, lifetime: TimeInterval? = nil
    ) -> [ICEServer] {
        guard let secret else { return self }
        let (username, credential) = secret.credentials(for: user, at: time, lifetime: lifetime)
        return map { server in
            guard server.username == nil, server.urls.contains(where: { $0.hasPrefix("turn") }) else { return server }
            return ICEServer(urls: server.urls, username: username, credential: credential)
        }
    }
}
