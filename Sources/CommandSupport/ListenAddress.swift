import ArgumentParser
import HTTP

/// The value of `--listen`: "ADDR:PORT", with IPv6 in brackets.
package struct ListenAddress {
    package var host: String
    package var port: Int
    /// How many ports after it are tried if it is in use.
    package var furtherPorts = 0
    /// The UDP ports for media; nil: any free ones, as with port 0.
    package var mediaPorts: ClosedRange<UInt16>?
    /// The address in the link.
    package var linkHost: String

    /// The address of a host or service whose user names none: all addresses of this machine, and the default ports.
    package init() { self.init(addresses: LocalAddresses.all()) }

    /// - Parameter addresses: those of this machine that others may reach.
    init(addresses: [String]) {
        (host, linkHost) = LocalAddresses.place(of: "0.0.0.0", among: addresses)
        port = DefaultPorts.signaling
        furtherPorts = DefaultPorts.further
        mediaPorts = DefaultPorts.media
    }

    /// - Parameters:
    ///   - text: nil for the default.
    ///   - option: for the error.
    package init(_ text: String?, option: String = "--listen") throws {
        guard let text else {
            self.init()
            return
        }
        try self.init(text, option: option, addresses: LocalAddresses.all())
    }

    init(_ text: String, option: String = "--listen", addresses: [String]) throws {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65_535).contains(port)
        else { throw ValidationError("\(option) is ADDR:PORT, as 0.0.0.0:8443 or [::1]:0, not '\(text)'.") }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        if host.isEmpty || host == "*" { host = "0.0.0.0" }
        (self.host, linkHost) = LocalAddresses.place(of: host, among: addresses)
        self.port = port
        mediaPorts = port == 0 ? nil : DefaultPorts.media
    }

    /// Whether it means all addresses of the machine.
    package var isWildcard: Bool { host == "0.0.0.0" || host == "::" }
}
