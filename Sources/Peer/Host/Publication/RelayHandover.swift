import Admission
import EventLoop
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import MediaEngine
import PeerConnection
import Signaling
import Synchronization

/// Serves the first viewers of a tunnelled broadcast directly. When there are more, publishes it to the relay, once,
/// and sends all viewers there (`--route auto`). It stays at the relay until that fails, or few viewers are left.
/// Without that, a viewer that no media reaches is sent there alone. With `--route relay`, publishes at once, and sends
/// every viewer there. Safe from any thread.
///
/// Carries out what `RelayHandoverState` decides. Passes the reports of the broadcast to the signalling of its own
/// viewers, and to the publication.
package final class RelayHandover: BroadcastDelegate, Sendable {
    private let core: LoopBound<Broadcast>
    /// Of what the relay gets; nil: it can watch.
    private let encryption: BroadcastEncryption?
    /// Where viewers reach this host; another pairing with the same relay after that has started anew.
    private let home: Mutex<PairedService>
    private let openTunnel: @Sendable (PairedService) async -> Bool
    private let signer: RedirectSigner
    private let signaling: BroadcastSignaling
    private let moved: @Sendable (PairedService) -> Void
    private let emit: @Sendable (BroadcastEvent) -> Void
    /// Passes on how many watch at the relay, not as often as the relay may tell.
    private let audience: Throttle<RelayViewerCount>
    private let viewerFlows: @Sendable (Broadcast) -> [SharedBottleneckDetector.Flow]
    private let logic: StateMachineRunner<RelayHandoverState>
    private let publication: Monitor<ServicePublication?>
    /// The viewers at the relay.
    let members: RelayMembers
    private let messages: SealedMessageQueue

    /// Between two reports of how many watch at the relay.
    private static let audienceInterval = MediaDuration.milliseconds(250)

    /// - Parameters:
    ///   - openTunnel: lets newcomers reach this host at another relay, to which the publication is about to go.
    ///   - moved: called when the publication goes on at another relay.
    ///   - emit: called with the events of the publication.
    ///   - noteRelayViewers: called with the number of viewers at the relay.
    ///   - viewerFlows: by which it decides whether the host's line is the limit, on the network loop.
    init(
        _ core: LoopBound<Broadcast>, of broadcast: BroadcastID, to relay: PairedService, identity: Identity,
        encryption: BroadcastEncryption?, policy: HandoverPolicy,
        viewerFlows: @escaping @Sendable (Broadcast) -> [SharedBottleneckDetector.Flow],
        signaling: BroadcastSignaling,
        openTunnel: @escaping @Sendable (PairedService) async -> Bool,
        moved: @escaping @Sendable (PairedService) -> Void,
        emit: @escaping @Sendable (BroadcastEvent) -> Void,
        noteRelayViewers: @escaping @Sendable (RelayViewerCount) -> Void
    ) {
        audience = Throttle(noteRelayViewers)
        // Orders are signed, which is not done on the network loop.
        logic = StateMachineRunner(
            RelayHandoverState(relay: relay.link, name: relay.name, isSealed: encryption != nil, policy: policy),
            on: core.loop, usesTask: true)
        (self.core, self.encryption) = (core, encryption)
        let publication = Monitor<ServicePublication?>(nil)
        self.publication = publication
        members = RelayMembers(core, encryption, onPresence: { [signaling] in signaling.noteMember($0, $1) }) { keys in
            await publication.with { $0 }?.send(.keys(keys))
        }
        messages = SealedMessageQueue { await publication.with { $0 }?.send(.sealed($0)) }
        self.viewerFlows = viewerFlows
        signer = RedirectSigner(of: broadcast, identity: identity, now: .now)
        home = Mutex(relay.ofHandover(isEncrypted: encryption != nil))
        self.signaling = signaling
        (self.openTunnel, self.moved) = (openTunnel, moved)
        self.emit = emit
    }

    func start() {
        core.perform { [weak self] in $0.delegate = self }
        handle(.start)
    }

    /// To be called when the tunnel is open.
    func noteTunnel() { handle(.tunnelOpened) }

    var isSealed: Bool { encryption != nil }

    /// The relay of the tunnel.
    var relay: PairedService { home.withLock { $0 } }

    /// There is another pairing with the relay of the tunnel.
    /// - Returns: false if the publication is at another relay.
    func use(_ paired: PairedService) -> Bool {
        home.withLock { $0 = paired.ofHandover(isEncrypted: isSealed) }
        return logic.read { $0.isAtHome }
    }

    /// Where all viewers are sent; nil: the host serves them.
    var commonLink: Link? { logic.read { $0.commonLink } }

    /// Ends the publication. May be called more than once.
    func stop(_ reason: EndReason) async {
        handle(.stop)
        logic.close()
        members.close()
        await publication.with { $0 }?.close(reason)
    }

    private func handle(_ input: RelayHandoverState.Input) {
        logic.handle(input, of: self) { $0.carryOut($1) }
    }

    private func carryOut(_ action: RelayHandoverState.Action) {
        switch action {
        case .publish(let number): publish(number)
        case .close(let reason):
            let publication = publication.with { $0 }
            Task { await publication?.close(reason) }
        case .look(let purpose):
            // The end of a session is reported on this thread, too, so no viewer is taken for one that is here.
            core.perform { [weak self] in self?.handle(.seen(.init($0), for: purpose)) }
        case .measureFlows: core.perform { [weak self, viewerFlows] in self?.handle(.flows(viewerFlows($0))) }
        case .returnViewers(let number):
            let publication = publication.with { $0 }
            Task { handle(.returning(await publication?.send(.returnViewers) ?? false, of: number)) }
        case .redirect(let session, let viewer, let link): redirect(viewer, session, to: link)
        case .callBack:
            core.perform { [signaling] broadcast in
                for viewer in broadcast.watching {
                    broadcast.noteMoved(viewer.id, false)
                    signaling.send(redirect: nil, to: viewer.id)
                }
            }
        case .admit(let isOpen): signaling.gate?.set(isOpen: isOpen)
        case .moveHome: moved(relay)
        case .report(let event): emit(event)
        case .tellAudience(let count): audience.pass(count, interval: Self.audienceInterval)
        case .clearAudience: audience.pass(RelayViewerCount(), interval: .zero)
        }
    }

    // MARK: The publication

    private func publish(_ number: Int) {
        members.beginAnew()
        var endpoint = relay
        endpoint.isOfTunnel = true
        let publication = ServicePublication(
            core: core, service: endpoint, paired: relay, admission: signaling.knocks, isOnly: false,
            isSealed: encryption != nil,
            onEvent: emit, report: { [weak self] in self?.take($0) }, openTunnel: openTunnel,
            moved: { [weak self] paired in
                self?.handle(.moved(to: paired.link))
                self?.moved(paired)
            })
        let isWanted = self.publication.with { current in
            let isWanted = logic.read { !$0.isOver }
            if isWanted { current = publication }
            return isWanted
        }
        guard isWanted else { return }
        Task {
            let reason = await publication.run()
            self.publication.with { $0 = nil }
            handle(.publicationEnded(reason, of: number))
        }
    }

    private func take(_ event: ServiceEvent) {
        switch event {
        case .broadcastURL(let text): if let link = try? Link(parsing: text) { handle(.published(link)) }
        case .serviceInfo(let info): if let count = info.viewers { handle(.relayViewers(count)) }
        case .viewerJoined(let fingerprint): members.noteArrival(of: fingerprint)
        case .viewerLeft(let fingerprint): members.noteLeft(fingerprint)
        default: break
        }
    }

    /// Ends the sessions of a viewer at the relay, and changes the keys that it has.
    func remove(_ viewer: Viewer) async {
        members.noteRemoved(viewer.fingerprint)
        await current?.send(.removal(viewer.fingerprint))
    }

    // MARK: What viewers write and may do

    func tellMembers(_ event: String, isDroppable: Bool) {
        guard let encryption, publication.with({ $0 != nil }),
            let frame = encryption.seal(message: event, now: MonotonicClock.now)
        else { return }
        messages.add(frame: Base64URL.encode(frame), isDroppable: isDroppable)
    }

    /// - Returns: false if no viewer at the relay has this number.
    func tell(_ events: String, toMember id: SessionID) -> Bool {
        guard let viewer = members.viewer(id) else { return false }
        if let box = signaling.box(events, for: viewer) { messages.add(box: box, for: viewer.fingerprint) }
        return true
    }

    // MARK: The orders to the viewers

    /// Sends a viewer to the relay. Players with the fixed token have no identity, and stay.
    private func redirect(_ viewer: Viewer, _ session: SessionID, to link: Link) {
        guard let redirect = redirect(of: viewer, to: link) else { return }
        core.perform { $0.noteMoved(session, true) }
        signaling.send(redirect: redirect, to: session)
    }

    /// The order to a viewer that is being admitted, if all watch at the relay.
    func redirect(of viewer: Viewer) -> SignedRedirect? { commonLink.flatMap { redirect(of: viewer, to: $0) } }

    private func redirect(of viewer: Viewer, to link: Link) -> SignedRedirect? {
        guard let identity = viewer.identity, var redirect = signer.redirect(of: viewer, to: link, now: .now)
        else { return nil }
        guard members.add(viewer) else { return nil }
        // Those of its admission may be too old by now.
        if let encryption { redirect.keys = viewer.keyWrap?.text(encryption.keys) }
        redirect.only = signaling.gate == nil ? nil : true
        signaling.knocks.noteRedirect(
            of: identity, records: viewer.records, isAdmittedByRule: viewer.isAdmittedByRule)
        return redirect
    }

    // MARK: The broadcast's reports

    private var current: ServicePublication? { publication.with { $0 } }

    package func handle(_ report: BroadcastReport) {
        switch report {
        case .event(let event) where event.peer?.isPublication == true: current?.handle(report)
        // It has keys, and does not watch at this host any more; at the relay it may.
        case .left: members.noteLeftHost()
        case .eventStreamOpened(let sessions): handle(.streamOpened(sessions))
        case .opened(let session, let viewer):
            handle(RelayHandoverState.Input.opened(session, viewer))
            signaling.handle(report)
        case .ended(let session, let audience):
            handle(.ended(session, viewers: audience.viewers))
            signaling.handle(report)
            current?.handle(report)
        default:
            signaling.handle(report)
            switch report {
            case .event(.viewerJoined(_, let viewers)): handle(.joined(viewers: viewers))
            case .event(.holdChanged): current?.noteHold()
            case .candidates: current?.handle(report)
            default: break
            }
        }
    }
}

extension PairedService {
    /// The relay asks about viewers, and the tunnel is what is listed.
    fileprivate func ofHandover(isEncrypted: Bool) -> PairedService {
        var relay = self
        (relay.decidesOnViewers, relay.title, relay.isEncrypted) = (true, nil, isEncrypted)
        return relay
    }
}

extension RelayHandoverState.Snapshot {
    fileprivate init(_ broadcast: Broadcast) {
        count = broadcast.audience.viewers
        for session in broadcast.watching {
            viewers[session.id] = session.viewer
            if !session.isConnected { unconnected.insert(session.id) }
        }
    }
}

extension BroadcastEvent {
    /// The peer of whose session it tells; nil for all other events.
    fileprivate var peer: ViewerDescription? {
        switch self {
        case .viewerJoined(let peer, _), .connected(let peer, _), .interrupted(let peer), .resumed(let peer, _, _),
            .viewerLeft(let peer, _, _):
            peer
        default: nil
        }
    }
}
