import Admission
import FoundationEssentials
import FrameEncryption
import HTTP
import HTTPTypes
import Identifiers
import MediaCore
import SFrame

/// The body of POST /ID/messages that a relay passes on.
struct SealedRequestDocument: Codable {
    /// base64url of a `MessageSeal` of the body without a relay.
    var sealed: String

    static let form = "messages over a relay are JSON with sealed: base64url of what the viewer has encrypted"
    /// In bytes.
    static let sizeLimit = ViewerMessagesDocument.sizeLimit * 3 / 2
}

extension BroadcastRoutes {
    /// Takes what a viewer says over a relay: it is encrypted for this host, and each message comes once, in its order.
    func sealedMessages(
        _ call: RouteRequest, _ owner: TokenHash, _ viewer: Viewer?
    ) async throws(Refusal) -> RouteResponse {
        guard let viewer else { return MessageProblem(.notWatching).response }
        guard let key = viewer.keyWrap?.messages.toHost,
            let document = server.document(
                SealedRequestDocument.self, of: call, limit: SealedRequestDocument.sizeLimit)
        else {
            return RouteResponse(
                problem: .needsEncryption, .forbidden,
                "a relay could read this message, so it is not taken: update your version of share")
        }
        guard let bytes = Base64URL.decode(document.sealed),
            let (counter, text) = MessageSeal<GCMFrameCipher>.open(bytes, key: key)
        else { throw Refusal(server.malformed(SealedRequestDocument.form)) }
        guard broadcast.admissions.noteMessage(of: owner, counter: counter) else {
            return RouteResponse(problem: .replaced, .conflict, "this message came before, or after a later one")
        }
        guard text.count <= ViewerMessagesDocument.sizeLimit,
            let messages = try? JSONDecoder().decode(ViewerMessagesDocument.self, from: Data(text))
        else { throw Refusal(server.malformed(ViewerMessagesDocument.form)) }
        if let refusal = await take(messages, from: viewer) { return refusal.response }
        return RouteResponse(.noContent)
    }
}
