import MediaCore
import PeerEngine
import Signaling

/// At which relays of a cluster each viewer of an encrypted broadcast watches, as these tell the one that it is
/// published to. A value without a clock. Viewers are SHA-256 of their certificates, 32 bytes.
///
/// A relay tells of each viewer that comes or leaves, and names all of them when it is asked: as soon as its copy of
/// the broadcast is known, and when messages of it may have been lost. A viewer that it does not name again within
/// `graceTime` has left.
///
/// Another relay may invent viewers, so each has an allowance of them, and all others together have one. It is charged
/// before a viewer is stored and the publisher is told. A departure of a stored viewer is free, as each follows an
/// arrival.
struct ViewerRelays: StateMachine {
    /// Other relays are meant by their names.
    enum Input: Sendable {
        /// - Parameter at: a relay; empty: this one.
        case joined([UInt8], at: String)
        case left([UInt8], at: String)
        /// A part of all viewers of another relay.
        case named([[UInt8]], at: String, isFirst: Bool)
        /// The relays that have a copy of the broadcast, with the paths by which it comes to them. Other copies are
        /// withdrawn.
        case copies([String: [String]])
        /// Messages of a relay may have been lost; nil: of all.
        case missed(String?)
        /// The publisher has passed keys on.
        case keys([MemberKeys])
        /// The publisher has removed a viewer.
        case removed([UInt8])
        /// Another session of the publisher begins.
        case published
    }

    enum Action: Sendable, Equatable {
        /// Tell the publisher of a viewer that watches at the first relay.
        case joined([UInt8])
        /// Tell the publisher of a viewer that watches at no relay any more.
        case left([UInt8])
        /// Ask a relay to name its viewers.
        case ask(String)
        /// Pass keys on to a relay that has told of these viewers after the publisher had passed them on.
        case pass([MemberKeys], to: String)
    }

    struct Relay {
        /// Of its copy; empty: it has none.
        var path: [String] = []
        var viewers: Set<[UInt8]> = []
        /// Those that it has to name again, and until when.
        var unconfirmed: Set<[UInt8]> = []
        var unconfirmedUntil: MediaInstant?
        /// How often it is still asked, unless it names its viewers.
        var questions = 0
        var nextQuestion: MediaInstant?
        /// Of viewers that it tells of; nil: no limit, of this relay.
        var allowance: TokenBucket?

        func has(_ viewer: [UInt8]) -> Bool { viewers.contains(viewer) || unconfirmed.contains(viewer) }

        /// An earlier deadline stays, however often that is called.
        mutating func suspend(until deadline: MediaInstant) {
            guard !viewers.isEmpty else { return }
            unconfirmed.formUnion(viewers)
            viewers = []
            unconfirmedUntil = unconfirmedUntil ?? deadline
        }

        /// - Returns: whether it was unconfirmed.
        mutating func confirm(_ viewer: [UInt8]) -> Bool {
            let wasUnconfirmed = unconfirmed.remove(viewer) != nil
            if unconfirmed.isEmpty { unconfirmedUntil = nil }
            return wasUnconfirmed
        }

        /// Some of its viewers were left out.
        mutating func askLater(at instant: MediaInstant) {
            if questions == 0 { (questions, nextQuestion) = (1, instant) }
        }

        /// Whether it has told of few viewers lately, so that nothing is gained by forgetting it.
        mutating func hasFullAllowance(_ now: MediaInstant) -> Bool {
            allowance?.refill(now)
            return allowance?.isFull() ?? true
        }

        var deadline: MediaInstant? {
            let question = questions > 0 && !path.isEmpty ? nextQuestion : nil
            return [unconfirmedUntil, question].compactMap(\.self).min()
        }
    }

    private(set) var relays = ["": Relay()]
    /// What the publisher has passed on lately, by viewers.
    private var keys: [[UInt8]: (keys: MemberKeys, until: MediaInstant)] = [:]
    private var keysUntil: MediaInstant?
    /// Of all other relays together; nil: none has told of a viewer.
    private var allowance: TokenBucket?
    private let graceTime: MediaDuration
    /// Viewers of another relay.
    private let memberLimit: Int

    /// Viewers beyond that are taken for such that watch at one relay.
    static let limit = 8_192
    static let relayLimit = 128
    /// At least so many viewers of another relay are known, which may have a higher limit than this one.
    static let leastMemberLimit = 1_024
    /// Of arrivals, in a second: of another relay, after its first `memberLimit`, and of all together, after the first
    /// `limit`.
    static let arrivalRate = 50.0
    static let totalArrivalRate = 200.0
    /// A relay whose arrivals were left out is asked for its viewers then.
    static let overflowInterval = MediaDuration.seconds(10)
    /// To a relay that does not name its viewers.
    static let questionLimit = 3
    /// Between two questions to a relay.
    static let questionInterval = MediaDuration.seconds(2)

    /// - Parameter maximumViewers: of a broadcast at this relay.
    init(graceTime: MediaDuration, maximumViewers: Int) {
        self.graceTime = graceTime
        // No relay takes all of the room.
        memberLimit = min(max(maximumViewers, Self.leastMemberLimit), Self.limit / 2)
    }

    var deadline: MediaInstant? { (relays.values.map(\.deadline) + [keysUntil]).compactMap(\.self).min() }

    mutating func handle(
        _ input: Input, now: MediaInstant, using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        switch input {
        case .joined(let viewer, let relay): return add([viewer], at: relay, now)
        case .left(let viewer, let relay): return remove(viewer, at: relay, now)
        case .named(let viewers, let relay, let isFirst):
            if isFirst {
                relays[relay]?.questions = 0
                relays[relay]?.suspend(until: now + graceTime)
            }
            return add(viewers, at: relay, now)
        case .copies(let paths): return update(paths, now)
        case .missed(let relay):
            for name in relays.keys where relay == nil || name == relay { relays[name]?.questions = Self.questionLimit }
            return ask(now)
        case .keys(let new): keep(new, now)
        case .removed(let viewer): keys[viewer] = nil
        case .published:
            return Set(relays.values.flatMap { $0.viewers.union($0.unconfirmed) }).map { .joined($0) }
        }
        return []
    }

    mutating func advance(now: MediaInstant, using generator: inout some RandomNumberGenerator) -> [Action] {
        if let keysUntil, now >= keysUntil { (keys, self.keysUntil) = ([:], nil) }
        var gone: Set<[UInt8]> = []
        for (name, relay) in relays where relay.unconfirmedUntil.map({ now >= $0 }) ?? false {
            gone.formUnion(relay.unconfirmed)
            relays[name]?.unconfirmed = []
            relays[name]?.unconfirmedUntil = nil
        }
        return gone.filter { !isKnown($0) }.map { .left($0) } + ask(now)
    }

    private func isKnown(_ viewer: [UInt8]) -> Bool { relays.values.contains { $0.has(viewer) } }

    /// Those of another relay count while its copy is known. New ones beyond its limits are left out until it is asked
    /// again; those that it names again stay.
    private mutating func add(_ viewers: [[UInt8]], at name: String, _ now: MediaInstant) -> [Action] {
        guard var relay = relays[name], name.isEmpty || !relay.path.isEmpty else { return [] }
        var room = Self.limit - relays.values.reduce(0) { $0 + $1.viewers.count + $1.unconfirmed.count }
        var (actions, missed): ([Action], [MemberKeys]) = ([], [])
        for viewer in viewers where !relay.viewers.contains(viewer) {
            if !relay.has(viewer) {
                let fits = room > 0 && relay.viewers.count + relay.unconfirmed.count < memberLimit
                guard name.isEmpty || fits, takeAllowance(of: &relay, now) else {
                    relay.askLater(at: now + Self.overflowInterval)
                    continue
                }
                if !isKnown(viewer) { actions.append(.joined(viewer)) }
            }
            if relay.confirm(viewer) { room += 1 }
            if room > 0 {
                relay.viewers.insert(viewer)
                room -= 1
            }
            if !name.isEmpty, let entry = keys[viewer], entry.until > now { missed.append(entry.keys) }
        }
        relays[name] = relay
        return missed.isEmpty ? actions : actions + [.pass(missed, to: name)]
    }

    /// - Returns: false if another relay has told of too many viewers.
    private mutating func takeAllowance(of relay: inout Relay, _ now: MediaInstant) -> Bool {
        guard relay.allowance != nil else { return true }
        var total = allowance ?? TokenBucket(burst: Double(Self.limit), rate: Self.totalArrivalRate, now: now)
        defer { allowance = total }
        relay.allowance?.refill(now)
        total.refill(now)
        guard relay.allowance?.has() ?? true, total.has() else { return false }
        relay.allowance?.take()
        total.take()
        return true
    }

    /// One that was not stored may be a viewer beyond the limits of this table, so the publisher is told of it.
    private mutating func remove(_ viewer: [UInt8], at name: String, _ now: MediaInstant) -> [Action] {
        guard var relay = relays[name] else { return [] }
        let isStored = relay.has(viewer)
        _ = relay.confirm(viewer)
        relay.viewers.remove(viewer)
        let isAllowed = isStored || takeAllowance(of: &relay, now)
        relays[name] = relay
        return !isAllowed || isKnown(viewer) ? [] : [.left(viewer)]
    }

    /// The viewers of a relay whose copy was withdrawn, or comes by another path, have to be named again.
    private mutating func update(_ paths: [String: [String]], _ now: MediaInstant) -> [Action] {
        for (name, relay) in relays where relay.path != paths[name] ?? [] {
            relays[name]?.path = []
            relays[name]?.suspend(until: now + graceTime)
        }
        relays = relays.filter { name, relay in
            var relay = relay
            return name.isEmpty || paths[name] != nil || relay.unconfirmedUntil != nil
                || relay.nextQuestion ?? now > now || !relay.hasFullAllowance(now)
        }
        for (name, path) in paths where relays[name]?.path != path && !name.isEmpty {
            guard relays[name] != nil || relays.count < Self.relayLimit else { continue }
            let allowance = TokenBucket(burst: Double(memberLimit), rate: Self.arrivalRate, now: now)
            relays[name, default: Relay(allowance: allowance)].path = path
            relays[name]?.questions = Self.questionLimit
        }
        return ask(now)
    }

    private mutating func ask(_ now: MediaInstant) -> [Action] {
        var actions: [Action] = []
        for (name, relay) in relays where relay.questions > 0 && !relay.path.isEmpty {
            guard relay.nextQuestion.map({ now >= $0 }) ?? true else { continue }
            relays[name]?.questions -= 1
            relays[name]?.nextQuestion = now + Self.questionInterval
            actions.append(.ask(name))
        }
        return actions
    }

    private mutating func keep(_ new: [MemberKeys], _ now: MediaInstant) {
        keys = keys.filter { $0.value.until > now }
        for entry in new where keys.count < Self.limit { keys[entry.viewer] = (entry, now + graceTime) }
        keysUntil = now + graceTime
    }
}
