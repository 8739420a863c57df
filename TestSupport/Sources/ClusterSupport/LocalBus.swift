package import Relay
import Synchronization

/// A bus within the process, with one connection for each relay. A connection can be cut.
package final class LocalBus: Sendable {
    package typealias Receiver = @Sendable (BusMessage) -> Void

    /// What one relay has subscribed to. Its messages wait in one queue.
    package final class Connection: MessageBus {
        private struct State {
            var receivers: [(subject: String, receive: Receiver)] = []
            var isCut = false
            var unheard: [ObjectIdentifier] = []
        }

        private let bus: LocalBus
        private let state = Mutex(State())
        private let queue: AsyncStream<@Sendable () -> Void>.Continuation

        fileprivate init(_ bus: LocalBus) {
            self.bus = bus
            let (stream, queue) = AsyncStream.makeStream(of: (@Sendable () -> Void).self)
            self.queue = queue
            Task { for await deliver in stream { deliver() } }
        }

        /// Nothing is sent or received while it is cut.
        package func cut(_ isCut: Bool) { state.withLock { $0.isCut = isCut } }

        /// Does not hear another relay from now on.
        package func ignore(_ other: Connection) { state.withLock { $0.unheard.append(ObjectIdentifier(other)) } }

        @discardableResult
        package func publish(_ bytes: [UInt8], to subject: String, reply: String?) -> Bool {
            guard !state.withLock({ $0.isCut }) else { return false }
            let others = bus.connections.withLock { $0 }.filter { $0 !== self }
            let message = BusMessage(subject: subject, bytes: bytes, reply: reply)
            let receivers = others.map { $0.offer(message, from: self) }.reduce(0, +)
            if receivers == 0, let reply {
                _ = offer(BusMessage(subject: reply, bytes: [], reply: nil, hasNoResponder: true), from: self)
            }
            return true
        }

        package func subscribe(to subject: String, _ receive: @escaping Receiver) {
            state.withLock { $0.receivers.append((subject, receive)) }
        }

        /// - Returns: how many receive it.
        private func offer(_ message: BusMessage, from sender: Connection) -> Int {
            let receivers = state.withLock { state in
                state.isCut || state.unheard.contains(ObjectIdentifier(sender))
                    ? [] : state.receivers.filter { Self.matches(message.subject, $0.subject) }
            }
            for (_, receive) in receivers { queue.yield { receive(message) } }
            return receivers.count
        }

        private static func matches(_ subject: String, _ pattern: String) -> Bool {
            guard pattern.hasSuffix(".*") else { return subject == pattern }
            return subject.hasPrefix(pattern.dropLast()) && !subject.dropFirst(pattern.count - 1).contains(".")
        }
    }

    package init() {}

    fileprivate let connections = Mutex<[Connection]>([])

    package func connect() -> Connection {
        let connection = Connection(self)
        connections.withLock { $0.append(connection) }
        return connection
    }
}
