import NIOCore
package import NIOHTTP1
import SessionDescription

/// The client's side of an endpoint of WHEP or WHIP (RFC 9725), and of the one session that it has opened there.
extension PinnedHTTPClient {
    /// Sends an offer to an endpoint. Checks that the answer's fingerprint is the server's.
    /// - Parameter timeout: time limit for a new connection, and again for the answer. Nil: the default limit, and an
    ///   idle connection may be used.
    /// - Returns: the session, which `keep` makes the present one, and the headers of the response.
    package func offer(
        _ sdp: String, to endpoint: String, extra: [(String, String)] = [], timeout: Duration?
    ) async throws(SignalingError) -> (session: OfferAnswer, headers: HTTPHeaders) {
        let answer = try await ask(
            .POST, endpoint, type: "application/sdp", body: ByteBuffer(string: sdp), extra: extra, timeout: timeout,
            isFresh: timeout != nil)
        guard answer.status == 201, let resource = answer.headers.first(name: "Location"),
            resource.hasPrefix(endpoint + "/")
        else { throw failure(answer) }
        guard CertificateFingerprints.sha256(in: answer.text) == server.peerFingerprint else {
            throw SignalingError(
                .hostNotProven,
                "the answer names another certificate than the link: somebody in between wants to "
                    + (server.role == .host ? "watch" : "take the media")
            )
        }
        let session = OfferAnswer(sdp: answer.text, resource: resource, etag: Self.tag(answer))
        return (session, answer.headers)
    }

    /// Makes this the session of `trickle`, `restart` and `leave`.
    package func keep(_ session: OfferAnswer) { self.session = session }

    /// Sends a trickle fragment (RFC 8840).
    package func trickle(_ fragment: String) async throws(SignalingError) {
        guard let session else { throw SignalingError(.gone, "there is no session yet") }
        let answer = try await ask(
            .PATCH, session.resource, type: "application/trickle-ice-sdpfrag", body: ByteBuffer(string: fragment),
            extra: [("If-Match", "\"\(session.etag)\"")])
        guard (200..<300).contains(answer.status) else { throw failure(answer) }
    }

    /// Sends the credentials and candidates of an ICE restart (RFC 9725 section 4.4) on a new connection, because
    /// existing ones may have died in the outage without notice.
    /// - Parameter timeout: time limit for the connection, and again for the answer.
    /// - Throws: `.gone` if the server does not have the session any more.
    package func restart(_ fragment: String, timeout: Duration) async throws(SignalingError) -> RestartAnswer {
        guard let session else { throw SignalingError(.gone, "there is no session yet") }
        let answer = try await ask(
            .PATCH, session.resource, type: "application/trickle-ice-sdpfrag", body: ByteBuffer(string: fragment),
            extra: [("If-Match", "*")], timeout: timeout, isFresh: true)
        guard answer.status != 503 else {
            throw SignalingError(.tooMany, "the \(server.role) cannot restart ICE now")
        }
        guard answer.status == 200 else { throw failure(answer) }
        if self.session?.resource == session.resource {
            self.session = OfferAnswer(sdp: session.sdp, resource: session.resource, etag: Self.tag(answer))
        }
        return RestartAnswer(fragment: answer.text)
    }

    /// Deletes the session at the server. Errors are ignored, because the server may have gone.
    package func leave() async {
        guard let session else { return }
        self.session = nil
        _ = try? await ask(.DELETE, session.resource, timeout: .seconds(1))
    }

    private static func tag(_ answer: HTTPAnswer) -> String {
        (answer.headers.first(name: "ETag") ?? "").filter { $0 != "\"" }
    }
}
