package import ICETransport
package import MediaCore
import SessionDescription

/// The path to the other peer as DTLS and SRTP use it: datagrams in both directions, and consent to send. Sockets,
/// candidate pairs and their changes belong to the path. Confined to the network loop.
package protocol PacketPath: AnyObject {
    /// Held until `close`, as a weak reference would cost more for each datagram.
    var delegate: (any PacketPathDelegate)? { get set }
    /// The pair that datagrams are sent over; nil until one is selected.
    var selectedPair: ICEAgent.SelectedPair? { get }
    /// Whether the datagram that is being delivered came from the address that datagrams are sent to.
    var isFromSelectedPair: Bool { get }

    /// Sends one datagram. Before a pair is selected, holds a DTLS flight. May drop the datagram.
    func send(_ datagram: UnsafeRawBufferPointer)

    /// Sends packets that lie `stride` bytes apart, in order. Packets that do not fit in the socket's buffer are
    /// dropped.
    func sendBatch(_ base: UnsafeRawPointer, stride: Int, lengths: UnsafeBufferPointer<Int>)

    /// Adds the memory that `sendBatch` is going to use.
    func addMemory(to list: inout PrefetchList)

    /// Whether the other end of the pair consents to receive (RFC 7675 section 5.1).
    func hasConsent(_ now: MediaInstant) -> Bool

    /// Notes that SRTP has verified the datagram that is being delivered.
    func noteAuthentic(_ now: MediaInstant)

    /// The peer seems to have gone, which nothing proves. The path checks that, and tells its delegate if it is so.
    func checkConsent(_ now: MediaInstant)

    /// Frees everything. May be called more than once.
    /// - Parameter done: called on the loop when the sockets are closed; the loop must not stop before.
    func close(_ done: @escaping () -> Void)
}

/// Receives datagrams and changes of a path, on the network loop.
package protocol PacketPathDelegate: AnyObject {
    /// The first pair is selected.
    func pathIsConnected()
    /// Another pair is about to be selected after a restart.
    func pathWillChangePair()
    /// Datagrams are sent over the other pair from now on.
    func pathDidChangePair()
    /// - Parameters:
    ///   - datagram: borrowed for the call, may be decrypted in place; need not be aligned.
    ///   - arrival: when it arrived in the socket, or was read.
    func path(received datagram: UnsafeMutableRawBufferPointer, at arrival: MediaInstant)
    /// The peer that `checkConsent` was called for does not answer any more.
    func pathPeerHasGone()
}

extension PacketPath {
    package func checkConsent(_ now: MediaInstant) {}

    /// The local address that media is sent from, without port; nil until a pair is selected.
    package var localAddress: String? { selectedPair?.localAddress }

    /// The other end of the pair is on this machine, by a candidate that the peer has named as its own. The address of
    /// a TURN server or port forwarder on this machine is none of those.
    package var isOnThisMachine: Bool {
        guard let pair = selectedPair, pair.localKind == "host", pair.remoteKind == "host" else { return false }
        return pair.localAddress == pair.remoteAddress || IPAddress(pair.remoteAddress)?.isLoopback == true
    }

    /// The selected pair for people: "direct, 192.168.1.7:4000 (host) - ...".
    package var summary: String {
        guard let pair = selectedPair else { return "no path" }
        return (pair.isRelayed ? "relayed, " : "direct, ") + pair.description
    }
}

extension PacketPath {
    /// Only a path of a relay is one of hundreds.
    package func addMemory(to list: inout PrefetchList) {}
}
