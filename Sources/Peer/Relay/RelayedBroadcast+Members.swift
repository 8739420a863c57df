import Admission
import EventLoop
import Host
import LinuxRuntime
import MediaCore
import Signaling
import Synchronization

/// The viewers whom the publisher has sent to this relay with keys of its own.
extension RelayedBroadcast {
    /// Passes keys on that the publisher has encrypted for viewers.
    func pass(_ keys: [MemberKeys]) { state.withLock { $0.served }?.handle.pass(keys) }

    /// Passes on what the publisher has encrypted for all viewers, or for one of them.
    func pass(_ messages: SealedMessages) {
        guard let served = state.withLock({ $0.served }) else { return }
        served.handle.pass(frames: messages.frames, droppable: messages.droppable)
        guard !messages.boxes.isEmpty else { return }
        // The publisher may know of a viewer before the server has answered its offer: the broadcast has its session
        // then.
        served.core.perform { broadcast in
            for session in broadcast.watching {
                if let box = messages.boxes[session.viewer.fingerprint] {
                    served.handle.send(.sealedRights(.box(box)), to: [session.id])
                }
            }
        }
    }

    /// Calls back with the viewers here, as SHA-256 of their certificates: on the network loop, so that what
    /// `RelayStreams` is told of them before and afterwards keeps its order.
    func withViewers(_ body: @escaping @Sendable ([[UInt8]]) -> Void) {
        guard let served = state.withLock({ $0.served }) else { return body([]) }
        served.core.perform { body(Array(Set($0.watching.map(\.viewer.fingerprint)))) }
    }

    /// There may be thousands, so they are named once a second.
    func mayNameViewers(now: MediaInstant) -> Bool {
        state.withLock { state in
            guard state.nextNaming.map({ now >= $0 }) ?? true else { return false }
            state.nextNaming = now + .seconds(1)
            return true
        }
    }

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
