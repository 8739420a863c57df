import FoundationEssentials
package import Identifiers
package import SessionBus
import SessionDescription

/// A broadcast that its host announces on the local network.
package struct AnnouncedBroadcast: Equatable, Sendable {
    private static let version = "1"

    package let name: String
    /// Without the secret: one may knock with it from the local network only.
    package let link: Link

    /// The TXT record of a broadcast (RFC 6763 section 6): version, identifier, fingerprint in base64url.
    package static func txtRecord(of link: Link) -> [String] {
        ["v=\(version)", "id=\(link.id.text)", "fp=\(Base64URL.encode(link.fingerprint))"]
    }
}

extension AnnouncedBroadcast {
    /// Nil if the service's texts make no sense, or are of another version.
    package init?(_ service: DiscoveredService) {
        func value(_ key: String) -> String? {
            // The case of a key is ignored (RFC 6763 section 6.4).
            service.txtRecord.first { $0.lowercased().hasPrefix(key + "=") }.map { String($0.dropFirst(key.count + 1)) }
        }
        guard value("v") == Self.version, let id = value("id").flatMap({ BroadcastID($0) }),
            let fingerprint = Base64URL.decode(value("fp"), count: 32),
            let host = Link.host(service.address),
            // The answer may name any machine. A host takes such knocks from the local network alone.
            let address = service.address.split(separator: "%").first.flatMap({ IPAddress(String($0)) }),
            address.isOfLocalNetwork, !address.isLoopback, !address.isInstanceMetadata
        else { return nil }
        self.init(
            name: service.name,
            link: Link(
                host: host, port: service.port, id: id, secret: Link.announcedSecret, fingerprint: fingerprint))
    }

    /// The broadcasts that are announced on the local network.
    package static func find() throws(LocalNetworkFailure) -> [AnnouncedBroadcast] {
        try ServiceBrowser.find(environment: ProcessInfo.processInfo.environment).compactMap { AnnouncedBroadcast($0) }
    }
}
