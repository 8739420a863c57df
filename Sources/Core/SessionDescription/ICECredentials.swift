/// The user name fragment and password of one side's ICE session. RFC 8839 section 5.4.
public struct ICECredentials: Hashable, Sendable {
    public let usernameFragment: String
    public let password: String

    /// Nil unless they are 4...256 and 22...256 characters of RFC 8839's `ice-char`.
    public init?(usernameFragment: String, password: String) {
        guard (4...256).contains(usernameFragment.utf8.count), usernameFragment.text.isICECharacters,
            (22...256).contains(password.utf8.count), password.text.isICECharacters
        else { return nil }
        self.usernameFragment = usernameFragment
        self.password = password
    }

    private init(wellFormed usernameFragment: String, _ password: String) {
        self.usernameFragment = usernameFragment
        self.password = password
    }

    /// Makes 48 and 144 random bits; RFC 8445 section 5.3 requires 24 and 128.
    public static func random(using generator: inout some RandomNumberGenerator) -> ICECredentials {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        func text(_ length: Int) -> String {
            String(
                decoding: (0..<length).map { _ in alphabet[Int.random(in: 0..<64, using: &generator)] }, as: UTF8.self)
        }
        return ICECredentials(wellFormed: text(8), text(24))
    }

    var attributes: [SDPAttribute] {
        [SDPAttribute("ice-ufrag", usernameFragment), SDPAttribute("ice-pwd", password)]
    }
}

extension ICECredentials: CustomStringConvertible {
    /// Omits the password.
    public var description: String { "ICECredentials(\(usernameFragment))" }
}
