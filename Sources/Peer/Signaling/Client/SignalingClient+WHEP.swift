import Admission
import HTTPTypes
import NIOCore
import NIOHTTP1
import SessionDescription

/// The host's answer to an offer. Its proof has been checked against the link.
public struct OfferAnswer: Sendable {
    public let sdp: String
    /// The path of the session's resource; contains 128 secret bits.
    public let resource: String
    public let etag: String
}

/// The host's answer to an ICE restart.
public struct RestartAnswer: Sendable {
    /// `application/trickle-ice-sdpfrag`.
    public let fragment: String
}

extension SignalingClient {
    /// Sends an offer. Checks that the answer's fingerprint is the link's, and that the host's proof (`Share-Proof`) is
    /// right.
    /// - Parameter timeout: time limit for a new connection, and again for the answer. Nil: the default limit, and an
    ///   idle connection may be used.
    public func offer(
        _ sdp: String, token: String, timeout: Duration? = nil
    ) async throws(SignalingError) -> OfferAnswer {
        self.token = token
        let answer = try await ask(
            .POST, path: "/\(link.id.text)/whep", type: "application/sdp", body: ByteBuffer(string: sdp),
            extra: [(Header.shareVisit.rawName, clientInstance.text)], timeout: timeout, isFresh: timeout != nil)
        guard answer.status == 201, let resource = answer.headers.first(name: "Location"),
            resource.hasPrefix("/\(link.id.text)/whep/")
        else { throw failure(answer) }
        guard CertificateFingerprints.sha256(in: answer.text) == link.fingerprint else {
            throw SignalingError(
                .hostNotProven, "the answer names another certificate than the link: somebody in between wants to watch"
            )
        }
        let etag = (answer.headers.first(name: "ETag") ?? "").filter { $0 != "\"" }
        let viewer = fingerprint ?? CertificateFingerprints.sha256(in: sdp) ?? []
        guard let proof = answer.headers.first(name: "Share-Proof").flatMap({ Base64URL.decode($0) }),
            self.proof.isHost(proof, viewer: viewer, host: link.fingerprint)
        else {
            throw SignalingError(.hostNotProven, "the host could not prove that it knows the link's secret")
        }
        let result = OfferAnswer(sdp: answer.text, resource: resource, etag: etag)
        session = result
        return result
    }

    /// Sends a trickle fragment (RFC 8840) for the session that `offer` opened.
    public func trickle(_ fragment: String) async throws(SignalingError) {
        guard let session else { throw SignalingError(.gone, "there is no session yet") }
        let answer = try await ask(
            .PATCH, path: session.resource, type: "application/trickle-ice-sdpfrag", body: ByteBuffer(string: fragment),
            extra: [("If-Match", "\"\(session.etag)\"")])
        guard (200..<300).contains(answer.status) else { throw failure(answer) }
    }

    /// Sends the credentials and candidates of an ICE restart (RFC 9725 section 4.4) on a new connection, because
    /// existing ones may have died in the outage without notice.
    /// - Parameter timeout: time limit for the connection, and again for the answer.
    /// - Throws: `.gone` if the host does not have the session any more.
    public func restart(_ fragment: String, timeout: Duration) async throws(SignalingError) -> RestartAnswer {
        guard let session else { throw SignalingError(.gone, "there is no session yet") }
        let answer = try await ask(
            .PATCH, path: session.resource, type: "application/trickle-ice-sdpfrag", body: ByteBuffer(string: fragment),
            extra: [("If-Match", "*")], timeout: timeout, isFresh: true)
        guard answer.status != 503 else { throw SignalingError(.tooMany, "the host cannot restart ICE now") }
        guard answer.status == 200 else { throw failure(answer) }
        let etag = (answer.headers.first(name: "ETag") ?? "").filter { $0 != "\"" }
        if self.session?.resource == session.resource {
            self.session = OfferAnswer(sdp: session.sdp, resource: session.resource, etag: etag)
        }
        return RestartAnswer(fragment: answer.text)
    }

    /// Deletes the session at the host. Errors are ignored, because the host may have gone.
    public func leave() async {
        guard let session else { return }
        self.session = nil
        _ = try? await ask(.DELETE, path: session.resource, timeout: .seconds(1))
    }
}
