import FoundationEssentials
public import HTTP
import NIOCore
import NIOHTTP1

/// The client of a broadcast or a service: what is alike for its session and its connections.
public protocol EndpointClient: Actor {
    nonisolated var http: PinnedHTTPClient { get }
    /// The path of `item` of the broadcast or service, which begins with a slash or is empty.
    nonisolated func path(_ item: String) -> String
}

extension EndpointClient {
    /// Sends a trickle fragment (RFC 8840) for the session that was opened.
    public func trickle(_ fragment: String) async throws(SignalingError) { try await http.trickle(fragment) }

    /// Sends the credentials and candidates of an ICE restart (RFC 9725 section 4.4) on a new connection, because
    /// existing ones may have died in the outage without notice.
    /// - Parameter timeout: time limit for the connection, and again for the answer.
    /// - Throws: `.gone` if the server does not have the session any more.
    public func restart(_ fragment: String, timeout: Duration) async throws(SignalingError) -> RestartAnswer {
        try await http.restart(fragment, timeout: timeout)
    }

    /// The STUN and TURN servers, at most 16, with credentials from now on. Needs a token.
    /// - Throws: `.gone` if the server does not tell them.
    package func iceServers() async throws(SignalingError) -> [ICEServer] {
        let answer = try await http.ask(.GET, path("/servers"))
        guard answer.status == 200, let document = answer.document(ServersDocument.self) else {
            throw http.failure(answer)
        }
        return Array(document.iceServers.prefix(16))
    }

    /// Deletes the session at the server. Errors are ignored, because the server may have gone.
    public func leave() async { await http.leave() }

    /// Closes all connections after an outage, so that later requests use new ones. Event streams end with
    /// `.connectionLost`.
    public func closeConnections() async { await http.closeConnections() }

    /// Sends a document as JSON.
    func send(
        _ document: some Encodable & Sendable, _ method: HTTPMethod, _ path: String, timeout: Duration? = nil
    ) async throws(SignalingError) -> HTTPAnswer {
        guard let body = try? JSONEncoder().encode(document) else {
            throw SignalingError(.offerRefused, "the request cannot be written as JSON")
        }
        return try await http.ask(
            method, path, type: "application/json", body: ByteBuffer(bytes: body), timeout: timeout)
    }
}
