import MediaCore
import PeerEngine
import Signaling

/// At which relays of a cluster each viewer of an encrypted broadcast watches, as these tell the one that it is
/// published to. A value without a clock. Viewers are SHA-256 of their certificates, 32 bytes.
///
/// A relay tells of each viewer that comes or leaves, and names all of them when it is asked: as soon as its copy of the
/// broadcast is known, and when messages of it may have been lost. A viewer that it does not name again within
/// `graceTime` has left.
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

        var deadline: MediaInstant? {
            let question = questions > 0 && !path.isEmpty ? nextQuestion : nil
            return [unconfirmedUntil, question].compactMap(\.self).min()
        }
    }

    private(set) var relays = ["": Relay()]
    /// What the publisher has passed on lately, by viewers.
    private var keys: [[UInt8]: (keys: MemberKeys, until: MediaInstant)] = [:]
    private var keysUntil: MediaInstant?
    private let graceTime: MediaDuration

    /// Viewers beyond that are taken for such that watch at one relay.
    static let limit = 8_192
    static let relayLimit = 128
    /// To a relay that does not name its viewers.
    static let questionLimit = 3
    /// Between two questions to a relay.
    static let questionInterval = MediaDuration.seconds(2)

    init(graceTime: MediaDuration) { self.graceTime = graceTime }

    var deadline: MediaInstant? { (relays.values.map(\.deadline) + [keysUntil]).compactMap(\.self).min() }

    mutating func handle(
        _ input: Input, now: MediaInstant, using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        switch input {
        case .joined(let viewer, let relay): return add([viewer], at: relay, now)
        case .left(let viewer, let relay): return remove(viewer, at: relay)
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

    /// Those of another relay count while its copy is known.
    private mutating func add(_ viewers: [[UInt8]], at name: String, _ now: MediaInstant) -> [Action] {
        guard var relay = relays[name], name.isEmpty || !relay.path.isEmpty else { return [] }
        var room = Self.limit - relays.values.reduce(0) { $0 + $1.viewers.count + $1.unconfirmed.count }
        var (actions, missed): ([Action], [MemberKeys]) = ([], [])
        for viewer in viewers where !relay.viewers.contains(viewer) {
            if !relay.has(viewer), !isKnown(viewer) { actions.append(.joined(viewer)) }
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

    private mutating func remove(_ viewer: [UInt8], at name: String) -> [Action] {
        guard relays[name] != nil else { return [] }
        _ = relays[name]?.confirm(viewer)
        relays[name]?.viewers.remove(viewer)
        return isKnown(viewer) ? [] : [.left(viewer)]
    }

    /// The viewers of a relay whose copy was withdrawn, or comes by another path, have to be named again.
    private mutating func update(_ paths: [String: [String]], _ now: MediaInstant) -> [Action] {
        for (name, relay) in relays where relay.path != paths[name] ?? [] {
            relays[name]?.path = []
            relays[name]?.suspend(until: now + graceTime)
        }
        relays = relays.filter { name, relay in
            name.isEmpty || paths[name] != nil || relay.unconfirmedUntil != nil || relay.nextQuestion ?? now > now
        }
        for (name, path) in paths where relays[name]?.path != path && !name.isEmpty {
            guard relays[name] != nil || relays.count < Self.relayLimit else { continue }
            relays[name, default: Relay()].path = path
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
