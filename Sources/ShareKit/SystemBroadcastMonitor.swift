internal import Foundation
internal import LinuxRuntime
internal import MediaCore
internal import SessionBus

/// Knows whether the screen of the user's session is broadcast (`share host`), from the session bus.
///
/// An in-app capture or recording gives way to a system broadcast: it ends when `broadcasting()` yields true, and does not
/// begin while `isBroadcasting`. Safe from any thread.
package final class SystemBroadcastMonitor: Sendable {
    package struct State: Sendable, Equatable {
        /// The broadcast has begun and has not ended; it may be paused.
        package var isBroadcasting = false
        /// The screen may be captured now.
        package var isCaptured = false
        package var isPaused = false
        package var viewers = 0
        /// Identifier and name of the service, with a space between; empty for viewers with the link.
        package var service = ""
    }

    private struct Shared {
        var state = State()
        /// The bus has told the state, or there is none.
        var hasAnswer = false
        var isConnecting = false
        var observer: BroadcastObserver?
        var readers: [Int: @Sendable (State) -> Void] = [:]
        var nextReader = 0
    }

    /// On the session bus of this process.
    package static let shared = SystemBroadcastMonitor(
        busAddress: SessionBusAddress.running(in: ProcessInfo.processInfo.environment))

    /// How long the first question waits for the bus.
    private static let patience = MediaDuration.seconds(1)
    private let shared = Monitor(Shared())

    /// Begins to observe; returns at once.
    /// - Parameter address: of the session bus; nil: there is none.
    package init(busAddress address: String?) {
        guard let address else {
            shared.with { $0.hasAnswer = true }
            return
        }
        shared.with { $0.isConnecting = true }
        // Connecting blocks.
        _ = NamedThread("bus-observer") { [weak self] in
            let observer = BroadcastObserver(address: address) { [weak self] in self?.take($0) }
            guard let self else { return }
            if observer == nil { take(nil) }
            shared.change { shared in
                shared.observer = observer
                shared.isConnecting = false
            }
        }
    }

    private func take(_ broadcast: BroadcastObject.State?) {
        var state = State()
        if let broadcast {
            state.isBroadcasting = broadcast.isBroadcasting
            state.isCaptured = broadcast.isCaptured
            state.isPaused = broadcast.isPaused
            state.viewers = broadcast.viewers
            state.service = broadcast.service
        }
        shared.change { shared in
            shared.hasAnswer = true
            shared.state = state
            for reader in shared.readers.values { reader(state) }
        }
    }

    /// What is the case now; nothing, if there is no bus. The first call may block until the bus has answered, for a second
    /// at most.
    package var state: State {
        let known = shared.wait(until: MonotonicClock.now + Self.patience) { shared in
            Self.isKnown(shared) ? (shared.state, shared.observer?.isConnected == true) : nil
        }
        // A bus that has gone took the broadcast's word with it.
        guard let (state, isConnected) = known, isConnected else { return State() }
        return state
    }

    private static func isKnown(_ shared: Shared) -> Bool { shared.hasAnswer && !shared.isConnecting }

    /// Whether the screen of the session is broadcast. The first call may block for a second at most.
    package var isBroadcasting: Bool { state.isBroadcasting }

    /// Whether the session bus can be asked. The first call may block for a second at most.
    package var hasBus: Bool {
        shared.wait(until: MonotonicClock.now + Self.patience) { shared in
            Self.isKnown(shared) ? shared.observer?.isConnected == true : nil
        } ?? false
    }

    /// Whether the screen is broadcast: now, and after each change. Without a bus: false, and nothing more.
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
        let number = shared.with { shared in
            shared.nextReader += 1
            shared.readers[shared.nextReader] = reader
            if shared.hasAnswer { reader(shared.state) }
            return shared.nextReader
        }
        feed.onTermination = { [weak self] _ in self?.shared.with { $0.readers[number] = nil } }
        return stream
    }

    /// Asks the system broadcast to end.
    package func stop() { shared.with { $0.observer }?.stop() }
}
