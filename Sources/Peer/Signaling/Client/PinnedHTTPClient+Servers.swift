import HTTP
import NIOHTTP1

extension PinnedHTTPClient {
    /// The STUN and TURN servers that the server tells at `path`, at most 16.
    /// - Throws: `.gone` if it does not tell them.
    func iceServers(_ path: String) async throws(SignalingError) -> [ICEServer] {
        let answer = try await ask(.GET, path)
        guard answer.status == 200, let document = answer.document(ServersDocument.self) else { throw failure(answer) }
        return Array(document.iceServers.prefix(16))
    }
}
