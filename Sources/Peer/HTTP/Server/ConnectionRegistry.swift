import Identifiers
import NIOCore
import Synchronization

/// The open connections and their ``RequestLimiter``. Safe from any thread.
package final class ConnectionRegistry: Sendable {
    /// Events of connections that the statistics count.
    package enum Event: Sendable {
        case accepted
        case refused
        /// The connection was closed in favour of one from an address that has fewer.
        case displaced
        /// The peer spoke HTTP without TLS.
        case plainHTTP
        /// The first request's head did not arrive in time.
        case handshakeTimedOut
        /// The peer did not read what was written.
        case writeTimedOut
    }

    private struct Connection {
        let channel: any Channel
        let address: AddressKey
        /// Grows with each connection, so the oldest has the lowest.
        let number: Int
        /// Closes the connection without TLS's close_notify.
        var hangUp: @Sendable () -> Void
    }

    private struct State {
        var limiter: RequestLimiter
        var connections: [ObjectIdentifier: Connection] = [:]
        var connectionsSeen = 0

        mutating func removeOldest(of address: AddressKey) -> Connection? {
            let oldest = connections.filter { $0.value.address == address }.min { $0.value.number < $1.value.number }
            return oldest.flatMap { connections.removeValue(forKey: $0.key) }
        }
    }
    private let state: Mutex<State>
    private let count: @Sendable (Event) -> Void

    package init(limiter: RequestLimiter, count: @escaping @Sendable (Event) -> Void) {
        state = Mutex(State(limiter: limiter))
        self.count = count
    }

    package func withLimiter<Result: Sendable>(
        _ body: @Sendable (inout RequestLimiter, ContinuousClock.Instant) -> Result
    )
        -> Result
    {
        state.withLock { body(&$0.limiter, .now) }
    }

    /// Counts a new connection and checks its limits. Each call that returns true has to be followed by `left`.
    func enter(_ channel: any Channel, _ address: AddressKey) -> Bool {
        let (isAccepted, displaced): (Bool, Connection?) = state.withLock { state in
            let entry = state.limiter.connect(address, now: .now)
            guard entry.isAccepted else { return (false, nil) }
            var displaced: Connection?
            if case .acceptedInsteadOf(let loser) = entry { displaced = state.removeOldest(of: loser) }
            state.connectionsSeen += 1
            state.connections[ObjectIdentifier(channel)] = Connection(
                channel: channel, address: address, number: state.connectionsSeen,
                hangUp: { channel.close(promise: nil) })
            return (true, displaced)
        }
        count(isAccepted ? .accepted : .refused)
        if let displaced {
            count(.displaced)
            displaced.hangUp()
        }
        return isAccepted
    }

    func left(_ channel: ObjectIdentifier) {
        state.withLock { state in
            // The limiter has removed a displaced connection already.
            guard let connection = state.connections.removeValue(forKey: channel) else { return }
            state.limiter.closed(connection.address)
        }
    }

    func set(_ channel: any Channel, hangUp: @escaping @Sendable () -> Void) {
        state.withLock { $0.connections[ObjectIdentifier(channel)]?.hangUp = hangUp }
    }

    func note(_ event: Event) { count(event) }

    /// Has each connection closed when no request waits for a response.
    func finishAll() {
        let channels = state.withLock { $0.connections.values.map(\.channel) }
        for channel in channels { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
    }

    /// Closes all connections at once, without close_notify.
    package func hangUpAll() {
        let hangUps = state.withLock { $0.connections.values.map(\.hangUp) }
        for hangUp in hangUps { hangUp() }
    }
}
