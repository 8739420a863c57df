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
}
