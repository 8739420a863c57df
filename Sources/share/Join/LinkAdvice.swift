import Identifiers

/// What the host's user tells those who get the link.
struct LinkAdvice {
    /// How each browser goes on after its warning, with the names of its buttons.
    private static let browsers = """
        Chrome and Edge: "Advanced", then "Proceed to"; Firefox: "Advanced...", then "Accept the Risk and Continue"; \
        Safari: "Show Details", then "visit this website"
        """

    /// Nil where there is nothing to tell.
    let text: String?

    /// - Parameter asks: the host's user is asked about viewers, and compares the words.
    init(_ link: Link, asks: Bool) {
        // Browsers know the certificate of a relay with --tls.
        let isKnown = link.flags.contains(.webPKI)
        let owner = link.relay == nil ? "machine's" : "relay's"
        guard asks else {
            text = isKnown ? nil : "browsers warn about the certificate, as it is this \(owner) own (\(Self.browsers))"
            return
        }
        let my = link.relay == nil ? "my machine's" : "the relay's"
        let warning =
            "Your browser will warn about the certificate, as it is \(my) own. Go on (\(Self.browsers)). Then tell me"
        text = "say with it: '\(isKnown ? "Tell me" : warning) the four words that you see.'"
    }
}
