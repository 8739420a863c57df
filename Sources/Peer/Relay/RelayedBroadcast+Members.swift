import Admission
import EventLoop
import Host
import LinuxRuntime
import Signaling
import Synchronization

/// The viewers whom the publisher has sent to this relay with keys of its own.
extension RelayedBroadcast {
    /// Passes keys on that the publisher has encrypted for viewers.
    func pass(_ keys: [MemberKeys]) { state.withLock { $0.served }?.handle.pass(keys) }

    /// Ends the sessions of a viewer, whom the publisher has removed.
    /// - Parameter fingerprint: SHA-256 of the viewer's certificate.
    /// - Returns: false if there is none.
    func remove(viewer fingerprint: [UInt8]) async -> Bool {
        guard let served = state.withLock({ $0.served }) else { return false }
        let viewer = await served.core.ifRunning { broadcast in
            let found = broadcast.watching.first { $0.viewer.fingerprint == fingerprint }?.viewer
            if let found { _ = broadcast.markRemoved(found) }
            return found
        }
        guard let viewer = viewer ?? nil else { return false }
        await served.signaling.remove(viewer)
        await served.core.ifRunning { $0.removeSessions(of: viewer) }
        return true
    }
}
