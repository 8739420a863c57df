import Admission
import Identifiers
import MediaCore
import PeerConnection
import TestSupport

@testable import Relay
@testable import Signaling

/// A relay's streams with publishers, viewers and other relays around them, in virtual time. Whatever is decided is
/// carried out at once, and checked.
struct StreamWorld {
    typealias Table = StreamTable<Int>

    struct Violation: Error { let text: String }

    /// Kinds of actions that the table might forget.
    enum Flaw: CaseIterable { case leave, announce, withdraw, setActive, reportLost, close, look }

    /// What another relay has of a broadcast.
    struct Elsewhere {
        var isPublished: Bool
        /// It gets it from this relay.
        var isCopy = false
    }

    struct Session {
        let id: BroadcastID
        let media: Int
        var isLeft = false
    }

    static let relays = ["b", "c", "d"]
    static let ids = (1...4).map { BroadcastID(UInt64($0)) }
    static let capacity = 3

    var table = Table(capacity: Self.capacity)
    var now = MediaInstant(nanoseconds: 0)
    var random: SeededGenerator
    var elsewhere: [BroadcastID: [String: Elsewhere]] = [:]
    /// Those with other relays; a session that was left ends a little later.
    var attempts: [Int: Session] = [:]
    var publishers: [SessionID: BroadcastID] = [:]
    var timers: [BroadcastID: MediaInstant] = [:]
    var announced: Set<BroadcastID> = []
    /// What viewers were told last.
    var active: [Int: Bool] = [:]
    var closed: Set<Int> = []
    /// The broadcasts that were reported as fetched and not as lost.
    var fetched: Set<BroadcastID> = []
    var released: [BroadcastID] = []
    var media = 0

    let flaw: Flaw?

    init(seed: UInt64, flaw: Flaw? = nil) {
        random = SeededGenerator(seed: seed)
        self.flaw = flaw
    }

    static func node(_ name: String) -> ClusterNode {
        ClusterNode(
            name: name, host: "\(name).example", port: 443,
            fingerprint: [UInt8](repeating: name.utf8.first ?? 0, count: 32), isWebPKI: false, region: nil)
    }

    func relays(of id: BroadcastID) -> UpstreamRelays {
        var result = UpstreamRelays()
        for (name, has) in (elsewhere[id] ?? [:]).sorted(by: { $0.key < $1.key }) where !has.isCopy {
            let link = Link(
                host: "\(name).example", port: 443, id: id, secret: [UInt8](repeating: 1, count: 16),
                fingerprint: [UInt8](repeating: 2, count: 32))
            let broadcast = ClusterBroadcast(
                link: link, path: has.isPublished ? [name] : ["x", name], name: "", publisherDecides: false)
            result.sources.append(UpstreamRelay(node: Self.node(name), broadcast: broadcast))
        }
        result.sources.sort { $0.broadcast.path.count < $1.broadcast.path.count }
        result.unable = Set(Self.relays.filter { elsewhere[id]?[$0].map(\.isCopy) ?? true })
        return result
    }

    static func publisher(resumes: BroadcastID? = nil, replaces: SessionID? = nil) -> Publisher {
        var result = Publisher(
            pairing: nil, application: nil, setup: [:], kind: "", address: "", fingerprint: [], resumes: resumes)
        result.replaces = replaces
        return result
    }

    // MARK: Events

    mutating func handle(_ event: Table.Event) throws(Violation) {
        let before = table.fetched.map(\.media)
        for action in table.handle(event, now: now) where !isForgotten(action) { try perform(action) }
        let left = Set(table.streams.values.map(\.media))
        if let media = before.first(where: { !left.contains($0) && !closed.contains($0) }) {
            throw Violation(text: "nobody closes \(media)")
        }
        try check()
    }

    private func isForgotten(_ action: Table.Action) -> Bool {
        switch (action, flaw) {
        case (.leave, .leave), (.announce, .announce), (.withdraw, .withdraw), (.setActive, .setActive),
            (.reportLost, .reportLost), (.close, .close), (.look, .look):
            true
        default: false
        }
    }

    /// - Returns: the media that the publisher's session feeds.
    @discardableResult
    mutating func open(_ publisher: Publisher, as session: SessionID) throws(Violation) -> Int {
        let known = table.broadcast(continuedBy: publisher, isOwner: true)
        let id = known ?? publisher.resumes.flatMap { table[$0] == nil ? $0 : nil } ?? BroadcastID(random.next())
        let old = table[id]
        media += 1
        if let replaced = publisher.replaces { publishers[replaced] = nil }
        publishers[session] = id
        try handle(.opened(session, publisher, id, media))
        guard let stream = table[session], stream.session == session, old == nil || stream.media == old?.media,
            stream.viewers == old?.viewers ?? 0
        else { throw Violation(text: "\(session) has another stream than it goes on with") }
        return stream.media
    }

    mutating func want(_ id: BroadcastID) throws(Violation) {
        guard table[id] == nil, !relays(of: id).sources.isEmpty else { return }
        media += 1
        try handle(.wanted(id, relays(of: id), media))
    }

    mutating func end(_ attempt: Int, _ reason: EndReason) throws(Violation) {
        guard let session = attempts.removeValue(forKey: attempt) else { return }
        try handle(.ended(session.id, attempt: attempt, reason, relays(of: session.id)))
    }

    /// Lets time pass; sessions that were left end meanwhile.
    mutating func advance(_ duration: MediaDuration) throws(Violation) {
        let target = now + duration
        for (number, session) in attempts.sorted(by: { $0.key < $1.key }) where session.isLeft {
            try end(number, EndReason(.stopped, "left"))
        }
        while let (id, time) = timers.min(by: { ($0.value, $0.key.text) < ($1.value, $1.key.text) }), time <= target {
            timers[id] = nil
            now = max(now, time)
            try handle(.look(id, relays(of: id)))
        }
        now = target
    }

    // MARK: Actions

    private mutating func perform(_ action: Table.Action) throws(Violation) {
        switch action {
        case .setActive(let media, let isActive): active[media] = isActive
        case .publish(let id, _, let session, _):
            guard publishers[session] == id else { throw Violation(text: "\(session) is not published") }
            announced.insert(id)
        case .connect(let id, let media, let attempt):
            guard !attempts.values.contains(where: { $0.media == media && !$0.isLeft }) else {
                throw Violation(text: "two sessions feed \(media)")
            }
            attempts[attempt.number] = Session(id: id, media: media)
        case .leave(let attempt, _): attempts[attempt]?.isLeft = true
        case .announce(let id, _, _, _):
            announced.insert(id)
            fetched.insert(id)
        case .withdraw(let id): announced.remove(id)
        case .reportLost(let id, _, _):
            guard fetched.remove(id) != nil else { throw Violation(text: "\(id) was not fetched") }
        case .reportReleased(let id): released.append(id)
        case .close(let id, let media):
            guard closed.insert(media).inserted else { throw Violation(text: "\(media) is closed twice") }
            released.append(id)
        case .countViewers: break
        case .look(let id, let time): timers[id] = time
        }
    }

    private func check() throws(Violation) {
        var found: [String] = []
        let fetchedStreams = table.streams.filter { $0.value.upstream != nil }
        if fetchedStreams.count > Self.capacity { found.append("\(fetchedStreams.count) streams are fetched") }
        for (id, stream) in table.streams {
            if closed.contains(stream.media) { found.append("\(id) is closed and goes on") }
            if stream.state == .live, !announced.contains(id) { found.append("\(id) is live and not announced") }
            if stream.state == .live, active[stream.media] != stream.isActive {
                found.append("\(id): viewers know less")
            }
            if let session = stream.session {
                if table.sessions[session] != id { found.append("\(id) has a session of another broadcast") }
                if fetched.contains(id) { found.append("\(id) is published here and fetched") }
                continue
            }
            if stream.state == .searching, announced.contains(id) {
                found.append("\(id) is announced without a source")
            }
            if timers[id] == nil { found.append("\(id) has no timer") }
            if fetched.contains(id) != (stream.state == .live) { found.append("\(id): its reports say something else") }
            let running = attempts.filter { $0.value.media == stream.media && !$0.value.isLeft }.map(\.key)
            if stream.state == .searching
                ? !running.isEmpty : running.contains(where: { $0 != stream.upstream?.attempt?.number })
            {
                found.append("\(id) has the sessions \(running)")
            }
        }
        for id in announced where table[id] == nil { found.append("\(id) is announced and gone") }
        for session in table.sessions where publishers[session.key] != session.value {
            found.append("\(session) is a session that has ended")
        }
        for (number, session) in attempts where !session.isLeft {
            if !table.isCurrent(session.id, attempt: number) { found.append("nobody ends session \(number)") }
        }
        if !found.isEmpty { throw Violation(text: found.joined(separator: "; ")) }
    }
}
