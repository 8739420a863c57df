import EventLoop
import Identifiers
import LinuxRuntime
import Signaling

/// A tunnelled host that publishes to the relay, too, when it has many viewers.
extension HostSession {
    func startHandover(to relay: PairedService, of broadcast: BroadcastID) {
        let settings = configuration.handover
        guard settings.publishes else { return }
        let (core, signaling) = (core, signaling)
        let handover = RelayHandover(
            core, of: broadcast, to: relay, identity: identity, encryption: state.with { $0.encryption },
            policy: settings.policy, viewerFlows: settings.viewerFlows, signaling: signaling,
            openTunnel: { [weak state] in await state?.with { $0.tunnel }?.open(at: $0) ?? false },
            moved: { [weak self] paired in
                self?.keepServersValid(of: paired, isAnother: true)
                self?.state.with({ $0.tunnel })?.noteMoved(to: paired)
            },
            emit: { [emit, servers] event in
                emit(event)
                servers.check(after: event)
            },
            noteRelayViewers: { [emit, weak state] elsewhere in
                signaling.viewersElsewhere.with { $0 = elsewhere }
                Task {
                    guard var audience = await core.ifRunning({ $0.audience }) else { return }
                    signaling.handle(.audience(audience))
                    audience.add(elsewhere)
                    emit(.viewerCount(audience.viewers))
                    await state?.with { $0.tunnel }?.note(viewers: audience.viewers)
                }
            })
        if state.with({ $0.move(by: handover) }) { handover.start() }
    }
}
