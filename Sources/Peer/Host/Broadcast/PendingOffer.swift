import Admission
package import Identifiers
import Identity
import MediaEngine
import PeerConnection
import SessionDescription

/// A session that this host has offered and that waits for the answer (WHIP, RFC 9725). Candidates are gathered
/// meanwhile. Confined to the network loop.
final class PendingOffer {
    let id = SessionID.random()
    let receiver: Viewer
    let description: ViewerDescription
    let negotiation: ICENegotiation
    let allowance: ViewerAllowance
    let ssrcs: [UInt32]

    init(
        receiver: Viewer, description: ViewerDescription, negotiation: ICENegotiation, allowance: ViewerAllowance,
        ssrcs: [UInt32]
    ) {
        self.receiver = receiver
        self.description = description
        self.negotiation = negotiation
        self.allowance = allowance
        self.ssrcs = ssrcs
    }

    /// Gives the offer up.
    func close(_ done: @escaping () -> Void = {}) {
        negotiation.close()
        negotiation.path.close(done)
    }
}

/// An offer to be sent to a WHIP endpoint. The broadcast's delegate gets candidates that are found after it.
package struct LocalOffer: Sendable {
    /// Identifies the session in later calls; the endpoint does not see it.
    package let id: SessionID
    package let sdp: String
}
