import ArgumentParser
import Signaling

/// The value of `--listen`: "ADDR:PORT", with IPv6 in brackets.
package struct ListenAddress {
    package var host: String
    package var port: Int
    /// The address in the link.
    package var linkHost: String

    /// - Parameter option: for the error.
    package init(_ text: String, option: String = "--listen") throws {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65_535).contains(port)
        else { throw ValidationError("\(option) is ADDR:PORT, as 0.0.0.0:8443 or [::1]:0, not '\(text)'.") }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        if host.isEmpty || host == "*" { host = "0.0.0.0" }
        self.host = host
        self.port = port
        linkHost = host
        if isWildcard { linkHost = LocalAddresses.preferred() }
    }

    /// Whether it means all addresses of the machine.
    package var isWildcard: Bool { host == "0.0.0.0" || host == "::" }
}
