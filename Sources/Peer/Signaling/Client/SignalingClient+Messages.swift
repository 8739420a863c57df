import FoundationEssentials
public import HTTP
public import MediaCore
import NIOHTTP1

extension SignalingClient {
    /// Says something to the host, as an admitted viewer with a session.
    /// - Throws: `.refused` if the viewer may not do that; `.limited` for too many messages.
    public func send(_ messages: [ViewerMessage]) async throws(SignalingError) {
        let answer = try await send(ViewerMessagesDocument(messages: messages), .POST, path("/messages"))
        guard answer.status == 204 else { throw http.failure(answer) }
    }

    /// Opens the WebSocket of an admitted viewer, whose texts are `text(of:)`, or `text(sealed:)` over a relay.
    /// - Parameter token: of an admission; nil: that of the session.
    /// - Returns: nil if the token is not valid any more.
    package func openMessages(token: String? = nil) async throws(SignalingError) -> MessageSocket? {
        if let token { await http.authorize(with: token) }
        return try await http.webSocket(path("/messages"), protocols: [BroadcastRoutes.socketProtocol])
    }

    /// Messages as a text of the WebSocket; nil if they are too long.
    package static func text(of messages: [ViewerMessage]) -> String? {
        guard let data = try? JSONEncoder().encode(ViewerMessagesDocument(messages: messages)),
            data.count <= ViewerMessagesDocument.sizeLimit
        else { return nil }
        return String(decoding: data, as: UTF8.self)
    }

    /// A text of the WebSocket over a relay.
    /// - Parameter sealed: base64url of what only the host can read.
    package static func text(sealed: String) -> String? {
        (try? JSONEncoder().encode(SealedRequestDocument(sealed: sealed))).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Says something over a relay, with the token of an admission.
    /// - Parameter sealed: base64url of what only the host can read.
    /// - Returns: false if the token is not valid any more.
    package func send(sealed: String, token: String) async throws(SignalingError) -> Bool {
        await http.authorize(with: token)
        let answer = try await send(SealedRequestDocument(sealed: sealed), .POST, path("/messages"))
        if answer.status == 401 { return false }
        guard answer.status == 204 else { throw http.failure(answer) }
        return true
    }
}
