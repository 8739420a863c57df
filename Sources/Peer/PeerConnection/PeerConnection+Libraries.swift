import DTLSTransport
package import EventLoop
import ICETransport
package import Identity
import LinuxRuntime
import SRTPTransport

extension PeerConnection {
    /// Has the libraries of a connection do now what they do at their first use, and what media would wait for: loading,
    /// tables, self tests, modules of their own, the parsed identity. Opens no socket.
    /// - Isolation: network loop, which it blocks for some 30 ms, once in a process.
    package static func initializeLibraries(for identity: Identity, on loop: EventLoop) {
        _ = libraries
        _ = try? loop.shared { DTLSIdentityCache() }.identity(of: identity)
    }

    /// A thread does a part of it, and has ended afterwards.
    private static let libraries: Void = {
        let helper = try? NamedThread.start("srtp") { SRTPSession.initializeLibrary() }
        // Without libnice the first agent says so.
        try? ICEAgent.loadLibrary()
        helper?.join()
    }()
}

/// libnice, which is loaded when a session needs it.
public enum LoadedICE {
    /// Why this machine cannot load it; nil if it can. Loads it.
    public static var failure: String? {
        do throws(ICEFailure) {
            try ICEAgent.loadLibrary()
            return nil
        } catch {
            return error.description
        }
    }

    public static var remedy: String { "install libnice10: apt-get install libnice10" }
}
