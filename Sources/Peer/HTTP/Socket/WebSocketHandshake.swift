internal import Cryptography
import FoundationEssentials
package import HTTPTypes
import MediaCore

/// The request of a client for a WebSocket (RFC 6455 section 4), and the fields of the response.
package struct WebSocketHandshake: Sendable {
    package enum Flaw: Error, Sendable {
        /// The request is for no WebSocket, or for another version.
        case noUpgrade
        case malformed
    }

    /// A subprotocol with this prefix has the bearer token of a browser, which cannot set Authorization.
    private static let bearerPrefix = "bearer."
    private static let guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    let key: String
    /// The subprotocols that the client offers, without those that have a token.
    package let protocols: [String]

    package init(_ fields: HTTPFields) throws(Flaw) {
        guard Self.isUpgrade(fields), fields[Header.socketVersion] == "13" else { throw .noUpgrade }
        guard let key = fields[Header.socketKey], Data(base64Encoded: key)?.count == 16 else { throw .malformed }
        self.key = key
        protocols = Self.tokens(fields[Header.socketProtocol]).filter { !$0.hasPrefix(Self.bearerPrefix) }
    }

    package static func isUpgrade(_ fields: HTTPFields) -> Bool {
        tokens(fields[.upgrade]).contains { $0.lowercased() == "websocket" }
            && tokens(fields[.connection]).contains { $0.lowercased() == "upgrade" }
    }

    /// The token among the subprotocols; nil if there is none.
    package static func bearer(_ fields: HTTPFields) -> String? {
        guard isUpgrade(fields) else { return nil }
        let named = tokens(fields[Header.socketProtocol]).first { $0.hasPrefix(bearerPrefix) }
        return named.map { String($0.dropFirst(bearerPrefix.count)) }
    }

    private static func tokens(_ list: String?) -> [String] {
        (list ?? "").split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }.filter { !$0.isEmpty }
    }

    static func accept(_ key: String) -> String {
        Data(LegacyDigest.sha1.hash(of: Array((key + guid).utf8))).base64EncodedString()
    }

    /// The fields of the response 101.
    /// - Parameter chosen: one of `protocols`.
    package func response(choosing chosen: String) -> HTTPFields {
        [
            .upgrade: "websocket", .connection: "Upgrade", Header.socketAccept: Self.accept(key),
            Header.socketProtocol: chosen,
        ]
    }
}
