import Admission
import EventLoop
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import PeerConnection
import Signaling
import Synchronization

/// The viewers whom a host has sent to its relay with the keys of the broadcast. Changes these keys when one of them
/// does not watch any more (`KeyRotationState`). Safe from any thread.
final class RelayMembers: Sendable {
    private struct Member {
        let id = SessionID.random()
        /// Of the newest knock, whose keys it has.
        var viewer: Viewer
        /// Nil for a moment.
        var number: Int?
        let since = MonotonicClock.now
        /// When it was given keys for another knock last; nil: it has knocked once.
        var renewed: MediaInstant?
        /// It has come to the relay.
        var hasArrived: Bool
        /// In which they came.
        let order: Int
    }

    private struct Table {
        /// By their certificates.
        var members: [[UInt8]: Member] = [:]
        /// Those that have left as the relay says. They may ask for keys again, and be removed.
        var departed: [[UInt8]: Member] = [:]
        var count = 0
        /// Who has come to the relay, perhaps with the keys of another knock, and who has left (nil).
        private(set) var presence: [(id: SessionID, viewer: Viewer?)] = []
        /// For members who have not come to the relay.
        private var lastLook: MediaInstant?
        /// When viewers were removed, by their certificates. What was granted them before gives no keys any more.
        var removals: [[UInt8]: ContinuousClock.Instant] = [:]

        /// Whether the host's user has removed a viewer since it knocked.
        func hasRemoved(_ viewer: Viewer) -> Bool {
            guard let time = removals[viewer.fingerprint] else { return false }
            return viewer.origin?.isBefore(time) ?? true
        }

        /// - Returns: whether the viewer is a new member.
        mutating func add(_ viewer: Viewer, hasArrived: Bool) -> Bool {
            let known = members[viewer.fingerprint] ?? departed.removeValue(forKey: viewer.fingerprint)
            guard var member = known else {
                makeRoom()
                count += 1
                let member = Member(viewer: viewer, hasArrived: hasArrived, order: count)
                members[viewer.fingerprint] = member
                if hasArrived { presence.append((member.id, viewer)) }
                return true
            }
            // It opens what is encrypted for its newest knock alone.
            (member.viewer, member.renewed) = (viewer, MonotonicClock.now)
            member.hasArrived = member.hasArrived || hasArrived
            members[viewer.fingerprint] = member
            if member.hasArrived { presence.append((member.id, viewer)) }
            return false
        }

        /// The oldest of those who have not come to the relay goes first, and then the oldest. It asks for keys.
        private mutating func makeRoom() {
            guard members.count >= RelayMembers.limit else { return }
            let first = members.min { one, other in
                (one.value.hasArrived ? 1 : 0, one.value.order) < (other.value.hasArrived ? 1 : 0, other.value.order)
            }
            if let first { forget(first.key) }
        }

        /// The viewer is no member any more.
        @discardableResult
        mutating func forget(_ fingerprint: [UInt8]) -> Member? {
            guard let member = members.removeValue(forKey: fingerprint) else { return nil }
            presence.append((member.id, nil))
            return member
        }

        mutating func forgetAll() {
            for fingerprint in members.keys { forget(fingerprint) }
            departed = [:]
        }

        mutating func takePresence() -> [(id: SessionID, viewer: Viewer?)] {
            defer { presence = [] }
            return presence
        }

        mutating func arrive(_ fingerprint: [UInt8]) {
            if let member = departed.removeValue(forKey: fingerprint) {
                makeRoom()
                members[fingerprint] = member
            }
            members[fingerprint]?.hasArrived = true
            if let member = members[fingerprint] { presence.append((member.id, member.viewer)) }
        }

        mutating func depart(_ fingerprint: [UInt8], now: MediaInstant) {
            guard var member = members[fingerprint] else { return }
            guard member.renewed.map({ now - $0 >= RelayMembers.arrivalTime }) ?? true else {
                // It has just been sent there again, and what has ended may be its former session.
                member.hasArrived = false
                members[fingerprint] = member
                return
            }
            forget(fingerprint)
            if departed.count >= RelayMembers.removalLimit,
                let oldest = departed.min(by: { $0.value.order < $1.value.order })
            {
                departed[oldest.key] = nil
            }
            departed[fingerprint] = member
        }

        /// Looks once in some seconds, as there may be thousands.
        /// - Returns: whether somebody was sent to the relay and has not come there.
        mutating func forgetAbsent(now: MediaInstant) -> Bool {
            guard lastLook.map({ now - $0 >= RelayMembers.lookInterval }) ?? true else { return false }
            lastLook = now
            let absent = members.filter {
                !$0.value.hasArrived && now - ($0.value.renewed ?? $0.value.since) >= RelayMembers.absenceTime
            }
            for fingerprint in absent.keys { depart(fingerprint, now: now) }
            return !absent.isEmpty
        }
    }

    private let core: LoopBound<Broadcast>
    /// Nil: the relay can watch, and there are no keys.
    private let encryption: BroadcastEncryption?
    private let deliver: @Sendable ([MemberKeys]) async -> Void
    /// Called with a viewer who has come to the relay, and with nil when it has left.
    private let onPresence: @Sendable (SessionID, Viewer?) -> Void
    private let table = Mutex(Table())
    private let logic: StateMachineRunner<KeyRotationState>

    private static let limit = 8_192
    /// A viewer that is sent to the relay is there by then, if it comes.
    private static let arrivalTime = MediaDuration.seconds(10)
    private static let absenceTime = MediaDuration.seconds(60)
    private static let lookInterval = MediaDuration.seconds(5)
    private static let removalLimit = 1_024

    /// - Parameter deliver: has the relay pass keys on to its viewers, and returns when it has.
    init(
        _ core: LoopBound<Broadcast>, _ encryption: BroadcastEncryption?,
        onPresence: @escaping @Sendable (SessionID, Viewer?) -> Void,
        deliver: @escaping @Sendable ([MemberKeys]) async -> Void
    ) {
        (self.core, self.encryption, self.onPresence, self.deliver) = (core, encryption, onPresence, deliver)
        logic = StateMachineRunner(KeyRotationState(), on: core.loop, usesTask: true)
    }

    func close() { logic.close() }

    private func change<Value: Sendable>(_ body: (inout Table) -> Value) -> Value {
        let (value, presence) = table.withLock { table in (body(&table), table.takePresence()) }
        for (id, viewer) in presence { onPresence(id, viewer) }
        return value
    }

    /// Nobody has the keys of what is published from now on.
    func beginAnew() {
        change { $0.forgetAll() }
        guard let encryption else { return }
        _ = encryption.prepareEpoch()
        encryption.beginEpoch()
    }

    /// A viewer is about to get the keys of now. It gets those of the next epoch, too, whenever that is prepared.
    /// - Parameter hasArrived: it watches at the relay.
    /// - Returns: false for one that was removed since it knocked: it gets none.
    func add(_ viewer: Viewer, hasArrived: Bool = false) -> Bool {
        guard viewer.identity != nil else { return false }
        forgetAbsent()
        let isNew: Bool? = change { $0.hasRemoved(viewer) ? nil : $0.add(viewer, hasArrived: hasArrived) }
        guard let isNew else { return false }
        if isNew { takeNumber(of: viewer) }
        return true
    }

    /// A viewer has come to the relay, or to another one of its cluster.
    func noteArrival(of fingerprint: [UInt8]) { change { $0.arrive(fingerprint) } }

    private func forgetAbsent() {
        if change({ $0.forgetAbsent(now: MonotonicClock.now) }) { handle(.left) }
    }

    private func takeNumber(of viewer: Viewer) {
        core.perform { [weak self] broadcast in
            let number = broadcast.takeNumber()
            self?.table.withLock { $0.members[viewer.fingerprint]?.number = number }
        }
    }

    /// A viewer of this host has left, who may be at the relay.
    func noteLeftHost() { handle(.left) }

    /// The relay says that a viewer has left.
    func noteLeft(_ fingerprint: [UInt8]) {
        change { $0.depart(fingerprint, now: MonotonicClock.now) }
        handle(.left)
    }

    /// The host's user has removed a viewer, who may have keys without being a member.
    func noteRemoved(_ fingerprint: [UInt8]) {
        change { table in
            table.forget(fingerprint)
            table.departed[fingerprint] = nil
            if table.removals.count >= Self.removalLimit,
                let oldest = table.removals.min(by: { $0.value < $1.value })
            {
                table.removals[oldest.key] = nil
            }
            table.removals[fingerprint] = .now
        }
        handle(.removed)
    }

    func viewer(_ id: SessionID) -> Viewer? {
        table.withLock { table in
            (table.members.values.first { $0.id == id } ?? table.departed.values.first { $0.id == id })?.viewer
        }
    }

    /// Those at the relay, as sessions, in the order in which they came.
    var sessions: [ViewerSessionInfo] {
        forgetAbsent()
        let (members, now) = (table.withLock { Array($0.members.values) }, MonotonicClock.now)
        return members.compactMap { member in
            member.number.map { number in
                var info = ViewerSessionInfo(
                    number: number, id: member.id,
                    description: ViewerDescription(member.viewer),
                    fingerprint: member.viewer.fingerprint, identity: member.viewer.identity,
                    connectedFor: now - member.since, isInterrupted: false, path: "over the relay",
                    bitrate: .kilobits(0))
                info.isAtRelay = true
                return info
            }
        }.sorted { $0.number < $1.number }
    }

    private func handle(_ input: KeyRotationState.Input) {
        guard encryption != nil else { return }
        logic.handle(input, of: self) { $0.carryOut($1) }
    }

    private func carryOut(_ action: KeyRotationState.Action) {
        guard let encryption else { return }
        switch action {
        case .prepare(let number):
            // Whoever comes meanwhile gets it with its admission.
            let secret = encryption.prepareEpoch()
            let viewers = table.withLock { $0.members.values.map(\.viewer) }
            Task {
                let keys = viewers.compactMap { viewer in
                    viewer.keyWrap.map { MemberKeys(viewer: viewer.fingerprint, keys: $0.text(secret)) }
                }
                await deliver(keys)
                handle(.delivered(number))
            }
        case .begin: encryption.beginEpoch()
        }
    }
}
