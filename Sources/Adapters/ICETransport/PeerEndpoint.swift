internal import CNice
import EventLoop
internal import Glibc
internal import LinuxRuntime
internal import MediaCore
import SessionDescription

/// The user name of a STUN request: the receiver's fragment, a colon and the sender's (RFC 8445 section 7.2.2). Nothing
/// is verified. It lies in the datagram.
struct RequestUsername {
    let bytes: UnsafePointer<UInt8>
    let length: UInt16
    /// The receiver's fragment, which names the session.
    let fragment: String
    /// The sender's fragment.
    let senderFragment: String

    /// Nil for other datagrams.
    init?(_ datagram: UnsafeMutableRawBufferPointer, _ stun: UnsafeMutablePointer<StunAgent>) {
        var length: UInt16 = 0
        guard let base = datagram.baseAddress,
            let bytes = cnice_request_username(
                stun, base.assumingMemoryBound(to: UInt8.self), datagram.count, &length)
        else { return nil }
        let text = UnsafeBufferPointer(start: bytes, count: Int(length))
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")), colon <= 256 else { return nil }
        self.bytes = bytes
        self.length = length
        fragment = String(decoding: text[..<colon], as: UTF8.self)
        senderFragment = String(decoding: text[(colon + 1)...], as: UTF8.self)
    }
}

/// Where a peer's datagrams come from, and the local address at which they arrive.
struct PeerEndpoint: Hashable {
    private var high: UInt64 = 0
    private var low: UInt64 = 0
    private var port: UInt16 = 0
    private var socket: UInt16

    init(_ source: sockaddr_storage, socket: Int) {
        self = withUnsafePointer(to: source) { Self($0, socket: socket) }
    }

    init(_ source: UnsafePointer<sockaddr_storage>, socket: Int) {
        self.socket = UInt16(truncatingIfNeeded: socket)
        let bytes = UnsafeRawPointer(source)
        // Port: bytes 2 and 3. Address: from byte 4 (IPv4) or 8 (IPv6) on.
        port = bytes.load(fromByteOffset: 2, as: UInt16.self)
        if Int32(source.pointee.ss_family) == AF_INET {
            low = UInt64(bytes.load(fromByteOffset: 4, as: UInt32.self)) | 1 << 63
        } else {
            high = bytes.load(fromByteOffset: 8, as: UInt64.self)
            low = bytes.load(fromByteOffset: 16, as: UInt64.self)
        }
    }
}
