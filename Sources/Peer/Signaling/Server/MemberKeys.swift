import Identifiers

/// What a host has a relay pass on to one of its viewers: keys of the broadcast, encrypted for that viewer.
public struct MemberKeys: Sendable, Equatable {
    /// SHA-256 of the viewer's certificate, 32 bytes.
    public let viewer: [UInt8]
    /// base64url, which the relay cannot read.
    public let keys: String

    package init(viewer: [UInt8], keys: String) { (self.viewer, self.keys) = (viewer, keys) }
}

/// The JSON of `PUT /services/ID/keys`, and of what relays of a cluster pass on to each other.
package struct MemberKeysDocument: Codable {
    /// The keys by base64url of the certificate's hash.
    private var wraps: [String: String]

    /// In one request.
    static let countLimit = 300
    package static let sizeLimit = 65_536
    private static let textLimit = 4_096

    package init(_ keys: some Sequence<MemberKeys>) {
        wraps = [:]
        for entry in keys { wraps[Base64URL.encode(entry.viewer)] = entry.keys }
    }

    /// Nil if it has too many entries, or one that is none.
    package var keys: [MemberKeys]? {
        guard wraps.count <= Self.countLimit else { return nil }
        var result: [MemberKeys] = []
        for (name, text) in wraps {
            guard let viewer = Base64URL.decode(name, count: 32), text.utf8.count <= Self.textLimit,
                Base64URL.decode(text) != nil
            else { return nil }
            result.append(MemberKeys(viewer: viewer, keys: text))
        }
        return result
    }
}

/// The JSON of keys for one viewer: of `POST /ID/keys`, and of an event.
struct ViewerKeysDocument: Codable {
    var keys: String
}
