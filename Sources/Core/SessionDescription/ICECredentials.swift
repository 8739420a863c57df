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

    var attributes: [SDPAttribute] {
        [SDPAttribute("ice-ufrag", usernameFragment), SDPAttribute("ice-pwd", password)]
    }
}

extension ICECredentials: CustomStringConvertible {
    /// Never shows the password.
    public var description: String { "ICECredentials(\(usernameFragment))" }
}
