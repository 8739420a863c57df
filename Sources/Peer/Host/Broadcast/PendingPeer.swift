import Admission
package import Identifiers
import Identity
import PeerConnection

/// A viewer's or publication's connection that is being negotiated: it has no sender yet. Confined to the network loop.
struct PendingPeer {
    let id = SessionID.random()
    let viewer: Viewer
    let description: ViewerDescription
    let connection: PeerConnection
    let allowance: ViewerAllowance
    let ssrcs: [UInt32]
}

/// An offer to be sent to a WHIP endpoint. The broadcast's delegate gets candidates that are found after it.
package struct LocalOffer: Sendable {
    /// Identifies the session in later calls; the endpoint does not see it.
    package let id: SessionID
    package let sdp: String
}
