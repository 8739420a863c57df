import Admission
import Identifiers
package import MediaCore
import PeerConnection
import Signaling

/// The policy of a relay for its streams; `RelaySession.Configuration` has one, and ``StreamTable`` applies it.
package struct StreamPolicy: Sendable {
    /// The time for which a broadcast that nobody watches is kept, and the time at a relay that drains.
    package var idleTime = MediaDuration.seconds(30)
    package var drainingIdleTime = MediaDuration.seconds(1)
    /// The time that another relay of the cluster has to name its viewers again when its copy of an encrypted broadcast
    /// was withdrawn: longer than it looks for another source.
    package var viewerGraceTime = MediaDuration.seconds(20)
}

/// The streams of a relay: those that are published to it, and those that it gets from other relays of its cluster. The
/// first viewer has one fetched, by WHEP, and when nobody has watched for a while, it is given back. A value without
/// clock and I/O.
struct StreamTable<Media: Sendable>: Sendable {
    typealias Stream = RelayStream<Media>

    enum Event: Sendable {
        // Of a publisher's session.
        /// It publishes this broadcast, a new one with this media or one that is known.
        case opened(SessionID, Publisher, BroadcastID, Media)
        case connected(SessionID)
        case interrupted(SessionID)
        case resumed(SessionID)
        case closed(SessionID)

        // Of a session with another relay. Those of superseded attempts are ignored.
        /// Media comes.
        case received(BroadcastID, attempt: Int, UpstreamRelays)
        case changed(BroadcastID, attempt: Int, Stream.Interruptions, isInterrupted: Bool)
        case ended(BroadcastID, attempt: Int, EndReason, UpstreamRelays)

        // Of viewers.
        /// Somebody asks for a broadcast that is not here; the media is that of the stream that begins.
        case wanted(BroadcastID, UpstreamRelays, Media)
        /// Somebody knocks, and may wait for an answer.
        case knocked(BroadcastID)
        case viewers(BroadcastID, Int)

        // Of the cluster and the operator.
        /// Other relays have changed what they have of a broadcast, or it is time to look.
        case look(BroadcastID, UpstreamRelays)
        /// A relay is not heard any more, while others are.
        case lost(relay: String)
        case drain
        case stop
    }

    enum Action: Sendable {
        /// Tell viewers whether packets come.
        case setActive(Media, Bool)
        /// The publisher's media comes: announce the broadcast, and tell its publisher the link.
        case publish(BroadcastID, Media, SessionID, Publisher)
        /// Begin a session with another relay.
        case connect(BroadcastID, Media, Upstream.Attempt)
        /// End that session.
        case leave(attempt: Int, EndReason)
        /// Media comes from the other relay: announce the broadcast.
        case announce(BroadcastID, Media, UpstreamRelay, viewers: Int)
        case withdraw(BroadcastID)
        case reportLost(BroadcastID, from: String, EndReason)
        /// It does not come from another relay any more.
        case reportReleased(BroadcastID)
        /// Nobody gets the broadcast here any more.
        case close(BroadcastID, Media)
        /// Tell the publisher, or the other relays, how many watch.
        case countViewers(BroadcastID)
        /// `look` at this time, in the place of an earlier order.
        case look(BroadcastID, at: MediaInstant)
    }

    private(set) var streams: [BroadcastID: Stream] = [:]
    /// The broadcasts of the publishers' sessions.
    private(set) var sessions: [SessionID: BroadcastID] = [:]
    /// The broadcasts that could not be fetched, and until when they are not tried again.
    private var failures: [BroadcastID: MediaInstant] = [:]
    private var attempts = 0
    /// Neither publishers nor viewers are taken any more, and what nobody watches is given back at once.
    private(set) var isDraining = false
    private var isStopped = false
    /// Maximum number of streams from other relays.
    private let capacity: Int
    private let policy: StreamPolicy

    /// How long somebody who knocks may wait for an answer.
    static var knockTime: MediaDuration { .seconds(Int(Knock.answerTime.components.seconds)) }
    /// How often it is checked that the source still has a broadcast.
    static var checkInterval: MediaDuration { .seconds(2) }
    /// How long a broadcast that could not be fetched is not tried again.
    static var failurePause: MediaDuration { .seconds(4) }
    /// Their number at a time; beyond it the table begins anew.
    static var failureLimit: Int { 1_024 }

    init(capacity: Int, policy: StreamPolicy = StreamPolicy()) { (self.capacity, self.policy) = (capacity, policy) }

    subscript(id: BroadcastID) -> Stream? { streams[id] }

    /// The stream of a publisher's session.
    subscript(session: SessionID) -> Stream? { sessions[session].flatMap { streams[$0] } }

    /// Those that are published to this relay, in the order of their sessions.
    var published: [(session: SessionID, media: Media)] {
        sessions.sorted { $0.key.text < $1.key.text }.compactMap { session, id in
            streams[id].map { (session, $0.media) }
        }
    }

    /// Those that come from other relays, in the order of their identifiers.
    var fetched: [Stream] {
        streams.filter { $0.value.upstream != nil }.sorted { $0.key.text < $1.key.text }.map(\.value)
    }

    /// The broadcast that a publisher goes on with: that of the session that it replaces, or the one that it has
    /// published to another relay.
    /// - Parameter isOwner: the publisher is that of the broadcast which it names.
    func broadcast(continuedBy publisher: Publisher, isOwner: Bool) -> BroadcastID? {
        if let id = publisher.replaces.flatMap({ sessions[$0] }) { return id }
        // Only while it is not published to this relay.
        guard let id = publisher.resumes, isOwner, streams[id]?.session == nil else { return nil }
        return id
    }

    /// Whether a broadcast may be fetched that is not here.
    func canFetch(_ id: BroadcastID, now: MediaInstant) -> Bool { failures[id].map { now >= $0 } ?? true }

    /// Whether an attempt still has its stream.
    func isCurrent(_ id: BroadcastID, attempt: Int) -> Bool {
        streams[id].map { $0.state != .searching && $0.upstream?.attempt?.number == attempt } ?? false
    }

    mutating func handle(_ event: Event, now: MediaInstant) -> [Action] {
        switch event {
        case .opened(let session, let publisher, let id, let media): open(session, publisher, id, media)
        case .connected(let session): connect(session)
        case .interrupted(let session): sessions[session].map { change($0, .source, isInterrupted: true) } ?? []
        case .resumed(let session): sessions[session].map { change($0, .source, isInterrupted: false) } ?? []
        case .closed(let session): close(session)
        case .received(let id, let attempt, let relays): receive(id, attempt, relays, now)
        case .changed(let id, let attempt, let place, let isInterrupted):
            isCurrent(id, attempt: attempt) ? change(id, place, isInterrupted: isInterrupted) : []
        case .ended(let id, let attempt, let reason, let relays): end(id, attempt, reason, relays, now)
        case .wanted(let id, let relays, let media): fetch(id, relays, media, now)
        case .knocked(let id): noteKnock(id, now)
        case .viewers(let id, let viewers): note(viewers: viewers, of: id, now)
        case .look(let id, let relays): look(id, relays, now)
        case .lost(let relay): leave(relay)
        case .drain: drain(now)
        case .stop: stop(now)
        }
    }

    // MARK: Publishers

    private mutating func open(
        _ session: SessionID, _ publisher: Publisher, _ id: BroadcastID, _ media: Media
    ) -> [Action] {
        var stream = streams[id] ?? Stream(media: media, source: .publisher(session, publisher), state: .connecting)
        var actions: [Action] = []
        if let old = stream.session { sessions[old] = nil }
        if stream.upstream != nil {
            // Its viewers stay, and get it from the publisher.
            actions = leave(stream, id, EndReason(.stopped, "the publisher sends to this relay"))
            actions.append(.reportReleased(id))
        }
        (stream.source, stream.state) = (.publisher(session, publisher), .connecting)
        streams[id] = stream
        sessions[session] = id
        return actions
    }

    private mutating func connect(_ session: SessionID) -> [Action] {
        guard let id = sessions[session], var stream = streams[id], stream.state == .connecting,
            case .publisher(_, let publisher) = stream.source
        else { return [] }
        (stream.state, stream.interruptions) = (.live, [])
        streams[id] = stream
        return [.setActive(stream.media, true), .publish(id, stream.media, session, publisher), .countViewers(id)]
    }

    /// The session has closed the media already, unless another one has it.
    private mutating func close(_ session: SessionID) -> [Action] {
        guard let id = sessions.removeValue(forKey: session) else { return [] }
        streams[id] = nil
        return [.withdraw(id)]
    }

    private mutating func change(
        _ id: BroadcastID, _ place: Stream.Interruptions, isInterrupted: Bool
    ) -> [Action] {
        guard var stream = streams[id] else { return [] }
        if isInterrupted { stream.interruptions.insert(place) } else { stream.interruptions.remove(place) }
        streams[id] = stream
        return [.setActive(stream.media, stream.isActive)]
    }

    // MARK: Viewers

    private mutating func fetch(
        _ id: BroadcastID, _ relays: UpstreamRelays, _ media: Media, _ now: MediaInstant
    ) -> [Action] {
        guard streams[id] == nil, !isStopped, !isDraining, canFetch(id, now: now),
            streams.count < capacity || streams.values.count(where: { $0.upstream != nil }) < capacity
        else { return [] }
        streams[id] = Stream(media: media, source: .upstream(Upstream(now: now)), state: .searching)
        return look(id, relays, now)
    }

    private mutating func noteKnock(_ id: BroadcastID, _ now: MediaInstant) -> [Action] {
        if streams[id]?.viewers == 0 { setIdle(id, since: now + Self.knockTime) }
        return []
    }

    private mutating func note(viewers: Int, of id: BroadcastID, _ now: MediaInstant) -> [Action] {
        guard streams[id] != nil else { return [] }
        streams[id]?.viewers = viewers
        setIdle(id, since: viewers == 0 ? now : nil)
        return [.countViewers(id)]
    }

    private mutating func setIdle(_ id: BroadcastID, since instant: MediaInstant?) {
        guard var upstream = streams[id]?.upstream else { return }
        upstream.idleSince = instant
        streams[id]?.source = .upstream(upstream)
    }

    // MARK: Other relays

    /// Ends a stream that nobody watches, checks its source, or looks for one.
    private mutating func look(_ id: BroadcastID, _ relays: UpstreamRelays, _ now: MediaInstant) -> [Action] {
        guard var stream = streams[id], var upstream = stream.upstream else { return [] }
        let idleTime = isDraining ? policy.drainingIdleTime : policy.idleTime
        if let idleSince = upstream.idleSince, now - idleSince > idleTime {
            return end(id, EndReason(.stopped, "nobody watches"), now)
        }
        var actions: [Action] = []
        var next = now + Self.checkInterval
        switch stream.state {
        case .connecting: break
        case .live:
            if let attempt = upstream.attempt, relays.unable.contains(attempt.relay.node.name) {
                let text = "the relay \(attempt.relay.node.name) does not have the broadcast any more"
                actions.append(.leave(attempt: attempt.number, EndReason(.connectionLost, text)))
            }
        case .searching:
            switch upstream.choose(relays, now: now) {
            case .giveUp: return end(id, EndReason(.unreachable, "no relay has the broadcast"), now)
            case .wait: next = min(next, upstream.next)
            case .relay(let relay):
                attempts += 1
                let attempt = Upstream.Attempt(number: attempts, relay: relay, began: now)
                upstream.attempt = attempt
                stream.state = .connecting
                actions.append(.connect(id, stream.media, attempt))
            }
            stream.source = .upstream(upstream)
            streams[id] = stream
        }
        return actions + [.look(id, at: next)]
    }

    private mutating func receive(
        _ id: BroadcastID, _ attempt: Int, _ relays: UpstreamRelays, _ now: MediaInstant
    ) -> [Action] {
        guard isCurrent(id, attempt: attempt), var stream = streams[id], var upstream = stream.upstream,
            let relay = upstream.attempt?.relay
        else { return [] }
        upstream.noteMedia()
        (stream.source, stream.state) = (.upstream(upstream), .live)
        stream.interruptions.remove(.source)
        streams[id] = stream
        return [
            .announce(id, stream.media, relay, viewers: stream.viewers), .setActive(stream.media, stream.isActive),
        ] + look(id, relays, now)
    }

    private mutating func end(
        _ id: BroadcastID, _ attempt: Int, _ reason: EndReason, _ relays: UpstreamRelays, _ now: MediaInstant
    ) -> [Action] {
        guard isCurrent(id, attempt: attempt), var stream = streams[id], var upstream = stream.upstream,
            let name = upstream.attempt?.relay.node.name
        else { return [] }
        var actions: [Action] = []
        let wasLive = stream.state == .live
        // This relay's word about its publisher says nothing about the next one's.
        stream.interruptions.remove(.publisher)
        if wasLive {
            actions = [.withdraw(id), .reportLost(id, from: name, reason), .setActive(stream.media, false)]
            stream.interruptions = .source
        }
        upstream.noteEnd(wasLive: wasLive, now: now)
        (stream.source, stream.state) = (.upstream(upstream), .searching)
        streams[id] = stream
        // The publisher may have gone on at another relay.
        if reason.code == .hostEnded, !relays.isPublished(elsewhereThan: name) { return actions + end(id, reason, now) }
        // Another source is chosen after the withdrawal: two relays that had the same one would take each other.
        return actions + (wasLive ? [.look(id, at: now)] : look(id, relays, now))
    }

    /// Ends the sessions with a relay that is not heard any more, so that another one is asked. A session whose media
    /// comes goes on.
    private func leave(_ relay: String) -> [Action] {
        let reason = EndReason(.connectionLost, "the relay \(relay) is not heard any more")
        let numbers = streams.values.compactMap { stream -> Int? in
            guard let attempt = stream.upstream?.attempt, attempt.relay.node.name == relay,
                stream.state == .connecting || stream.state == .live && stream.interruptions.contains(.source)
            else { return nil }
            return attempt.number
        }
        return numbers.sorted().map { .leave(attempt: $0, reason) }
    }

    /// - Returns: what ends the session with another relay, if there is one.
    private func leave(_ stream: Stream, _ id: BroadcastID, _ reason: EndReason) -> [Action] {
        guard stream.state != .searching, let attempt = stream.upstream?.attempt else { return [] }
        let lost = Action.reportLost(id, from: attempt.relay.node.name, reason)
        return [.leave(attempt: attempt.number, reason)] + (stream.state == .live ? [lost] : [])
    }

    // MARK: The end

    /// Ends a stream that comes from another relay.
    private mutating func end(_ id: BroadcastID, _ reason: EndReason, _ now: MediaInstant) -> [Action] {
        guard let stream = streams[id], let upstream = stream.upstream else { return [] }
        streams[id] = nil
        if !upstream.hasCome {
            if failures.count >= Self.failureLimit { failures = [:] }
            failures[id] = now + Self.failurePause
        }
        return [.withdraw(id)] + leave(stream, id, reason) + [.close(id, stream.media)]
    }

    private mutating func drain(_ now: MediaInstant) -> [Action] {
        isDraining = true
        return streams.filter { $0.value.upstream != nil }.map { .look($0.key, at: now) }
    }

    private mutating func stop(_ now: MediaInstant) -> [Action] {
        isStopped = true
        return streams.filter { $0.value.upstream != nil }.flatMap {
            end($0.key, EndReason(.stopped, "the relay has stopped"), now)
        }
    }
}
