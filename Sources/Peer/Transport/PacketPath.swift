package import ICETransport
package import MediaCore

/// What DTLS and SRTP need of the path to the other peer: datagrams in both directions, and whether they may be sent.
/// Sockets, candidate pairs and their changes belong to the path. Confined to the network loop.
package protocol PacketPath: AnyObject {
    /// Held until `close`, as a weak reference would cost more for each datagram.
    var delegate: (any PacketPathDelegate)? { get set }
    /// The pair that datagrams are sent over; nil before there is one.
    var selectedPair: ICEAgent.SelectedPair? { get }
    /// Whether the datagram that is being given out came from the address that datagrams are sent to.
    var isFromSelectedPair: Bool { get }

    /// Sends one datagram, or holds it until there is a pair (a DTLS flight). May drop it.
    func send(_ datagram: UnsafeRawBufferPointer)

    /// Sends packets that lie `stride` bytes apart, in order. Packets that do not fit in the socket's buffer are
    /// dropped.
    func sendBatch(_ base: UnsafeRawPointer, stride: Int, lengths: UnsafeBufferPointer<Int>)

    /// Whether the other end of the pair consents to what is sent to it (RFC 7675 section 5.1).
    func hasConsent(_ now: MediaInstant) -> Bool

    /// The datagram that is being given out is authentic: SRTP has verified it.
    func noteAuthentic(_ now: MediaInstant)

    /// Frees everything. Twice is fine.
    /// - Parameter done: called on the loop when the sockets are closed; the loop must not stop before.
    func close(_ done: @escaping () -> Void)
}

/// What DTLS and SRTP hear of their path; on the network loop.
package protocol PacketPathDelegate: AnyObject {
    /// The first pair is there.
    func pathIsConnected()
    /// Another pair is about to be selected after a restart.
    func pathWillMove()
    /// What is sent leaves over the other pair from now on.
    func pathHasMoved()
    /// - Parameter datagram: borrowed for the call, may be decrypted in place; need not be aligned.
    func path(received datagram: UnsafeMutableRawBufferPointer, now: MediaInstant)
}

extension PacketPath {
    /// The address that media leaves from, without port; nil before there is a pair.
    package var localAddress: String? { selectedPair?.localAddress }

    /// For a person: "direct, 192.168.1.7:4000 (host) - ...".
    package var summary: String {
        guard let pair = selectedPair else { return "no path" }
        return (pair.isRelayed ? "relayed, " : "direct, ") + pair.description
    }
}
