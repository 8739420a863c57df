import Admission
import EventLoop
import Identifiers
import LinuxRuntime
import PeerConnection
import Signaling

/// The orders to the viewers to go to the relay.
extension RelayHandover {
    /// After that, a session that is not connected counts as unreachable.
    private static let connectTime = Duration.seconds(4)

    func opened(_ session: SessionID, _ viewer: Viewer) {
        if let link = commonLink { return redirect(viewer, session, to: link) }
        Task { [weak self] in
            try? await Task.sleep(for: Self.connectTime)
            await self?.checkConnection(of: session, viewer)
        }
    }

    /// Sends a viewer to the relay if no media reaches it.
    private func checkConnection(of session: SessionID, _ viewer: Viewer) async {
        let isUnreachable = await core.ifRunning { [state] broadcast in
            // The end of the session is reported on this thread, too, so no entry outlives it.
            guard broadcast.unconnected.contains(session) else { return false }
            return state.with { $0.policy.noteUnreachable(session, viewer, now: MonotonicClock.now) }
        }
        guard isUnreachable == true else { return }
        guard let link = state.with({ $0.link }) else { return publish() }
        redirect(viewer, session, to: link)
        state.with { $0.policy.noteSent() }
    }

    /// Those of the unreachable viewers that have not been connected meanwhile.
    func unreachableViewers() async -> [SessionID: Viewer] {
        guard !state.with({ $0.policy.unreachableViewers.isEmpty }) else { return [:] }
        return await core.ifRunning { [state] broadcast in
            let unconnected = broadcast.unconnected
            return state.with { state in
                state.policy.keepUnreachable(unconnected)
                return state.policy.unreachableViewers
            }
        } ?? [:]
    }

    func redirectAll(to link: Link) async {
        await redirect((await core.ifRunning { $0.watchingViewers } ?? []).map(\.id), to: link)
    }

    func redirect(_ sessions: [SessionID], to link: Link) async {
        for session in sessions {
            guard let known = await core.ifRunning({ $0.viewer(of: session) }) ?? nil else { continue }
            redirect(known.0, session, to: link)
        }
    }

    /// A viewer that opens a stream of events may have missed its order, and an old one is not valid any more.
    func repeatOrders(to sessions: [SessionID]) async {
        if let link = commonLink { return await redirect(sessions, to: link) }
        guard let link = state.with({ $0.link }) else { return }
        let unreachable = await unreachableViewers()
        for session in sessions {
            if let viewer = unreachable[session] { redirect(viewer, session, to: link) }
        }
    }

    /// Sends a viewer to the relay. Players with the fixed token have no identity, and stay.
    func redirect(_ viewer: Viewer, _ session: SessionID, to link: Link) {
        guard let redirect = redirect(of: viewer, to: link) else { return }
        core.perform { $0.noteMoved(session, true) }
        signaling.send(redirect: redirect, to: session)
    }

    func redirect(of viewer: Viewer, to link: Link) -> SignedRedirect? {
        guard let identity = viewer.identity, let redirect = signer.redirect(of: viewer, to: link) else { return nil }
        signaling.knocks.noteRedirect(
            of: identity, records: viewer.records, isAdmittedByRule: viewer.isAdmittedByRule)
        return redirect
    }
}

extension Broadcast {
    /// The sessions of viewers to which no media flows yet.
    fileprivate var unconnected: Set<SessionID> {
        Set(watchingViewers.lazy.filter { $0.connectedFor == nil }.map(\.id))
    }
}
