import EventLoop
public import Identifiers
import LinuxRuntime
public import MediaCore

/// Control of a running broadcast by its user. From any thread; after the end everything returns nil, false or nothing.
extension HostSession {
    // MARK: Holds

    @discardableResult
    public func set(_ hold: BroadcastHold, _ isOn: Bool) async -> Bool {
        await core.ifRunning { $0.set(hold, isOn) } ?? false
    }

    public func holds() async -> Set<BroadcastHold> { await core.ifRunning { $0.holds } ?? [] }

    // MARK: Audio

    /// The audio tracks, in their order.
    public var audioTracks: [AudioTrackState] { pipelines.audio.map(\.state) }

    /// Mutes the tracks of this kind, or ends that, without a negotiation. A muted track sends nothing, as in silence.
    /// - Returns: false if the broadcast has no such track.
    @discardableResult
    public func setAudioMuted(_ kind: MediaTrackKind, _ isMuted: Bool) -> Bool {
        let tracks = pipelines.setMuted(kind, isMuted)
        if tracks.isChanged { emit(.audioMuted(kind, isMuted: isMuted)) }
        return tracks.isKnown
    }

    // MARK: Viewers

    /// The sessions of all viewers, in the order in which they were opened. Those whom this host has sent to its relay
    /// are among them, as far as the relay tells.
    public func viewers() async -> [ViewerSessionInfo] {
        let own = await core.ifRunning { $0.watchingViewers } ?? []
        return (own + (handover?.members.sessions ?? [])).sorted { $0.number < $1.number }.map { viewer in
            var viewer = viewer
            viewer.rights = signaling.messages?.rights(of: viewer.id)
            return viewer
        }
    }

    public func say(_ text: String) async -> Bool {
        await core.ifRunning({ _ in true }) == true && signaling.messages?.say(text) == true
    }

    public var possibleRights: Set<ViewerRight> {
        guard let policy = signaling.messages?.policy else { return [] }
        return Set(ViewerRight.allCases.filter { policy.takes($0) })
    }

    public func set(_ right: ViewerRight, to state: RightState, of viewer: SessionID) async -> Bool? {
        signaling.messages?.set(right, to: state, of: viewer)
    }

    public func takeControlBack() async -> Bool { signaling.messages?.takeControlBack() ?? false }

    public func holdControl(_ isHeld: Bool) { signaling.messages?.holdControl(isHeld) }

    /// Nil after the end, too.
    private var handover: RelayHandover? { state.with { $0.isStopped ? nil : $0.handover } }

    /// Removes the viewer of this session: tells it so, ends all of its sessions and withdraws its tokens. It may knock
    /// again; the knock then says that it was removed (`Knock.wasRemoved`). A player with the fixed token cannot join
    /// again with the same certificate.
    /// - Returns: how many sessions ended; nil if there is no such session.
    @discardableResult
    public func remove(viewer id: SessionID) async -> Int? {
        guard let (viewer, description) = await core.ifRunning({ $0.viewer(of: id) }) ?? nil else {
            return await removeMember(id)
        }
        let sessions = await core.ifRunning { $0.markRemoved(viewer) } ?? 0
        await signaling.remove(viewer)
        await core.ifRunning { $0.removeSessions(of: viewer) }
        emit(.viewerRemoved(description, sessions: sessions))
        // It may watch at the relay, too, and has keys in any case.
        if !description.isPublication { await handover?.remove(viewer) }
        return sessions
    }

    /// Removes a viewer who watches at the relay.
    private func removeMember(_ id: SessionID) async -> Int? {
        guard let handover, let viewer = handover.members.viewer(id) else { return nil }
        await signaling.remove(viewer)
        await handover.remove(viewer)
        emit(.viewerRemoved(ViewerDescription(viewer), sessions: 1))
        return 1
    }
}
