internal import Control
package import ControlSocket
internal import FoundationEssentials
internal import LinuxRuntime
internal import MediaCore
internal import SessionBus
import Synchronization

/// Knows whether the screen of the user's session is broadcast (`share host`): from the session bus, and from the lock
/// and the control socket of the host where another program has its name on the bus, or where there is no bus.
///
/// An in-app capture or recording gives way to a system broadcast: it ends when `broadcasting()` yields true, and does
/// not begin while `isBroadcasting`. Safe from any thread.
package final class SystemBroadcastMonitor: Sendable {
    package struct State: Sendable, Equatable {
        /// False: nothing tells whether there is a broadcast. The others are then those of no broadcast.
        package var isKnown = true
        /// The broadcast has begun and has not ended; it may be paused.
        package var isBroadcasting = false
        /// The screen may be captured now.
        package var isCaptured = false
        package var isPaused = false
        package var viewers = 0
        /// Identifier and name of the service, with a space between; empty for viewers with the link.
        package var service = ""
        /// The name of the viewer that controls the screen; empty: none does, or the bus does not tell.
        package var controller = ""
    }

    private struct Shared {
        /// What the bus has told last; nil: it has told nothing yet.
        var sighting: BroadcastSighting?
        var isConnecting = false
        var observer: BroadcastObserver?
        /// The last state that readers were told.
        var told: State?
        var readers: [Int: @Sendable (State) -> Void] = [:]
        var nextReader = 0
        /// A thread looks at the lock.
        var isLooking = false
    }

    /// On the session bus of this process.
    package static let shared = SystemBroadcastMonitor(
        busAddress: SessionBusAddress.running(in: ProcessInfo.processInfo.environment),
        folder: ControlSocketFolder(environment: ProcessInfo.processInfo.environment))

    /// How long the first question waits for the bus.
    private static let patience = MediaDuration.seconds(1)
    /// How often the lock is looked at while somebody reads: it tells of no change by itself.
    private static let interval = MediaDuration.seconds(1)
    private let shared = Monitor(Shared())
    /// Held from the question to the readers, so that an older state does not come after a newer one.
    private let telling = Mutex(())
    private let folder: ControlSocketFolder

    /// Begins to observe; returns at once.
    /// - Parameters:
    ///   - address: of the session bus; nil: there is none.
    ///   - folder: where hosts have their lock and their control sockets.
    package init(busAddress address: String?, folder: ControlSocketFolder = ControlSocketFolder(paths: [])) {
        self.folder = folder
        guard let address else { return }
        shared.with { $0.isConnecting = true }
        // Connecting blocks.
        _ = NamedThread("bus-observer") { [weak self] in
            let observer = BroadcastObserver(address: address) { [weak self] in self?.take($0) }
            guard let self else { return }
            shared.change { shared in
                shared.observer = observer
                shared.isConnecting = false
            }
        }
    }

    private func take(_ sighting: BroadcastSighting) {
        shared.change { $0.sighting = sighting }
        // The lock's answer may take a while, and this is GIO's thread.
        if shared.with({ !$0.readers.isEmpty }) { _ = NamedThread("bus-change") { [weak self] in self?.tell() } }
    }

    /// Tells readers the state if it has changed.
    private func tell() {
        telling.withLock { _ in
            let state = state
            shared.with { shared in
                guard shared.told != state else { return }
                shared.told = state
                for reader in shared.readers.values { reader(state) }
            }
        }
    }

    /// What is the case now. The first call may block until the bus has answered, for a second at most; where another
    /// program has the name on the bus, until the host has answered.
    package var state: State {
        let (sighting, isConnected) =
            shared.wait(until: MonotonicClock.now + Self.patience) { shared in
                Self.isKnown(shared) ? (shared.sighting, shared.observer?.isConnected == true) : nil
            } ?? (.unknown, true)
        // A bus that has gone took the broadcast's word with it.
        let told = isConnected ? sighting ?? .unknown : nil
        let holder = SingleInstanceLock.holder(of: .systemBroadcast, in: folder)
        switch (told, holder) {
        case (.broadcast(let state, let process), .process(let owner)) where process == nil || process == owner:
            return State(state)
        case (_, .process(let owner)): return asked(owner)
        case (.broadcast(let state, _), _): return State(state)
        case (.nobody, _), (nil, .nobody): return State()
        case (.unknown, _), (nil, .unknown): return State(isKnown: false)
        }
    }

    /// What the host says that has the lock. One that does not answer counts as captured.
    private func asked(_ process: Int?) -> State {
        let status = RunningBroadcast.all(in: folder).running.map(\.status).first { $0.process == process }
        var state = State(isBroadcasting: true, isCaptured: true)
        guard let status else { return state }
        state.isPaused = status.paused
        state.isCaptured = !status.paused && status.holds?.isEmpty != false
        state.viewers = status.viewers
        state.service = status.service ?? ""
        return state
    }

    private static func isKnown(_ shared: Shared) -> Bool {
        !shared.isConnecting && (shared.observer == nil || shared.sighting != nil)
    }

    /// Whether the screen of the session is broadcast. The first call may block for a second at most.
    package var isBroadcasting: Bool { state.isBroadcasting }

    /// Whether the session bus can be asked. The first call may block for a second at most.
    package var hasBus: Bool {
        shared.wait(until: MonotonicClock.now + Self.patience) { shared in
            Self.isKnown(shared) ? shared.observer?.isConnected == true : nil
        } ?? false
    }

    /// Whether the screen is broadcast, as far as that is known: now, and after each change.
    package func broadcasting() -> AsyncStream<Bool> { values { $0.isBroadcasting } }

    /// A value of the state: now, and after each change. The oldest of more than 16 are dropped.
    package func values<Value: Sendable & Equatable>(
        _ read: @escaping @Sendable (State) -> Value
    ) -> AsyncStream<Value> {
        let (stream, feed) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(16))
        let last = Monitor<Value?>(nil)
        let reader: @Sendable (State) -> Void = { state in
            let value = read(state)
            let isNew = last.with { last in
                defer { last = value }
                return last != value
            }
            if isNew { feed.yield(value) }
        }
        let (number, begins) = shared.with { shared in
            shared.nextReader += 1
            shared.readers[shared.nextReader] = reader
            if let state = shared.told { reader(state) }
            defer { shared.isLooking = true }
            return (shared.nextReader, !shared.isLooking)
        }
        feed.onTermination = { [weak self] _ in self?.shared.change { $0.readers[number] = nil } }
        if begins { look() }
        return stream
    }

    /// Looks at the lock again and again, as long as somebody reads.
    private func look() {
        _ = NamedThread("broadcast-lock") { [shared, weak self] in
            var isOver = false
            while !isOver {
                guard let monitor = self else { return }
                monitor.tell()
                isOver =
                    shared.wait(until: MonotonicClock.now + Self.interval) { shared -> Bool? in
                        guard shared.readers.isEmpty else { return nil }
                        shared.isLooking = false
                        return true
                    } ?? false
            }
        }
    }

    /// Asks the system broadcast to end.
    package func stop() { shared.with { $0.observer }?.stop() }
}

extension SystemBroadcastMonitor.State {
    fileprivate init(_ broadcast: BroadcastObject.State) {
        isBroadcasting = broadcast.isBroadcasting
        isCaptured = broadcast.isCaptured
        isPaused = broadcast.holds.contains(.pause)
        viewers = broadcast.viewers
        service = broadcast.service
        controller = broadcast.controller
    }
}
