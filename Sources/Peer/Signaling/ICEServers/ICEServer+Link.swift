import FoundationEssentials
package import HTTP
import Identifiers
import Identity

extension BroadcastResource {
    /// The servers for one viewer.
    /// - Parameters:
    ///   - owner: the viewer's token.
    ///   - isListed: the link is in a directory, so that its secret proves nothing. A viewer whom no person has accepted
    ///     gets credentials for the time in which its media has to begin.
    func issuedServers(to owner: TokenHash, isListed: Bool) -> [ICEServer] {
        servers.issued(
            with: configuration.turnSecret, to: RandomName.random().text, at: Date(),
            lifetime: isListed && !admissions.isProven(owner) ? .ofStranger : nil)
    }
}

extension ServiceResource {
    /// The servers for one publisher. A stranger gets credentials for the time in which its media has to come.
    func issuedServers(to owner: TokenHash) -> [ICEServer] {
        servers.issued(
            with: configuration.turnSecret, to: RandomName.random().text, at: Date(),
            lifetime: pairings.isTrusted(owner) ? nil : .ofStranger)
    }
}

extension TimeInterval {
    /// Of TURN credentials, in seconds.
    fileprivate static var ofStranger: TimeInterval { 60 }
}

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
