import DTLSTransport
package import EventLoop
import ICETransport
package import Identity
import LinuxRuntime
import SRTPTransport

extension PeerConnection {
    /// Has the libraries of a connection do now what they do at their first use, and what media would wait for: loading,
    /// tables, self tests, modules of their own, the parsed identity. Opens no socket.
    /// - Isolation: network loop, which it blocks for some 30 ms, once in a process. What SRTP needs, which is used last, is
    ///   made ready by another thread.
    package static func initializeLibraries(for identity: Identity, on loop: EventLoop) {
        _ = try? NamedThread.start("srtp") { SRTPSession.initializeLibrary() }
        ICEAgent.loadLibrary()
        _ = try? loop.shared { DTLSIdentityCache() }.identity(of: identity)
    }
}
