import Admission
import FoundationEssentials
import HTTP
import HTTPTypes
import MediaCore

extension BroadcastRoutes {
    /// Handles POST /ID/messages: what an admitted viewer says.
    func messages(_ call: RouteRequest) async throws(Refusal) -> RouteResponse {
        guard call.method == .post else { return .methodNotAllowed("GET, POST") }
        let (owner, admission) = try await authorize(call)
        if call.isForwarded { return try await sealedMessages(call, owner, admission.viewer) }
        // Everybody with the fixed token has it.
        guard let viewer = admission.viewer else { return MessageProblem(.notWatching).response }
        let document = try server.document(
            ViewerMessagesDocument.self, of: call, limit: ViewerMessagesDocument.sizeLimit,
            or: ViewerMessagesDocument.form)
        if let refusal = await take(document, from: viewer) { return refusal.response }
        return RouteResponse(.noContent)
    }

    /// Takes a message of a viewer's WebSocket: the body of a POST.
    /// - Returns: why it was not taken.
    func take(_ message: MessageSocket.Message, from viewer: Viewer) async -> MessageProblem? {
        guard case .text(let text) = message,
            let document = try? JSONDecoder().decode(ViewerMessagesDocument.self, from: Data(text.utf8))
        else { return .malformed }
        return await take(document, from: viewer)
    }

    func take(_ document: ViewerMessagesDocument, from viewer: Viewer) async -> MessageProblem? {
        guard document.messages.count <= ViewerMessagesDocument.countLimit else { return .malformed }
        return await broadcast.delegate.take(document.messages, from: viewer).map { MessageProblem($0) }
    }
}

/// Why messages were not taken, as a problem document (RFC 9457).
struct MessageProblem {
    let problem: Problem
    let status: HTTPResponse.Status
    let detail: String
    var retryAfter: Int?

    static let malformed = MessageProblem(problem: .malformed, status: .badRequest, detail: ViewerMessagesDocument.form)

    init(problem: Problem, status: HTTPResponse.Status, detail: String, retryAfter: Int? = nil) {
        (self.problem, self.status, self.detail, self.retryAfter) = (problem, status, detail, retryAfter)
    }

    init(_ refusal: MessageRefusal) {
        switch refusal {
        case .notTaken: self.init(problem: .reserved, status: .notImplemented, detail: "this host takes no messages")
        case .notWatching:
            self.init(problem: .notFound, status: .conflict, detail: "only who watches can say something")
        case .notAllowed(let right):
            self.init(
                problem: .refused, status: .forbidden, detail: "the host does not allow you \(right.purposeOfViewer)")
        case .refusedBefore(let right, let seconds):
            self.init(
                problem: .refused, status: .forbidden,
                detail: "the host did not allow you \(right.purposeOfViewer); you can ask again in \(seconds) s",
                retryAfter: seconds)
        case .controlled:
            self.init(
                problem: .limited, status: .conflict, detail: "another viewer controls the screen; ask again later",
                retryAfter: 10)
        case .limited(let seconds):
            self.init(
                problem: .limited, status: .tooManyRequests, detail: "too many messages; try again in \(seconds) s",
                retryAfter: seconds)
        case .empty:
            self.init(problem: .malformed, status: .badRequest, detail: "the comment has no visible character")
        }
    }

    var response: RouteResponse { RouteResponse(problem: problem, status, detail, retryAfter: retryAfter) }

    /// On a WebSocket.
    var text: String { problem.text(status, detail) }
}

extension ViewerRight {
    /// "The host does not allow you to write comments."
    fileprivate var purposeOfViewer: String { self == .control ? "to control its pointer and keyboard" : purpose }
}

/// The body of POST /ID/messages.
struct ViewerMessagesDocument: Codable {
    static let countLimit = 32
    static let form = "messages are JSON with messages, 32 at most"
    /// In bytes.
    static let sizeLimit = 16_384

    var messages: [ViewerMessage]
}
