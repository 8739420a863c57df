import NIOCore
import Synchronization

/// The open connections, and the doorman who lets them in. Safe from any thread.
final class ConnectionRegister: Sendable {
    private struct State {
        var doorman: Doorman
        /// Each closes its connection without a TLS goodbye.
        var hangUps: [ObjectIdentifier: @Sendable () -> Void] = [:]
    }
    private let state: Mutex<State>
    private let onDecision: @Sendable (_ isAccepted: Bool) -> Void

    init(doorman: Doorman, onDecision: @escaping @Sendable (_ isAccepted: Bool) -> Void) {
        state = Mutex(State(doorman: doorman))
        self.onDecision = onDecision
    }

    func withDoorman<Result: Sendable>(_ body: @Sendable (inout Doorman, ContinuousClock.Instant) -> Result) -> Result {
        state.withLock { body(&$0.doorman, .now) }
    }

    /// Every true needs a `left` later.
    func mayEnter(_ address: AddressKey) -> Bool {
        let isAccepted = state.withLock { $0.doorman.mayConnect(address, now: .now) }
        onDecision(isAccepted)
        return isAccepted
    }

    func left(_ address: AddressKey) { state.withLock { $0.doorman.closed(address) } }

    func add(_ channel: any Channel, hangUp: @escaping @Sendable () -> Void) {
        state.withLock { $0.hangUps[ObjectIdentifier(channel)] = hangUp }
    }

    func remove(_ channel: any Channel) {
        _ = state.withLock { $0.hangUps.removeValue(forKey: ObjectIdentifier(channel)) }
    }

    /// For the end: without waiting for anybody.
    func hangUpAll() {
        let hangUps = state.withLock { Array($0.hangUps.values) }
        for hangUp in hangUps { hangUp() }
    }
}
