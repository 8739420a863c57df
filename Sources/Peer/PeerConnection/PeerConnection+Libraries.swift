import DTLSTransport
package import EventLoop
package import Identity
import SRTPTransport

extension PeerConnection {
    /// Has the libraries of a connection do now what they do at their first use, and what media would wait for: tables,
    /// self tests, modules of their own, the parsed identity. Opens no socket.
    /// - Isolation: network loop, which it blocks for some 20 ms, once in a process.
    package static func initializeLibraries(for identity: Identity, on loop: EventLoop) {
        _ = try? loop.shared { DTLSIdentityCache() }.identity(of: identity)
        SRTPSession.initializeLibrary()
    }
}
