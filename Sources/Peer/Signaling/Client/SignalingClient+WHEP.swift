public import Admission
public import HTTP
import HTTPTypes
import Identifiers
import Identity
import NIOHTTP1
import SessionDescription

extension SignalingClient {
    /// Sends an offer. Checks that the answer's fingerprint is the link's, and that the host's proof (`Share-Proof`) is
    /// right.
    /// - Parameter timeout: time limit for a new connection, and again for the answer. Nil: the default limit, and an
    ///   idle connection may be used.
    public func offer(
        _ sdp: String, token: String, timeout: Duration? = nil
    ) async throws(SignalingError) -> OfferAnswer {
        await http.authorize(with: token)
        let (session, headers) = try await http.offer(
            sdp, to: path("/whep"), extra: [(Header.shareVisit.rawName, clientInstance.text)], timeout: timeout)
        let viewer = fingerprint ?? CertificateFingerprints.sha256(in: sdp) ?? []
        guard let proof = headers.first(name: "Share-Proof").flatMap({ Base64URL.decode($0) }),
            self.proof.isHost(proof, viewer: viewer, host: link.fingerprint)
        else {
            throw SignalingError(.hostNotProven, "the host could not prove that it knows the link's secret")
        }
        await http.keep(session)
        layerResource = layerResource(headers["Link"], of: session)
        return session
    }

    /// The path at which layers are selected, if the host names one below the session's resource.
    private func layerResource(_ links: [String], of session: OfferAnswer) -> String? {
        LinkHeader.parse(links).first {
            $0.hasRelation(WHEPExtension.layers) && $0.target.hasPrefix(session.resource + "/")
        }?.target
    }

    /// Limits the video layers of the session that `offer` opened, or lifts the limit (WHEP's layer selection).
    /// - Throws: `.offerRefused` if the host has no such layer, or takes no selection.
    public func select(_ layers: LayerSelection) async throws(SignalingError) {
        guard let path = layerResource else {
            throw SignalingError(.offerRefused, "the host does not let viewers choose layers")
        }
        let answer = try await send(layers, .POST, path)
        guard answer.status == 200 else { throw http.failure(answer) }
    }
}
