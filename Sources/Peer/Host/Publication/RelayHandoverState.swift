import Admission
import Identifiers
import MediaCore
import MediaEngine
import PeerConnection
import PeerEngine
import Signaling

/// Decides when a tunnelled broadcast is published to its relay, which viewers are sent there, and when they come back
/// (``HandoverPolicy``). A value without a clock.
///
/// If the relay alone sends to viewers, it publishes from the start on, again after each end, and nobody comes back.
struct RelayHandoverState: StateMachine {
    /// After a publication that failed; twice as long after each other one, up to 160 s.
    static let retryInterval = MediaDuration.seconds(10)
    /// The same if the relay alone sends, so that nobody can watch until then: up to 32 s.
    static let soleRetryInterval = MediaDuration.seconds(2)
    private static let doublingLimit = 4
    /// How long viewers may take to come back before the publication ends.
    static let returnTime = MediaDuration.seconds(12)
    /// Between two links to which viewers are sent.
    static let linkInterval = MediaDuration.seconds(5)
    /// After that, a session that is not connected counts as unreachable.
    static let connectTime = MediaDuration.seconds(4)
    private static let tickInterval = MediaDuration.seconds(1)

    /// The relay of the tunnel.
    private let relay: ServiceLink
    private let name: String
    /// What the relay gets is encrypted for the viewers.
    private let isSealed: Bool
    private(set) var phase = Phase.idle(until: nil)
    /// Of the newest publication.
    private var number = 0
    /// Publications in a row that no viewer could use, and why the last one failed.
    private var failures = 0
    private var failure = ""
    private var policy: HandoverPolicy
    private var bottleneck = SharedBottleneckDetector()
    /// How many the host serves itself.
    private var direct = 0
    /// How many watch at the relay.
    private var elsewhere = 0
    private var tick: MediaInstant?
    /// The sessions whose connection is checked, in the order of their times. Bounded by the sessions.
    private var checks: [(due: MediaInstant, session: SessionID, viewer: Viewer)] = []
    /// When viewers are sent to the newest link; nil: they have been.
    private var sending: MediaInstant?
    /// Before that, no viewers are sent to another link.
    private var nextSending: MediaInstant?

    init(relay: ServiceLink, name: String, isSealed: Bool = true, policy: HandoverPolicy) {
        (self.relay, self.name, self.isSealed, self.policy) = (relay, name, isSealed, policy)
    }

    /// Where viewers are sent who are to watch at the relay; nil: nowhere.
    private var link: Link? { if case .publishing(_, let link) = phase { link } else { nil } }

    /// Where all viewers are sent; nil: the host serves them.
    var commonLink: Link? { policy.movesAll ? link : nil }

    var isOver: Bool { if case .over = phase { true } else { false } }

    private var isReturning: Bool { if case .returning = phase { true } else { false } }

    var deadline: MediaInstant? {
        let ofPhase: MediaInstant? =
            switch phase {
            case .over: nil
            case .idle(let end), .returning(_, let end): end
            case .publishing: sending
            }
        return isOver ? nil : [tick, ofPhase, checks.first?.due].compactMap(\.self).min()
    }

    // MARK: Inputs

    mutating func handle(
        _ input: Input, now: MediaInstant, using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        if isOver { return [] }
        switch input {
        case .start: tick = now + Self.tickInterval
        case .tunnelOpened: return policy.isRelayOnly ? publish() : []
        case .joined(let viewers): return joined(viewers, now)
        case .ended(let session, let viewers):
            policy.ended(session)
            direct = viewers
            checks.removeAll { $0.session == session }
        case .opened(let session, let viewer):
            if let link = commonLink { return [.redirect(session, viewer, to: link)] }
            checks.append((now + Self.connectTime, session, viewer))
        case .streamOpened(let sessions):
            // Its order may have been missed, and an old one is not valid any more.
            let mayBeSent = commonLink != nil || link != nil && !policy.unreachableViewers.isEmpty
            return mayBeSent ? [.look(for: .streams(sessions))] : []
        case .seen(let snapshot, let purpose): return see(snapshot, purpose, now)
        case .flows(let flows): return checkLine(flows, now)
        case .moved(let place): move(to: place)
        case .published(let link): return published(link, now)
        case .relayViewers(let count): return noteViewers(count)
        case .returning(let isPossible, number):
            guard case .returning(let place, nil) = phase else { return [] }
            guard isPossible, elsewhere > 0 else { return [.close(Self.fewViewers)] }
            phase = .returning(at: place, end: now + Self.returnTime)
        case .publicationEnded(let reason, number): return publicationEnded(reason, now)
        // Of a former publication.
        case .returning, .publicationEnded: return []
        case .stop: phase = .over
        }
        return []
    }

    mutating func advance(now: MediaInstant, using generator: inout some RandomNumberGenerator) -> [Action] {
        if isOver { return [] }
        var actions: [Action] = []
        if let tick, now >= tick {
            self.tick = now + Self.tickInterval
            actions += look()
        }
        while let check = checks.first, now >= check.due {
            checks.removeFirst()
            actions.append(.look(for: .connection(check.session, check.viewer)))
        }
        switch phase {
        case .idle(let end?) where now >= end:
            phase = .idle(until: nil)
            // Whoever has come meanwhile has caused no publication.
            policy.publicationEnded()
            actions.append(.look(for: .retry))
        case .returning(let place, let end?) where now >= end:
            phase = .returning(at: place, end: nil)
            actions.append(.close(Self.fewViewers))
        case .publishing:
            if let sending, now >= sending {
                (self.sending, nextSending) = (nil, now + Self.linkInterval)
                actions.append(.look(for: .send))
            }
        default: break
        }
        return actions
    }

    private static let fewViewers = EndReason(.stopped, "few viewers are left")

    // MARK: Who goes

    private mutating func joined(_ viewers: Int, _ now: MediaInstant) -> [Action] {
        direct = viewers
        return policy.joined(viewers: viewers, now: now) ? moveAll() : []
    }

    private mutating func moveAll() -> [Action] { publish() + (link == nil ? [] : [.look(for: .send)]) }

    /// Publishes to the relay, unless that runs, or failed a moment ago.
    private mutating func publish() -> [Action] {
        guard case .idle(nil) = phase else { return [] }
        phase = .publishing(at: relay, link: nil)
        number += 1
        return [.publish(number)]
    }

    private var isLineOpen: Bool { direct > 1 && !policy.movesAll && !isReturning }

    /// Each second.
    private mutating func look() -> [Action] {
        var actions: [Action] = link == nil ? [] : [.look(for: .calm)]
        if isLineOpen {
            actions.append(.measureFlows)
        } else {
            // An earlier finding says nothing about the viewers that come later.
            bottleneck = .init()
        }
        return actions
    }

    /// Goes to the relay if the host's own line limits its viewers.
    private mutating func checkLine(_ flows: [SharedBottleneckDetector.Flow], _ now: MediaInstant) -> [Action] {
        guard isLineOpen, bottleneck.update(flows, now: now), policy.noteLineLimit(viewers: direct, now: now) else {
            return []
        }
        return [.report(.notice(.relay(.lineLimit(viewers: direct))))] + moveAll()
    }

    private mutating func see(_ snapshot: Snapshot, _ purpose: Purpose, _ now: MediaInstant) -> [Action] {
        policy.keepUnreachable(snapshot.unconnected)
        switch purpose {
        case .send:
            guard let link else { return [] }
            if policy.movesAll { return snapshot.viewers.map { .redirect($0.key, $0.value, to: link) } }
            defer { policy.noteSent() }
            return policy.unreachableViewers.map { .redirect($0.key, $0.value, to: link) }
        case .streams(let sessions):
            guard let link else { return [] }
            let sent = policy.movesAll ? snapshot.viewers : policy.unreachableViewers
            return sessions.compactMap { id in sent[id].map { .redirect(id, $0, to: link) } }
        case .connection(let session, let viewer):
            // A session whose end was reported has left the snapshot, so no entry outlives it.
            guard snapshot.unconnected.contains(session), policy.noteUnreachable(session, viewer, now: now) else {
                return []
            }
            guard let link else { return publish() }
            policy.noteSent()
            return [.redirect(session, viewer, to: link)]
        case .calm:
            guard case .publishing(let place, _?) = phase,
                policy.update(direct: snapshot.count, elsewhere: elsewhere, now: now)
            else { return [] }
            // Nobody is sent there any more, also none of those who come back.
            phase = .returning(at: place, end: nil)
            policy.publicationEnded()
            return [.returnViewers(number)]
        case .retry:
            let actions = joined(snapshot.count, now)
            return actions + (policy.unreachableViewers.isEmpty && !policy.isRelayOnly ? [] : publish())
        }
    }

    // MARK: The publication

    private mutating func move(to place: ServiceLink) {
        switch phase {
        case .publishing(_, let link): phase = .publishing(at: place, link: link)
        case .returning(_, let end): phase = .returning(at: place, end: end)
        case .idle, .over: break
        }
    }

    /// Only a link to this relay is believed.
    private mutating func published(_ link: Link, _ now: MediaInstant) -> [Action] {
        guard case .publishing(let place, let former) = phase, link.relay == nil,
            link.fingerprint == place.fingerprint, link != former
        else { return [] }
        phase = .publishing(at: place, link: link)
        let isFirst: [Action] =
            former == nil ? [.report(.routeChanged(isOverRelay: true, relay: name, isSealed: isSealed))] : []
        // The host has no viewers who could be sent there.
        if policy.isRelayOnly { return isFirst + (former == nil ? [.admit(true)] : []) }
        if let nextSending, now < nextSending {
            sending = nextSending
            return isFirst
        }
        nextSending = now + Self.linkInterval
        return isFirst + [.look(for: .send)]
    }

    private mutating func noteViewers(_ count: Int) -> [Action] {
        switch phase {
        case .idle, .over: return []
        case .publishing, .returning: break
        }
        elsewhere = max(0, count)
        var told = RelayViewerCount()
        (told.count, told.isForAll) = (elsewhere, policy.movesAll)
        guard case .returning(let place, _?) = phase, elsewhere == 0 else { return [.tellAudience(told)] }
        phase = .returning(at: place, end: nil)
        return [.tellAudience(told), .close(Self.fewViewers)]
    }

    private mutating func publicationEnded(_ reason: EndReason, _ now: MediaInstant) -> [Action] {
        let (place, wasUsed) = (place, link != nil || isReturning)
        guard let place else { return [] }
        let isNews = !isReturning && (wasUsed || failure != reason.sentence)
        failures = wasUsed ? 0 : failures + 1
        failure = reason.sentence
        let doublings = min(max(failures - 1, 0), Self.doublingLimit)
        let interval = policy.isRelayOnly ? Self.soleRetryInterval : Self.retryInterval
        phase = .idle(until: now + interval * Int64(1 << doublings))
        (elsewhere, sending) = (0, nil)
        policy.publicationEnded()
        var actions: [Action] = place.isSameService(as: relay) ? [] : [.moveHome]
        actions.append(.clearAudience)
        if isNews { actions.append(.report(.notice(.relay(.handoverFailed(relay: name, reason))))) }
        if policy.isRelayOnly {
            actions.append(.admit(false))
        } else if wasUsed {
            actions += [.report(.routeChanged(isOverRelay: false, relay: name, isSealed: isSealed)), .callBack]
        }
        return actions
    }

    /// Whether it is published nowhere but at the relay of the tunnel.
    var isAtHome: Bool { place?.isSameService(as: relay) ?? true }

    private var place: ServiceLink? {
        switch phase {
        case .publishing(let place, _), .returning(let place, _): place
        case .idle, .over: nil
        }
    }
}
