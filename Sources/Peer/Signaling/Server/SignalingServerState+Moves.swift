import FoundationEssentials
import HTTP
import HTTPTypes
import Identifiers
import Identity
import Synchronization

/// The body of POST /ID/moved.
struct MovedDocument: Codable {
    /// Of a ``MoveMark``.
    var mark: String
}

extension SignalingServerState {
    /// Handles POST /ID/moved: whether another server of the broadcast has sent a page's viewer here. A mark is valid
    /// once.
    func moved(_ call: RouteRequest, _ id: BroadcastID) -> RouteResponse {
        guard call.method == .post else { return .methodNotAllowed("POST") }
        guard let document = document(MovedDocument.self, of: call, limit: 1_024) else {
            return malformed("a move is JSON with mark")
        }
        let key = broadcasts[id]?.configuration.passKey ?? configuration.fetcher?.passKey(of: id)
        guard let nonce = key.flatMap({ MoveMark(id, key: $0).nonce(of: document.mark, at: .secondsSince1970) }),
            usedMarks.withLock({ $0.use(nonce, now: .now) })
        else { return RouteResponse(problem: .refused, .forbidden, "this mark is not valid here, or not any more") }
        return RouteResponse(.noContent)
    }
}

extension UInt64 {
    /// Of the wall clock.
    static var secondsSince1970: UInt64 { UInt64(Swift.max(0, Date().timeIntervalSince1970)) }
}
