import Admission
import FoundationEssentials
import HTTP
import HTTPTypes
import MediaCore

extension BroadcastRoutes {
    /// Handles POST /ID/messages: what an admitted viewer says.
    func messages(_ call: RouteRequest) async throws(Refusal) -> RouteResponse {
        guard call.method == .post else { return .methodNotAllowed("GET, POST") }
        let admission = try await authorize(call).1
        guard !call.isForwarded else {
            return RouteResponse(
                problem: .reserved, .notImplemented, "a relay could read this message, so it is not taken")
        }
        // Everybody with the fixed token has it.
        guard let viewer = admission.viewer else { return response(to: .notWatching) }
        let what = "messages are JSON with messages, \(ViewerMessagesDocument.countLimit) at most"
        let document = try server.document(
            ViewerMessagesDocument.self, of: call, limit: ViewerMessagesDocument.sizeLimit, or: what)
        guard document.messages.count <= ViewerMessagesDocument.countLimit else {
            throw Refusal(server.malformed(what))
        }
        guard let refusal = await broadcast.delegate.take(document.messages, from: viewer) else {
            return RouteResponse(.noContent)
        }
        return response(to: refusal)
    }

    private func response(to refusal: MessageRefusal) -> RouteResponse {
        switch refusal {
        case .notTaken: RouteResponse(problem: .reserved, .notImplemented, "this host takes no messages")
        case .notWatching: RouteResponse(problem: .notFound, .conflict, "only who watches can say something")
        case .notAllowed(let right):
            RouteResponse(problem: .refused, .forbidden, "the host does not allow you \(right.purposeOfViewer)")
        case .refusedBefore(let right, let seconds):
            RouteResponse(
                problem: .refused, .forbidden,
                "the host did not allow you \(right.purposeOfViewer); you can ask again in \(seconds) s",
                retryAfter: seconds)
        case .limited(let seconds): .limited("too many messages", seconds)
        case .empty: server.malformed("the comment has no visible character")
        }
    }
}

extension ViewerRight {
    /// "The host does not allow you to write comments."
    fileprivate var purposeOfViewer: String { self == .control ? "to control its pointer and keyboard" : purpose }
}

/// The body of POST /ID/messages.
struct ViewerMessagesDocument: Codable {
    static let countLimit = 32
    /// In bytes.
    static let sizeLimit = 16_384

    var messages: [ViewerMessage]
}
