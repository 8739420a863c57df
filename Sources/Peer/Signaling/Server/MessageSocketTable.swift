import HTTP
import Synchronization

/// The WebSockets of a broadcast's viewers. Safe from any thread.
///
/// The owner of a token has two at most. One more closes the oldest, which may belong to a network that the viewer has
/// left.
final class MessageSocketTable: Sendable {
    /// A socket with its place, which it has until this is released.
    final class Place: Sendable {
        let socket: MessageSocket
        fileprivate let id: Int
        private let table: MessageSocketTable

        fileprivate init(_ socket: MessageSocket, _ id: Int, _ table: MessageSocketTable) {
            (self.socket, self.id, self.table) = (socket, id, table)
        }

        deinit { table.state.withLock { $0.remove(id) } }

        /// The viewer has said something on this socket.
        func noteMessage() {
            table.state.withLock { state in
                if let owner = state.sockets[id]?.owner { state.lastSpeaking[owner] = id }
            }
        }

        /// Whether the viewer has said something on this socket, and on no other one since.
        func spokeLast(_ owner: TokenHash) -> Bool { table.state.withLock { $0.lastSpeaking[owner] == id } }
    }

    private struct State {
        var sockets: [Int: (owner: TokenHash, socket: MessageSocket)] = [:]
        /// The sockets on which owners have said something last.
        var lastSpeaking: [TokenHash: Int] = [:]
        var next = 0
        var hasEnded = false

        mutating func remove(_ id: Int) {
            sockets[id] = nil
            lastSpeaking = lastSpeaking.filter { $0.value != id }
        }
    }

    private let state = Mutex(State())
    private let capacity: Int
    private let capacityPerOwner = 2

    init(capacity: Int) { self.capacity = capacity }

    /// Makes a socket, which is opened later.
    /// - Returns: nil if there is no room for it.
    func open(_ owner: TokenHash, limits: MessageSocket.Limits) -> Place? {
        let socket = MessageSocket(.server, limits: limits)
        var replaced: MessageSocket?
        let id: Int? = state.withLock { state in
            let own = state.sockets.filter { $0.value.owner == owner }
            if own.count >= capacityPerOwner || state.sockets.count >= capacity, let oldest = own.keys.min() {
                replaced = state.sockets.removeValue(forKey: oldest)?.socket
            }
            guard state.sockets.count < capacity, !state.hasEnded else { return nil }
            state.next += 1
            state.sockets[state.next] = (owner, socket)
            return state.next
        }
        replaced?.close(.replaced)
        return id.map { Place(socket, $0, self) }
    }

    /// Closes the sockets of these owners.
    func close(of owners: Set<TokenHash>, _ code: MessageSocket.CloseCode) {
        let sockets = state.withLock { $0.sockets.values.filter { owners.contains($0.owner) }.map(\.socket) }
        for socket in sockets { socket.close(code) }
    }

    /// Closes all sockets. No other is opened any more.
    func end() {
        let sockets = state.withLock { state in
            state.hasEnded = true
            return state.sockets.values.map(\.socket)
        }
        for socket in sockets { socket.close(.normal) }
    }
}
