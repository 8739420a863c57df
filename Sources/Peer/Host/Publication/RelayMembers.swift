import Admission
import EventLoop
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import PeerConnection
import Signaling
import Synchronization

/// The viewers whom a host has sent to its relay with the keys of the broadcast. Changes these keys when one of them does
/// not watch any more (`KeyRotationState`). Safe from any thread.
final class RelayMembers: Sendable {
    private struct Member {
        let id = SessionID.random()
        let viewer: Viewer
        /// Nil for a moment.
        var number: Int?
        let since = MonotonicClock.now
        /// In which they came.
        let order: Int
    }

    private struct Table {
        /// By their certificates.
        var members: [[UInt8]: Member] = [:]
        var count = 0
    }

    private let core: LoopBound<Broadcast>
    /// Nil: the relay can watch, and there are no keys.
    private let encryption: BroadcastEncryption?
    private let deliver: @Sendable ([MemberKeys]) async -> Void
    private let table = Mutex(Table())
    private let logic: StateMachineRunner<KeyRotationState>

    /// The oldest goes first; it asks for keys when it lacks some.
    private static let limit = 8_192

    /// - Parameter deliver: has the relay pass keys on to its viewers, and returns when it has.
    init(
        _ core: LoopBound<Broadcast>, _ encryption: BroadcastEncryption?,
        deliver: @escaping @Sendable ([MemberKeys]) async -> Void
    ) {
        (self.core, self.encryption, self.deliver) = (core, encryption, deliver)
        logic = StateMachineRunner(KeyRotationState(), on: core.loop, usesTask: true)
    }

    func close() { logic.close() }

    /// Nobody has the keys of what is published from now on.
    func beginAnew() {
        table.withLock { $0.members = [:] }
        guard let encryption else { return }
        _ = encryption.prepareEpoch()
        encryption.beginEpoch()
    }

    /// A viewer is given the keys of now.
    func add(_ viewer: Viewer) {
        guard viewer.identity != nil else { return }
        let isNew = table.withLock { table in
            guard table.members[viewer.fingerprint] == nil else { return false }
            if table.members.count >= Self.limit,
                let oldest = table.members.min(by: { $0.value.order < $1.value.order })
            {
                table.members[oldest.key] = nil
            }
            table.count += 1
            table.members[viewer.fingerprint] = Member(viewer: viewer, order: table.count)
            return true
        }
        guard isNew else { return }
        core.perform { [weak self] broadcast in
            let number = broadcast.takeNumber()
            self?.table.withLock { $0.members[viewer.fingerprint]?.number = number }
        }
    }

    /// A viewer of this host has left, who may be at the relay.
    func noteLeftHost() { handle(.left) }

    /// The relay says that a viewer has left.
    func noteLeft(_ fingerprint: [UInt8]) {
        table.withLock { _ = $0.members.removeValue(forKey: fingerprint) }
        handle(.left)
    }

    /// The host's user has removed a viewer, who may have keys without being a member.
    func noteRemoved(_ fingerprint: [UInt8]) {
        table.withLock { _ = $0.members.removeValue(forKey: fingerprint) }
        handle(.removed)
    }

    func viewer(_ id: SessionID) -> Viewer? {
        table.withLock { table in table.members.values.first { $0.id == id }?.viewer }
    }

    /// Those at the relay, as sessions, in the order in which they came.
    var sessions: [ViewerSessionInfo] {
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
                    viewer.keyWrap?.text(secret).map { MemberKeys(viewer: viewer.fingerprint, keys: $0) }
                }
                await deliver(keys)
                handle(.delivered(number))
            }
        case .begin: encryption.beginEpoch()
        }
    }
}
