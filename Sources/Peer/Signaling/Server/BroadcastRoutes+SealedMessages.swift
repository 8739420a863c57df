import Admission
import FoundationEssentials
import FrameEncryption
import HTTP
import HTTPTypes
import Identifiers
import MediaCore
import SFrame

/// The body of POST /ID/messages, or a text of its WebSocket, that a relay passes on.
struct SealedRequestDocument: Codable {
    /// base64url of a `MessageSeal` of what would be said without a relay.
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
        guard viewer.keyWrap != nil,
            let document = server.document(
                SealedRequestDocument.self, of: call, limit: SealedRequestDocument.sizeLimit)
        else { return MessageProblem.needsEncryption.response }
        if let problem = await take(document, .request, owner, from: viewer) {
            if problem.problem == .malformed { throw Refusal(server.malformed(problem.detail)) }
            return problem.response
        }
        return RouteResponse(.noContent)
    }

    /// Takes a text of a viewer's WebSocket that a relay passes on.
    /// - Returns: why it was not taken.
    func take(
        sealed message: MessageSocket.Message, _ owner: TokenHash, from viewer: Viewer
    ) async -> MessageProblem? {
        guard case .text(let text) = message, text.utf8.count <= SealedRequestDocument.sizeLimit,
            let document = try? JSONDecoder().decode(SealedRequestDocument.self, from: Data(text.utf8))
        else { return .malformedSeal }
        return await take(document, .socket, owner, from: viewer)
    }

    private func take(
        _ document: SealedRequestDocument, _ carrier: MessageCarrier, _ owner: TokenHash, from viewer: Viewer
    ) async -> MessageProblem? {
        guard let key = viewer.keyWrap?.messages.toHost, let bytes = Base64URL.decode(document.sealed),
            let (counter, text) = MessageSeal<GCMFrameCipher>.open(
                bytes, key: key, authenticating: carrier.associatedData)
        else { return .malformedSeal }
        guard broadcast.admissions.noteMessage(of: owner, counter: counter, by: carrier) else { return .repeated }
        guard text.count <= ViewerMessagesDocument.sizeLimit,
            let messages = try? JSONDecoder().decode(ViewerMessagesDocument.self, from: Data(text))
        else { return .malformed }
        return await take(messages, from: viewer)
    }
}

extension MessageProblem {
    static let needsEncryption = MessageProblem(
        problem: .needsEncryption, status: .forbidden,
        detail: "a relay could read this message, so it is not taken: update your version of share")
    fileprivate static let malformedSeal = MessageProblem(
        problem: .malformed, status: .badRequest, detail: SealedRequestDocument.form)
    fileprivate static let repeated = MessageProblem(
        problem: .replaced, status: .conflict, detail: "this message came before, or after a later one")
}
